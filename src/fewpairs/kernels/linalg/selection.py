"""Picking rows and the largest entries of rows, in a small part of a product's time."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.kernels.linalg.blas_threads import in_threads

__all__ = ["largest", "largest_of_many", "rows_of"]

_STRIDE = 16  # every so many-th entry tells where the largest ones begin
_SHORT = 1_024  # rows up to here are partitioned as they are
_ROWS = 1_024  # rows that a thread takes at a time


def rows_of(array: NDArray[Any], indices: NDArray[Any]) -> NDArray[Any]:
    """Return array[indices], without a copy where these are neighboring rows.

    What comes back must not be written to.
    """
    k = len(indices)
    if k and indices[-1] - indices[0] == k - 1 and indices[0] >= 0:
        first = int(indices[0])
        if np.array_equal(indices, np.arange(first, first + k)):
            return array[first : first + k]
    return np.asarray(array[indices])


def largest(scores: NDArray[Any], count: int) -> NDArray[np.int64]:
    """Return the places of every row's ``count`` largest scores, in any order.

    As ``np.argpartition`` would. Every 16th entry gives a level that some more than
    ``count`` entries of a row reach; only these are partitioned. Rows where it is too
    high are partitioned as a whole. Price: two passes over the scores.
    """
    rows, n = scores.shape
    count = min(count, n)
    expected = count / _STRIDE
    rank = math.ceil(expected + 4 * math.sqrt(expected) + 4)
    if n <= _SHORT or rank * _STRIDE > n // 2:
        return _partitioned(scores, count)
    sample = scores[:, ::_STRIDE]
    cut = sample.shape[1] - rank
    level = np.partition(sample, cut, axis=1)[:, cut]
    reaching = scores >= level[:, None]
    number = np.count_nonzero(reaching, axis=1)
    width = int(number.max())
    if width > n // 2:  # many equal scores
        return _partitioned(scores, count)
    flat = np.flatnonzero(reaching)
    row, column = np.divmod(flat, n)
    begin = np.cumsum(number) - number
    place = np.arange(len(flat)) - begin[row]
    packed = np.full((rows, max(width, count)), -np.inf, dtype=scores.dtype)
    packed[row, place] = (
        scores.ravel()[flat] if scores.flags.c_contiguous else (scores[row, column])
    )
    where = np.zeros(packed.shape, dtype=np.int64)
    where[row, place] = column
    out = np.take_along_axis(where, _partitioned(packed, count), axis=1)
    few = number < count
    if few.any():
        out[few] = _partitioned(scores[few], count)
    return out


def largest_of_many(scores: NDArray[Any], count: int) -> NDArray[np.int64]:
    """Return what `largest` does, of many rows: on all cores."""
    count = min(count, scores.shape[1])
    out = np.empty((len(scores), count), dtype=np.int64)

    def look(start: int) -> None:
        part = slice(start, start + _ROWS)
        out[part] = largest(scores[part], count)

    in_threads(look, range(0, len(scores), _ROWS))
    return out


def _partitioned(scores: NDArray[Any], count: int) -> NDArray[np.int64]:
    start = scores.shape[1] - count
    if start == 0:
        everything = np.arange(count, dtype=np.int64)
        return np.broadcast_to(everything, scores.shape).copy()
    return np.argpartition(scores, start, axis=1)[:, start:]
