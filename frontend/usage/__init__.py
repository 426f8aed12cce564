"""Consumption: reports, outcomes of requests, and credit."""
