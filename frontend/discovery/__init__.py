"""Which Tritons there are at this moment."""
