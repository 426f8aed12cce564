"""Audio bytes to samples and back. Pure: no HTTP, no Triton."""
