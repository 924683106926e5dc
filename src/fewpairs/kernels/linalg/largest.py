"""The largest entries of every row, met tile by tile."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Largest"]


class Largest:
    """Keeps the k largest entries of every row; of equal ones those met first.

    Tiles come from the left to the right. An entry is looked at again only if it is
    above its row's k-th largest so far, and those are few: k·log(n) a row on the whole.
    They are sorted in when there are as many as have been kept.

    Parameters
    ----------
    rows
        Number of rows.
    k
        How many are kept; fewer columns than that must not be asked for.
    """

    def __init__(self, rows: int, k: int) -> None:
        self._shape = (rows, k)
        self._rows = np.empty(0, dtype=np.int64)
        self._columns = np.empty(0, dtype=np.int64)
        self._values: NDArray[Any] = np.empty(0)
        self._added: list[tuple[Any, Any, Any]] = []
        self._number = 0
        self._limit: NDArray[Any] | None = None

    def add(self, tile: NDArray[Any], start: int) -> None:
        """Look at the columns from ``start`` on; −∞ is never kept for long."""
        rows, k = self._shape
        width = tile.shape[1]
        if self._limit is not None:
            hit = np.flatnonzero(tile > self._limit[:, None])
        elif width > k:
            least = np.partition(tile, width - k, axis=1)[:, width - k]
            hit = np.flatnonzero(tile >= least[:, None])
        else:
            hit = np.arange(tile.size)
        at, column = np.divmod(hit, width)
        self._added.append((at, column + start, tile[at, column]))
        self._number += len(hit)
        if self._limit is None or self._number > rows * k:
            self._merge()

    def result(self) -> NDArray[np.int64]:
        """Return (rows, k) columns, the largest entry first."""
        self._merge()
        return self._columns.reshape(self._shape)

    def _merge(self) -> None:
        rows, k = self._shape
        parts = [(self._rows, self._columns, self._values), *self._added]
        at, column, value = (np.concatenate(part) for part in zip(*parts, strict=True))
        order = np.lexsort((column, -value, at))
        at, column, value = at[order], column[order], value[order]
        rank = np.arange(len(at)) - np.searchsorted(at, at)
        top = rank < k
        self._rows, self._columns, self._values = at[top], column[top], value[top]
        self._added, self._number = [], 0
        if len(self._rows) == rows * k:
            self._limit = self._values[k - 1 :: k].astype(value.dtype)
