"""Text to token and phoneme ids. Pure: no HTTP, no Triton."""
