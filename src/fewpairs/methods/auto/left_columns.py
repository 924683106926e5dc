"""What a regression leaves of landmarks' columns, as a low rank of its own.

With G = C − B what prior, effects and bilinear form leave of the landmarks' columns,
K ≈ B + G U Gᵀ, U a damped core that predicts left-out landmarks best
(`fewpairs.methods.residual`). Scattered pairs tell the bulk with fewer evaluations than
columns do, up to a point; from there on columns tell what scattered pairs cannot.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewpairs.methods import residual
from fewpairs.methods.auto.spending import Spending
from fewpairs.methods.cross_validation import choose
from fewpairs.similarity.priors import Prior
from fewpairs.types import Indices

__all__ = ["LeftColumns", "columns_to_buy", "do_without"]

_DIRECTIONS = 48  # of what is left, that every item has weights for
# Pairs per item from which on columns are bought beside scattered pairs: with a prior
# that was given, and with one of texts, which needs more to be as good. The share of
# what lies beyond that goes to them, and how many are worth fitting a core to.
_FROM, _FROM_OF_TEXTS, _SHARE, _FEWEST = 95.0, 235.0, 0.55, 8
# Times the error without a prior that it has with one that is in the way, and how
# quickly errors fall where columns say much of each other (`residual.learning_rate`).
_IN_THE_WAY, _LEARNING = 1.15, 0.35


def columns_to_buy(per_item: float, *, of_texts: bool) -> int:
    """Return how many landmarks' columns go with so many pairs per item.

    A column is n entries, two per item. None below some 124 pairs per item.
    """
    beyond = per_item - (_FROM_OF_TEXTS if of_texts else _FROM)
    number = int(_SHARE * beyond / 2)
    return number if number >= _FEWEST else 0


def do_without(prior: Prior, spending: Spending) -> bool:
    """Tell whether columns say so much of each other that a prior is in the way.

    By leaving out landmarks: with the prior errors are larger, and twice as many
    columns lower them much (`fewpairs.methods.cross_validation`).
    """
    C, S, rng = spending.columns, spending.landmarks, spending.rng
    errors = choose(C, S, prior, residual.shapes(prior), rng)[2]
    by_prior, without = (
        min(error for shape, error in errors.items() if shape.prior is there)
        for there in (True, False)
    )
    if by_prior < _IN_THE_WAY * without:
        return False
    return residual.learning_rate(C, S, None, rng) > _LEARNING


class LeftColumns(NamedTuple):
    """A low rank, left diag(signs) leftᵀ, and what columns tell of the items.

    Attributes
    ----------
    profiles
        (n, d) leading directions of what is left, of unit mean square.
    """

    left: NDArray[Any]
    signs: NDArray[Any]
    profiles: NDArray[np.float32]

    @classmethod
    def fitted(
        cls, left: NDArray[Any], landmarks: Indices, rng: np.random.Generator
    ) -> "LeftColumns":
        """Fit it to what is left of the landmarks' columns, (n, s)."""
        left = left.astype(np.float64)
        left[landmarks, np.arange(len(landmarks))] = 0.0  # the diagonal is no pair
        found = residual.fit(left, landmarks, None, rng)
        centered = left - left.mean(axis=0)
        squares, V = np.linalg.eigh(centered.T @ centered)
        profiles = centered @ V[:, np.argsort(-squares)[:_DIRECTIONS]]
        size = float(np.sqrt(np.mean(profiles**2))) or 1.0
        return cls(found.left, found.signs, (profiles / size).astype(np.float32))
