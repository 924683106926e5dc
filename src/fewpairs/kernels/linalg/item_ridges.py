"""Least squares of every item by itself, all items at once."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fewpairs.kernels.linalg.blas_threads import in_threads
from fewpairs.types import Indices

__all__ = ["item_ridges"]

_NUMBERS = 1 << 17  # gathered at once
_BITS = 32  # of a key that say which row it is


def item_ridges(
    i: Indices,
    j: Indices,
    weights: NDArray[np.float32],
    values: NDArray[np.float32],
    features: NDArray[np.float32],
    *,
    ridges: Sequence[float],
    items: NDArray[np.bool_] | None = None,
) -> list[NDArray[np.float32]]:
    """Return (XᵀX + ridge)⁻¹ Xᵀy of every item, (n, q), for each of the ridges.

    A pair is a row of X of both its items: ``weights[t]`` times the features of the
    other one, with the value ``values[t]``. ``items`` says which ones are solved for;
    the others, and those without a pair, get 0.

    Time: a sort of all rows, and q² per row; memory: a number per row, and no matrix
    longer than it takes to solve it.
    """
    n, q = features.shape
    m = len(i)
    rows, count = _by_item(i, j, n)
    start = np.cumsum(count) - count
    out = [np.zeros((n, q), dtype=np.float32) for _ in ridges]
    ones = np.eye(q, dtype=np.float32)

    def solve(some: Indices) -> None:
        width = int(count[some].max())
        at = start[some][:, None] + np.arange(width)
        live = np.arange(width) < count[some][:, None]
        row = rows[np.where(live, at, 0)]
        first = row < m
        pair = np.where(first, row, row - m)
        other = np.where(first, j[pair], i[pair])
        X = np.take(features, other, axis=0)
        X *= np.where(live, weights[pair], 0)[..., None]
        flipped = X.transpose(0, 2, 1)
        gram, moment = flipped @ X, flipped @ values[pair][..., None]
        for found, ridge in zip(out, ridges, strict=True):
            found[some] = np.linalg.solve(gram + np.float32(ridge) * ones, moment)[
                ..., 0
            ]

    in_threads(solve, _parts(count if items is None else count * items, q))
    return out


def _by_item(i: Indices, j: Indices, n: int) -> tuple[Indices, Indices]:
    """Return the rows sorted by item, those of j after those of i; rows per item."""
    keys = np.concatenate([i, j]).astype(np.int64, copy=False)
    count = np.bincount(keys, minlength=n)
    # Sorting numbers that hold their place is stable, and twice as quick as argsort.
    keys <<= _BITS
    keys |= np.arange(len(keys))
    keys.sort()
    keys &= (1 << _BITS) - 1
    return keys, count


def _parts(count: Indices, q: int) -> list[Indices]:
    """Return items with about as many rows side by side: little is filled up."""
    order = np.argsort(-count, kind="stable")
    order = order[count[order] > 0]
    parts, first = [], 0
    while first < len(order):
        size = max(1, _NUMBERS // (q * int(count[order[first]])))
        parts.append(order[first : first + size])
        first += size
    return parts
