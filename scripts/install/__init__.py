"""Fills the virtual environments, quietly: what pip, uv and npm say goes to a log."""
