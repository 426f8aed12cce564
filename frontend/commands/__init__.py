"""What ``python -m frontend`` can do besides answering requests."""
