"""Symmetry: proven, or checked on a few pairs in both orders."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewpairs.errors import InputError
from fewpairs.matrix.entries import Entries
from fewpairs.similarity.base import Similarity
from fewpairs.types import Indices

__all__ = ["BothOrders", "compare", "draw_pairs", "pairs_to_check"]

_CHECKED_PAIRS = 8
# Two orders of a pair that differ by less than this share are rounding.
_ROUNDING = 1e-6


class BothOrders(NamedTuple):
    """Pairs (i, j) with their values in both orders."""

    i: Indices
    j: Indices
    there: NDArray[Any]
    back: NDArray[Any]

    def entries(
        self, *, symmetric: bool
    ) -> tuple[Indices, Indices, NDArray[np.float64]]:
        """Return them as entries of the matrix that is read."""
        i, j, there, back = self
        if symmetric:
            return i, j, np.asarray(0.5 * (there + back), dtype=np.float64)
        both = np.r_[there, back].astype(np.float64)
        return np.r_[i, j], np.r_[j, i], both


def pairs_to_check(similarity: Similarity, n: int, limit: int | None) -> int:
    """Return how many pairs check a symmetry that is not proven; two calls each."""
    if similarity.symmetric is False or (similarity.symmetric and similarity.proven):
        return 0
    most = _CHECKED_PAIRS if limit is None else max(1, limit // 50)
    return min(most, _CHECKED_PAIRS, n * (n - 1) // 2)


def draw_pairs(n: int, size: int, rng: np.random.Generator) -> tuple[Indices, Indices]:
    """Draw distinct pairs."""
    return Entries(n, symmetric=True).sample_unknown(size, rng)


def compare(similarity: Similarity, sample: BothOrders) -> bool:
    """Tell whether the pairs are symmetric; refuse a claim that they contradict."""
    i, j, there, back = sample
    largest = max(np.abs(there).max(), np.abs(back).max())
    differs = np.abs(there - back) > _ROUNDING * largest
    if similarity.symmetric and differs.any():
        t = np.flatnonzero(differs)[0]
        msg = (
            f"{similarity.name} is declared symmetric, but its value for items {i[t]} "
            f"and {j[t]} is {there[t]:g}, and {back[t]:g} the other way round. "
            "Declare symmetric=False; it is then averaged over both orders."
        )
        raise InputError(msg)
    return not differs.any()
