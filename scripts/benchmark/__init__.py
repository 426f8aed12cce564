"""How fast Quartet, or any server that speaks OpenAI's protocol, answers under load."""
