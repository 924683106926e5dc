"""Linear algebra: arrays in, arrays out."""
