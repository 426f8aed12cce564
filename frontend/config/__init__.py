"""The settings, read once and checked."""
