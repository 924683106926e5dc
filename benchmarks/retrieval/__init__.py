"""Retrieval: the most similar right items of every left one, few evaluations each."""

from benchmarks.retrieval.command import run

__all__ = ["run"]
