"""Products of pairs of rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.types import Indices

__all__ = ["row_products"]

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
