"""What the measurements share: requests, ways to send them, where they go, and what is told of the answers."""
