"""Least squares of every item by itself, all items at once."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.kernels.linalg.blas_threads import in_threads
from fewpairs.types import Indices

__all__ = ["item_moments", "ridge_solutions"]

_NUMBERS = 1 << 21  # gathered at once
_SOLVED = 1 << 12  # items at once: all of them would hold their matrices twice


def item_moments(
    n: int,
    item: Indices,
    other: Indices,
    weights: NDArray[Any],
    values: NDArray[Any],
    features: NDArray[np.float32],
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return XᵀX, (n, q, q), and Xᵀy, (n, q), of every item's own rows.

    Row t belongs to ``item[t]``; it is ``weights[t]`` times the features of
    ``other[t]``, with the value ``values[t]``.
    """
    q = features.shape[1]
    order = np.argsort(item, kind="stable")
    other = other[order]
    weights, values = (part[order].astype(np.float32) for part in (weights, values))
    count = np.bincount(item, minlength=n)
    start = np.cumsum(count) - count
    gram = np.zeros((n, q, q), dtype=np.float32)
    moment = np.zeros((n, q), dtype=np.float32)

    def gather(items: Indices) -> None:
        width = int(count[items].max())
        at = start[items][:, None] + np.arange(width)
        live = np.arange(width) < count[items][:, None]
        at = np.where(live, at, 0)
        X = features[other[at]] * np.where(live, weights[at], 0)[..., None]
        flipped = X.transpose(0, 2, 1)
        gram[items] = flipped @ X
        moment[items] = (flipped @ values[at][..., None])[..., 0]

    # Items with about as many rows side by side: little is filled up with zeros.
    by_count = np.argsort(-count, kind="stable")
    by_count = by_count[count[by_count] > 0]
    parts, first = [], 0
    while first < len(by_count):
        size = max(1, _NUMBERS // (q * int(count[by_count[first]])))
        parts.append(by_count[first : first + size])
        first += size
    in_threads(gather, parts)
    return gram, moment


def ridge_solutions(
    gram: NDArray[np.float32], moment: NDArray[np.float32], ridge: float
) -> NDArray[np.float32]:
    """Return (XᵀX + ridge)⁻¹ Xᵀy of every item."""
    more = np.float32(ridge) * np.eye(gram.shape[1], dtype=np.float32)
    out = np.empty_like(moment)

    def solve(start: int) -> None:
        part = slice(start, start + _SOLVED)
        found = np.linalg.solve(gram[part] + more, moment[part][..., None])
        out[part] = found[..., 0]

    in_threads(solve, range(0, len(out), _SOLVED))
    return out
