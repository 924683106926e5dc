"""Figures 1 and 2: eigenvalues of the matrices, and of small principal blocks."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from experiments.cells import Cell, Value
from experiments.matrices import known

__all__ = ["cells", "core_cells"]

MATRICES = ("tweets", "stsb", "mrpc")
DRAWS = 50
BLOCK = 200
BINS = 120
_ROUNDING = 1e-9  # of the largest magnitude


def cells(data: Path, *, toy: bool) -> Iterator[Cell]:
    """Yield a spectrum a matrix."""
    del toy
    for name in (*MATRICES, "psd"):

        def compute(name: str = name) -> Value:
            values = np.linalg.eigvalsh(known(data, name).K.astype(np.float64))
            ordered = values[np.argsort(-np.abs(values))]
            squares = np.cumsum(ordered[::-1] ** 2)[::-1]
            return {
                "n": len(values),
                "top": ordered[0],
                "shown": ordered[1:201],  # ranks 2 to 201
                # Beyond rounding: duplicates make eigenvalues of 0.
                "negative": int((values < -_ROUNDING * abs(ordered[0])).sum()),
                "negative_shown": int((ordered[1:201] < 0).sum()),
                "lowest": values[0],
                # ‖K − best rank k‖ / ‖K‖ for a few k: the yardstick of figure 3.
                "optimal": {
                    str(k): float(np.sqrt(squares[k] / squares[0]))
                    for k in _ranks(len(values))
                },
            }

        yield Cell({"matrix": name}, compute)


def _ranks(n: int) -> list[int]:
    return sorted({round(share * n) for share in np.arange(1, 71) / 100})


def core_cells(data: Path, *, toy: bool) -> Iterator[Cell]:
    """Yield a histogram of core eigenvalues a matrix."""
    size, draws = (20, 5) if toy else (BLOCK, DRAWS)
    for name in MATRICES:

        def compute(name: str = name) -> Value:
            K = known(data, name).K
            drawn = []
            for seed in range(draws):
                rng = np.random.default_rng(seed)
                S = rng.permutation(len(K))[:size]
                drawn.append(np.linalg.eigvalsh(K[np.ix_(S, S)].astype(np.float64)))
            values = np.concatenate(drawn)
            size_of = np.abs(values)
            zero = size_of < _ROUNDING * size_of.max()  # two items are the same
            spread = float(np.quantile(size_of, 0.98))
            inside = values[np.abs(values) <= spread]
            counts, edges = np.histogram(inside, BINS, (-spread, spread))
            typical = float(np.median(size_of))
            return {
                "draws": draws,
                "block": size,
                "counts": counts,
                "edge": edges[-1],
                "outside": int(len(values) - len(inside)),
                "zero": float(np.mean(zero)),
                "negative": float(np.mean((values < 0) & ~zero)),
                "median": typical,
                # As a share of all: nearer to 0 than a tenth of the median.
                "near_zero": float(np.mean((size_of < 0.1 * typical) & ~zero)),
                "smallest": float(size_of[~zero].min()),
            }

        yield Cell({"matrix": name}, compute)
