"""Borderline pairs: those that decide which items are among an item's most similar.

A pair that is surely among them is in the list whether it is read or not, and one that
surely is not stays out. Reading pays in between. With s a prediction, σ its error and
t the level that the most similar of an item lie above, a pair belongs to them with
probability p = Φ((s − t)/σ), and reading it is worth p·(1 − p). The level is such that
the expected number above it, of pairs read and unread, is the number wanted: where
predictions are poor it lies above them all, and the most similar are read first, as
they should be.

What is uncertain is read first in active learning too (Lewis & Gale 1994, "A sequential
algorithm for training text classifiers").
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.kernels.linalg.blas_threads import in_threads
from fewpairs.kernels.linalg.selection import largest
from fewpairs.matrix.entries import Entries
from fewpairs.methods.auto.candidates import Candidates
from fewpairs.methods.auto.grown_turns import best_values

__all__ = ["worth_reading"]

_NEIGHBORS = 10  # the number wanted
_LOOKED_AT = 64  # candidates of an item that may be among them
_ROWS = 4_096  # items looked at at once
_HALVINGS = 16  # of the range in which the level is sought
_LOGISTIC = 1.702  # 1/(1 + exp(−1.702 z)) is within .01 of Φ(z)


def worth_reading(
    found: Candidates, known: Entries, error: float
) -> NDArray[np.float32]:
    """Return p·(1 − p) of every candidate, −∞ where there is none.

    ``error`` is that of the candidates' scores. Price: O(n · 64) for each of 16
    halvings, no evaluation.
    """
    n, m = found.score.shape
    read = best_values(known, n, _NEIGHBORS)
    out = np.full((n, m), -np.inf, dtype=np.float32)
    width = min(m, _LOOKED_AT)

    def look(start: int) -> None:
        part = slice(start, start + _ROWS)
        score, have = found.score[part], read[part]
        top = largest(score, width)
        near = np.take_along_axis(score, top, axis=1)
        p = _above(near, _levels(near, have, error), error)
        np.put_along_axis(
            out[part], top, np.where(np.isfinite(near), p * (1 - p), -np.inf), axis=1
        )

    in_threads(look, range(0, n, _ROWS))
    return out


def _levels(near: NDArray[Any], have: NDArray[Any], error: float) -> NDArray[Any]:
    """Return the level of every item above which as many are expected as are wanted."""
    both = np.hstack([near, have])
    finite = np.isfinite(both)
    low = np.where(finite, both, np.inf).min(axis=1) - 4 * error
    high = np.where(finite, both, -np.inf).max(axis=1) + 4 * error
    none = ~finite.any(axis=1)
    low[none], high[none] = 0.0, 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        expected = _above(near, middle, error).sum(axis=1)
        expected += (have > middle[:, None]).sum(axis=1)
        more = expected > _NEIGHBORS
        low, high = np.where(more, middle, low), np.where(more, high, middle)
    return np.asarray((low + high) / 2)


def _above(near: NDArray[Any], level: NDArray[Any], error: float) -> NDArray[Any]:
    """Return how likely predictions lie above a level of their rows."""
    from scipy import special  # takes a tenth of a second

    steep = np.float32(_LOGISTIC / error)
    return np.asarray(special.expit(steep * (near - level[:, None].astype(np.float32))))
