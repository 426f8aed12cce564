"""Compares the product with other servers and engines."""
