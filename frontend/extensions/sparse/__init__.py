"""Embeddings with the weights of tokens."""
