"""Who goes next: how many calls of a model are under way at once."""
