"""The parameters of each endpoint: one table says how they are read, refused and described."""
