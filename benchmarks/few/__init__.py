"""Few evaluations per item: the default and its rivals at equal evaluations."""

from benchmarks.few.command import run

__all__ = ["run"]
