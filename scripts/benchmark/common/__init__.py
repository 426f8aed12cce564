"""Shared by all measurements: requests, load, targets and summaries."""
