"""Clusters of an approximation."""
