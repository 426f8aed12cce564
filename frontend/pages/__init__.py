"""What is not an operation: health and the list of models."""
