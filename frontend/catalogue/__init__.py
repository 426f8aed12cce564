"""The catalogue: models, voices, audio formats, endpoints and prices."""
