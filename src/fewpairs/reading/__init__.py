"""Reading the matrix: counted, within the budget, and kept."""
