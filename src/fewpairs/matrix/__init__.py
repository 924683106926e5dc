"""The matrix: known entries, cost, symmetry, and how requests are cut."""
