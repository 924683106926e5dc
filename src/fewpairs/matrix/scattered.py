"""Scattered entries as sorted keys i·n + j: merging them, and finding them by line."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fewpairs.types import Indices

__all__ = ["merged", "position_table"]


def merged(
    keys: Indices, values: NDArray[np.float64], more: Indices, new: NDArray[np.float64]
) -> tuple[Indices, NDArray[np.float64]]:
    """Return sorted keys with other sorted ones among them, and their values.

    What is known keeps its value. Price: one pass, and a search for each of ``more``.
    """
    if not len(keys):
        return more, new
    at = np.searchsorted(keys, more)
    fresh = keys[np.minimum(at, len(keys) - 1)] != more
    at, more, new = at[fresh], more[fresh], new[fresh]
    return np.insert(keys, at, more), np.insert(values, at, new)


def position_table(keys: Indices, n: int, *, mirrored: bool) -> sparse.csr_array:
    """Return an n×n matrix of the positions of sorted keys, counted from 1.

    With their mirrors, where they have any. Turning a sorted matrix and adding it take
    no sorting, so this takes a few passes.
    """
    table = _positions(keys, np.arange(len(keys)), n)
    if mirrored:
        off = np.flatnonzero(keys // n != keys % n)
        other: Any = _positions(keys[off], off, n).T
        table = sparse.csr_array(table + sparse.csr_array(other))
    return table


def _positions(keys: Indices, at: Indices, n: int) -> sparse.csr_array:
    i, j = np.divmod(keys, n)
    starts = np.searchsorted(i, np.arange(n + 1))
    return sparse.csr_array((at + 1, j, starts), shape=(n, n))
