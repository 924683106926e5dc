"""The model: what answers the pairs that were not read."""
