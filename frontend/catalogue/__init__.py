"""What is offered: models, voices, audio formats, endpoints and what they cost. Everything else reads it here."""
