"""A plan of ``make capacity`` at its busiest moment: the product's own scheduler before simulated machines."""
