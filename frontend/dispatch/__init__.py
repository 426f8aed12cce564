"""Which call to a model goes next, to which Triton, and how many are in flight at once."""
