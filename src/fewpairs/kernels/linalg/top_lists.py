"""Top lists: the k largest entries of every row, from tiles of half a matrix."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["TopLists"]

_PENDING = 1 << 16  # entries that wait, at least, before they are sorted in
_WIDE = 64  # of a row that are sorted in at once


class TopLists:
    """The k largest entries of every row, from tiles that hold every pair once.

    An entry is looked at again only if it is above its row's k-th largest so far, and
    those are few: k·log(n) a row on the whole. They wait until there are as many as
    have been kept, and are sorted in together. Of equal entries those met first stay;
    where tiles come as in `TileGrid`, they are those at lower positions.

    Memory: 12 bytes for each of n·k entries in single precision, and as much again.

    Parameters
    ----------
    n, k
        Rows, and entries that are kept of each.
    dtype
        Of the values.

    Examples
    --------
    >>> import numpy as np
    >>> from fewpairs.kernels.linalg.top_lists import TopLists
    >>> lists = TopLists(4, 2, np.dtype(float))
    >>> K = np.array([[0, 5, 1, 3], [5, 0, 2, 2], [1, 2, 0, 4], [3, 2, 4, 0]], float)
    >>> lists.add(np.where(np.triu(np.ones((4, 4)), 1), K, -np.inf), 0, 0)
    >>> lists.result()[0].tolist()
    [[1, 3], [0, 2], [3, 1], [2, 0]]
    """

    def __init__(self, n: int, k: int, dtype: np.dtype[Any]) -> None:
        self.partner = np.full((n, k), -1, dtype=np.int64)
        self.value = np.full((n, k), -np.inf, dtype=dtype)
        self._waiting: list[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]] = []
        self._number = 0

    @property
    def floor(self) -> NDArray[Any]:
        """The least entry that is kept of every row, when they were last sorted."""
        return self.value[:, -1]

    def add(self, tile: NDArray[Any], top: int, left: int) -> None:
        """Look at a tile, rows from ``top`` and columns from ``left`` on, both ways.

        −∞ stands where there is no pair.
        """
        height, width = tile.shape
        k = self.value.shape[1]
        # Of a triangle, what is above an item has lower positions than what is right.
        row, column = _above(tile, self.floor[None, left : left + width], k)
        self._wait(column + left, row + top, tile[row, column])
        row, column = _above(tile, self.floor[top : top + height, None], k)
        self._wait(row + top, column + left, tile[row, column])
        if self._number > max(_PENDING, self.value.size // 2):
            self.merge()

    def result(self) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Return (n, k) positions and entries, the largest first; −1 where none is."""
        self.merge()
        return self.partner, self.value

    def merge(self) -> None:
        """Sort in what waits."""
        if not self._number:
            return
        own, other, value = (
            np.concatenate(side) for side in zip(*self._waiting, strict=True)
        )
        self._waiting, self._number = [], 0
        order = np.argsort(own, kind="stable")
        own, other, value = own[order], other[order], value[order]
        rank = np.arange(len(own)) - np.searchsorted(own, own)
        wide = max(_WIDE, 2 * self.value.shape[1])
        for start in range(0, int(rank.max()) + 1, wide):
            part = (rank >= start) & (rank < start + wide)
            self._sort_in(own[part], rank[part] - start, other[part], value[part])

    def _wait(
        self, own: NDArray[Any], other: NDArray[Any], value: NDArray[Any]
    ) -> None:
        if len(own):
            self._waiting.append((own, other, value))
            self._number += len(own)

    def _sort_in(
        self,
        own: NDArray[Any],
        rank: NDArray[Any],
        other: NDArray[Any],
        value: NDArray[Any],
    ) -> None:
        """Take the best of what is kept and of up to so many others a row."""
        k = self.value.shape[1]
        items, at = np.unique(own, return_inverse=True)
        shape = len(items), k + int(rank.max()) + 1
        values = np.full(shape, -np.inf, dtype=self.value.dtype)
        partners = np.full(shape, -1, dtype=np.int64)
        values[:, :k], partners[:, :k] = self.value[items], self.partner[items]
        values[at, k + rank], partners[at, k + rank] = value, other
        best = np.argsort(-values, axis=1, kind="stable")[:, :k]
        self.value[items] = np.take_along_axis(values, best, axis=1)
        self.partner[items] = np.take_along_axis(partners, best, axis=1)


def _above(
    tile: NDArray[Any], floor: NDArray[Any], k: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows and columns of what is above the floor of its line.

    Where a line has no floor yet, of the k largest in the tile, first ones first: all
    of them would be too many to wait.
    """
    axis = 1 if floor.shape[1] == 1 else 0
    length = tile.shape[axis]
    mask = tile > floor
    if length > k and np.isneginf(floor).any():
        least = np.partition(tile, length - k, axis=axis).take([length - k], axis=axis)
        least = np.maximum(least, floor)
        mask = tile > least
        equal = (tile == least) & (least > floor)
        free = k - mask.sum(axis=axis, keepdims=True)
        if (equal.sum(axis=axis, keepdims=True) > free).any():
            equal &= np.cumsum(equal, axis=axis, dtype=np.int32) <= free
        mask |= equal
    row, column = np.divmod(np.flatnonzero(mask), tile.shape[1])
    return row, column
