"""Numerics without context: arrays in, arrays out."""
