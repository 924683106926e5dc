"""A run: from items and a budget to an approximation."""
