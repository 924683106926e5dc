"""Certificates of lists: how often their statements hold, and how much they say.

`python -m benchmarks certificates` (``--runs``, ``--fits``, ``--data``, ``--only``)
prints four tables; see `coverage`, `tightness`, `targets` and `guarantees`.
"""

import argparse
from collections.abc import Sequence

from benchmarks.certificates import coverage, guarantees, targets, tightness
from benchmarks.certificates.populations import DATA

__all__ = ["run"]

_TABLES = {
    "coverage": coverage.run,
    "tightness": tightness.run,
    "targets": targets.run,
    "guarantees": guarantees.run,
}


def run(options: Sequence[str] = ()) -> None:
    """Print the tables that are asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks certificates")
    parser.add_argument("--runs", type=int, default=100, help="of a cell")
    parser.add_argument("--fits", type=int, default=5, help="that they share")
    parser.add_argument("--data", nargs="*", default=list(DATA), choices=list(DATA))
    parser.add_argument("--only", nargs="*", default=list(_TABLES), choices=_TABLES)
    given = parser.parse_args(options)
    for name in given.only:
        _TABLES[name](given.data, runs=given.runs, fits=given.fits)
