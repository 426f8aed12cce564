"""All paths except the operations."""
