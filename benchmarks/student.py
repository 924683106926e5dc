"""The default with a student; see `benchmarks.default`."""

from benchmarks.default import run_student as run

__all__ = ["run"]
