"""A running product on a GPU, verified and measured."""
