"""Fills the virtual environments. The output of pip, uv and npm goes to a log."""
