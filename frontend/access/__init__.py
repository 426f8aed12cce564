"""Authentication and limits: API keys, mobile tokens, rate limits, audit log."""
