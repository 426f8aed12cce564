"""What is offered: models, voices, endpoints and what they cost."""
