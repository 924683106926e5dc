"""Layers of a transformer, compiled for a CPU."""
