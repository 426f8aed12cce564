"""The HTTP frontend: bytes into tensors for Triton, tensors into bytes for OpenAI clients."""
