"""Linking two tables: FEBRL 4 beside other libraries, misspelt names."""

from benchmarks.linking.command import run

__all__ = ["run"]
