"""Linking two tables: FEBRL 4 beside other libraries, misspelt names."""
