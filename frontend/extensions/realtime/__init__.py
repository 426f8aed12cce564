"""Live speech to text over a WebSocket."""
