"""Frontends that share the same Tritons."""
