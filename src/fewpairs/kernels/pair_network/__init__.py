"""A network that predicts a pair from two trained vectors, and its training."""
