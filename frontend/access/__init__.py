"""Who may call: API keys and mobile tokens."""
