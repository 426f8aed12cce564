"""Work over many items through the API: a client that needs an address and a key, and nothing of the server."""
