"""Blockwise: the largest of all n² answers, tile by tile, in O(n·k) memory."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.kernels.linalg.blas_threads import in_threads
from fewpairs.kernels.linalg.largest import Largest
from fewpairs.matrix.entries import Entries
from fewpairs.progress import Progress
from fewpairs.result.approximation import Approximation
from fewpairs.types import Indices

__all__ = ["blockwise"]

_TILE = 2_048  # rows and columns of a product whose largest entries are sought


def blockwise(approx: Approximation, k: int, shown: Progress) -> Indices:
    """Return (n, k) positions of every item's largest answers."""
    n = approx.shape[0]
    out = np.empty((n, k), dtype=np.int64)
    everything = np.arange(n)

    def look(rows: Indices) -> None:
        best = Largest(len(rows), k)
        exact = _Exact(approx.known, rows)
        for start in range(0, n, _TILE):
            columns = everything[start : start + _TILE]
            tile = approx.model.block(rows, columns)
            exact.write(tile, columns)
            best.add(tile, start)
        out[rows] = best.result()
        shown.advance(len(rows))

    step = min(_TILE, max(256, n // 16))
    in_threads(look, [everything[t : t + step] for t in range(0, n, step)])
    return out


class _Exact:
    """Known entries of some rows, written into one tile after the other."""

    def __init__(self, known: Entries, rows: Indices) -> None:
        self._known, self._rows = known, rows
        line, where, values = known.scattered_in_lines(rows, "rows")
        order = np.argsort(where, kind="stable")
        self._line, self._where = line[order], where[order]
        self._values = values[order]

    def write(self, tile: NDArray[Any], columns: Indices) -> None:
        """Write what is known, and −∞ for an item itself."""
        known, rows, first = self._known, self._rows, int(columns[0])
        a, b = np.searchsorted(self._where, [first, first + len(columns)])
        tile[self._line[a:b], self._where[a:b] - first] = self._values[a:b]
        for lines in known.columns:
            position = lines.position[columns]
            hit = np.flatnonzero(position >= 0)
            if hit.size:
                tile[:, hit] = lines.values[np.ix_(position[hit], rows)].T
        for lines in known.columns if known.symmetric else known.rows:
            position = lines.position[rows]
            hit = np.flatnonzero(position >= 0)
            if hit.size:
                tile[hit] = lines.values[np.ix_(position[hit], columns)]
        own = np.flatnonzero((rows >= first) & (rows < first + len(columns)))
        tile[own, rows[own] - first] = -np.inf
