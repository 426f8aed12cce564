"""Whether the tests can see: faults of one line are put in, one at a time, and somebody should notice."""
