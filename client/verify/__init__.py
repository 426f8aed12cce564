"""Compares the answers of a running server with known ones."""
