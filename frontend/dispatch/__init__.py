"""Scheduling: the order of calls to models, the choice of a Triton, and the bound on calls in flight."""
