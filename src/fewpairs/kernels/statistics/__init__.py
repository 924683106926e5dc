"""Bounds on what a sample has not seen: arrays in, numbers out."""
