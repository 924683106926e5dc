"""Picking rows and the largest entries of rows, in a small part of a product's time."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.kernels.linalg.blas_threads import in_threads

__all__ = ["largest", "largest_of_many", "places_among", "rows_of"]

_ROWS = 4_096  # rows that a thread takes at a time


def rows_of(array: NDArray[Any], indices: NDArray[Any]) -> NDArray[Any]:
    """Return array[indices], without a copy where these are neighboring rows.

    What comes back must not be written to.
    """
    k = len(indices)
    if k and indices[-1] - indices[0] == k - 1 and indices[0] >= 0:
        first = int(indices[0])
        if np.array_equal(indices, np.arange(first, first + k)):
            return array[first : first + k]
    # A quarter of the time of array[indices], which looks at every number by itself.
    return np.take(array, indices, axis=0)


def largest(scores: NDArray[Any], count: int) -> NDArray[np.int64]:
    """Return the places of every row's ``count`` largest scores, in rising order.

    Of equal ones at the end, those at lower places. Price: one partition of the values,
    several times as quick as one of their places (``np.argpartition``), and two passes.
    """
    rows, n = scores.shape
    start = n - min(count, n)
    if start == 0:
        return np.broadcast_to(np.arange(n, dtype=np.int64), scores.shape).copy()
    if start == n:
        return np.empty((rows, 0), dtype=np.int64)
    level = np.partition(scores, start, axis=1)[:, start, None]
    reaching = scores >= level
    tied = np.flatnonzero(np.count_nonzero(reaching, axis=1) != count)
    if len(tied):
        above, equal = (
            compare(scores[tied], level[tied]) for compare in (np.greater, np.equal)
        )
        room = count - np.count_nonzero(above, axis=1)[:, None]
        reaching[tied] = above | (equal & (np.cumsum(equal, axis=1) <= room))
    found = np.flatnonzero(reaching)
    if len(found) != rows * count:  # NaN is neither above nor below
        return np.sort(np.argpartition(scores, start, axis=1)[:, start:], axis=1)
    return found.reshape(rows, count) - n * np.arange(rows)[:, None]


def largest_of_many(scores: NDArray[Any], count: int) -> NDArray[np.int64]:
    """Return what `largest` does, of many rows: on all cores."""
    count = min(count, scores.shape[1])
    out = np.empty((len(scores), count), dtype=np.int64)

    def look(start: int) -> None:
        part = slice(start, start + _ROWS)
        out[part] = largest(scores[part], count)

    in_threads(look, range(0, len(scores), _ROWS))
    return out


def places_among(keys: NDArray[Any], wanted: NDArray[Any]) -> NDArray[np.int64]:
    """Return what ``np.searchsorted(keys, wanted)`` does, where both are large.

    Asked in rising order, searches find what the last one has left in the cache.
    """
    at = np.empty(wanted.shape, dtype=np.int64)
    order = np.argsort(wanted, axis=None)
    at.ravel()[order] = np.searchsorted(keys, wanted.ravel()[order])
    return at
