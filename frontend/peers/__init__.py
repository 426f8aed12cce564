"""What frontends over the same Tritons tell each other."""
