"""The product alone: every operation under load, and the settings of a model."""
