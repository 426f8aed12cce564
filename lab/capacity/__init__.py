"""Simulates a plan of ``make capacity`` at its peak: the product's own scheduler with simulated machines."""
