"""Known answers: what a server is asked over its API, and what it has to answer. A client, which knows no server."""
