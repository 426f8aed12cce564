"""Checks the tests: puts in faults of one line, one at a time, and expects a test to fail."""
