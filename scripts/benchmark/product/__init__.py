"""Measures every operation under load, and the settings of a model."""
