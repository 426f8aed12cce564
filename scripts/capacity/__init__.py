"""How many machines a number of users needs: a formula, and a simulation with the product's own scheduler."""
