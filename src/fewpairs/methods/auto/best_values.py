"""Best values: the largest that was read of every item."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.matrix.entries import Entries
from fewpairs.types import Indices

__all__ = ["best_values", "with_new"]


def best_values(known: Entries, n: int, k: int) -> NDArray[np.float32]:
    """Return (n, k) largest values that were read of every item; −∞ for the rest."""
    i, j, values = known.uncovered()
    apart = i != j
    return _largest(i[apart], j[apart], values[apart], n, k)


def with_new(
    best: NDArray[np.float32], i: Indices, j: Indices, values: NDArray[Any]
) -> NDArray[np.float32]:
    """Return the same, falling in every row, with new pairs' values among them."""
    n, k = best.shape
    both = np.hstack([best, _largest(i, j, values, n, k, above=best[:, -1])])
    return -np.sort(-both, axis=1)[:, :k]


def _largest(
    i: Indices,
    j: Indices,
    values: NDArray[Any],
    n: int,
    k: int,
    *,
    above: NDArray[np.float32] | None = None,
) -> NDArray[np.float32]:
    item: Indices = np.concatenate([i, j])
    both = np.concatenate([values, values]).astype(np.float32)
    item, both = item[item < n], both[item < n]  # of two sets, left items
    if above is not None:  # of every item: others need not be sorted
        some = both > above[item]
        item, both = item[some], both[some]
    order = np.lexsort((-both, item))
    item, both = item[order], both[order]
    rank = np.arange(len(item)) - np.searchsorted(item, item)
    out = np.full((n, k), -np.inf, dtype=np.float32)
    top = rank < k
    out[item[top], rank[top]] = both[top]
    return out
