"""Products of pairs of rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.types import Indices

__all__ = ["row_products", "weighted_products"]

_GATHER = 1 << 17  # numbers gathered at once: they should stay in the cache


def row_products(
    left: NDArray[Any], right: NDArray[Any], i: Indices, j: Indices
) -> NDArray[Any]:
    """Return the inner product of row ``i[t]`` of one and ``j[t]`` of the other array.

    ``np.take`` along rows takes a quarter of the time of ``left[i]``.
    """
    out = np.empty(len(i), dtype=np.result_type(left, right))
    step = max(1, _GATHER // max(1, left.shape[1]))
    for start in range(0, len(i), step):
        part = slice(start, start + step)
        a, b = np.take(left, i[part], axis=0), np.take(right, j[part], axis=0)
        np.einsum("td,td->t", a, b, out=out[part])
    return out


def weighted_products(
    features: NDArray[np.float32],
    weights: NDArray[np.float32],
    i: Indices,
    j: Indices,
) -> NDArray[np.float32]:
    """Return Σ_d w_d f_id f_jd of every pair; features beyond the weights count 0."""
    out, d = np.empty(len(i), dtype=np.float32), len(weights)
    step = max(1, _GATHER // max(1, features.shape[1]))
    for start in range(0, len(i), step):
        part = slice(start, start + step)
        both = np.take(features, i[part], axis=0)
        both *= np.take(features, j[part], axis=0)
        np.matmul(both[:, :d], weights, out=out[part])
    return out
