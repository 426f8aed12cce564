"""Checks, starts and supervises the product on one machine."""
