"""The commands of the administration."""
