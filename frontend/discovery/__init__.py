"""Discovery of Tritons by name."""
