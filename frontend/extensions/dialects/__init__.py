"""Embeddings and rerank as the clients of other servers ask for them."""
