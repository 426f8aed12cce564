"""Checkpoints of the real sizes with random weights, and model repositories with them in the place of the demo's."""
