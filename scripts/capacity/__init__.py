"""How many machines a number of users needs, by a formula."""
