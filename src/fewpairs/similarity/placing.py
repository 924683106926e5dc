"""Placing: vectors of two sets whose products are near a cheap similarity."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.types import Indices

__all__ = ["place_across"]

_PLACED_BY = 128  # items of each side at which the other one is compared
_SMALLEST = 1e-2  # singular values, as a share of the largest, that stand for noise
_ROWS = 1 << 14  # items compared at once


def place_across(
    block: Callable[[Indices, Indices], NDArray[Any]], split: int, n: int
) -> NDArray[np.float32]:
    """Return (n, d) vectors: left times right ones are near ``block(left, right)``.

    A skeleton: with C the values of all left items at some right ones, R those of some
    left items at all right ones, and their crossing U diag(σ) Vᵀ, the vectors are
    C·V·σ^(−½) and Rᵀ·U·σ^(−½). Price: 128 values per item, none within a side.
    """
    rng = np.random.default_rng(0)
    rows = np.sort(rng.permutation(split)[:_PLACED_BY])
    columns = split + np.sort(rng.permutation(n - split)[:_PLACED_BY])
    U, s, Vt = np.linalg.svd(
        block(rows, columns).astype(np.float64), full_matrices=False
    )
    large = s > _SMALLEST * s.max(initial=0.0)
    root = 1 / np.sqrt(s[large])
    out = np.empty((n, int(large.sum())), dtype=np.float32)
    for start in range(0, split, _ROWS):
        some = np.arange(start, min(start + _ROWS, split))
        out[some] = block(some, columns) @ (Vt[large].T * root)
    for start in range(split, n, _ROWS):
        some = np.arange(start, min(start + _ROWS, n))
        out[some] = block(rows, some).T @ (U[:, large] * root)
    return out
