"""Unit vectors: embeddings of items, whose inner products are cosines."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.errors import InputError
from fewpairs.kernels.linalg.row_products import row_products
from fewpairs.kernels.linalg.selection import rows_of
from fewpairs.similarity.base import Scorer
from fewpairs.types import Indices

__all__ = ["UnitDots", "side_by_side", "unit_rows"]

_GATHER = 1 << 19  # numbers gathered at once: near the cache, and few calls


class UnitDots(Scorer):
    """Inner products of unit vectors; a zero vector has 0 with all others."""

    dtype = np.dtype(np.float32)

    def __init__(self, unit: NDArray[np.float32]) -> None:
        self.n = len(unit)
        self._unit = unit

    def pairs(self, i: Indices, j: Indices) -> NDArray[np.float32]:
        """Return the inner product of vectors ``i[t]`` and ``j[t]``, for every t."""
        return row_products(self._unit, self._unit, i, j)

    def block(self, rows: Indices, columns: Indices) -> NDArray[np.float32]:
        """Return the inner products of all ``rows`` with all ``columns``."""
        return np.asarray(rows_of(self._unit, rows) @ rows_of(self._unit, columns).T)


def side_by_side(
    sets: Sequence[NDArray[np.float32] | None], used: Sequence[tuple[Any, float]]
) -> NDArray[np.float32]:
    """Return vectors whose inner products are the weighted sums of those of the sets.

    Σ w aᵀb is the inner product of what √w scales.
    """
    scaled = [
        part * np.float32(np.sqrt(weight))
        for part, (_, weight) in zip(sets, used, strict=True)
        if part is not None
    ]
    return np.hstack(scaled)


def unit_rows(prior: Any, n: int, call: str) -> NDArray[np.float32]:
    """Return embeddings of unit length, or say what is wrong with them."""
    try:
        X = np.asarray(prior)
        if X.ndim == 1 and X.dtype == object and len(X) and np.ndim(X[0]) == 1:
            X = np.asarray(
                [np.asarray(row) for row in X]
            )  # a column that holds vectors
    except ValueError:
        X = np.empty(0, dtype=object)
    if X.ndim != 2 or X.dtype.kind not in "biuf" or X.size == 0:
        msg = (
            f"{call}: prior is {type(prior).__name__} of shape {X.shape} and dtype "
            f"{X.dtype}. Pass an (n, d) array of embeddings, one row per item, or a "
            'cheap fewpairs.Similarity, "lexical" for texts, or a list of these.'
        )
        raise InputError(msg)
    if len(X) != n:
        msg = (
            f"{call}: prior has {len(X):,} embeddings for {n:,} items. Pass one row "
            "per item, in the order of the items."
        )
        raise InputError(msg)
    out = np.empty(X.shape, dtype=np.float32)
    bad = []
    step = max(1, _GATHER // X.shape[1])
    for start in range(0, n, step):
        part = X[start : start + step].astype(np.float64)
        finite = np.isfinite(part).all(axis=1)
        bad += (start + np.flatnonzero(~finite)).tolist()
        part[~finite] = 0
        # Scaled by their largest entry first: squares must stay in range.
        largest = np.abs(part).max(axis=1, keepdims=True)
        part /= np.where(largest > 0, largest, 1)
        norms = np.linalg.norm(part, axis=1, keepdims=True)
        out[start : start + step] = part / np.where(norms > 0, norms, 1)
    if bad:
        msg = (
            f"{call}: row {bad[0]} of prior is not finite ({len(bad):,} such rows). "
            "Mend those embeddings, or set them to 0."
        )
        raise InputError(msg)
    return out
