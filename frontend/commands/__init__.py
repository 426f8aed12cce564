"""What ``quartet`` can do besides answering requests."""
