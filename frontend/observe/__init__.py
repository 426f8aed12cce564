"""What the running service tells of itself: metrics and log lines."""
