"""Clients of the HTTP API: they need an address and a key, and nothing of the server."""
