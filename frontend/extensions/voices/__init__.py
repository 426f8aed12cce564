"""Lists of voices as apps for OpenAI expect them."""
