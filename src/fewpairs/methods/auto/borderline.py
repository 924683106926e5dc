"""Borderline pairs: those that decide which items are among an item's most similar.

A pair that is surely among them is in the list whether it is read or not, and one that
surely is not stays out. Reading pays in between. With s a prediction, σ its error and
t the level that the most similar of an item lie above, a pair belongs to them with
probability p = Φ((s − t)/σ), and reading it is worth p·(1 − p). The level is such that
the expected number above it, of pairs read and unread, is the number wanted: where
predictions are poor it lies above them all, and the most similar are read first, as
they should be.

σ differs from pair to pair (`ErrorsByPrior`): what comes first need not be the highest,
but likeliest to lie above the level.

What is uncertain is read first in active learning too (Lewis & Gale 1994, "A sequential
algorithm for training text classifiers").
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewpairs.kernels.linalg.blas_threads import in_threads
from fewpairs.kernels.linalg.selection import largest
from fewpairs.methods.auto.candidates import Candidates
from fewpairs.methods.auto.errors_by_prior import ErrorsByPrior

__all__ = [
    "HALVINGS",
    "LOGISTIC",
    "LOOKED_AT",
    "NEIGHBORS",
    "Borderline",
    "borderline",
]

NEIGHBORS = 10  # the number wanted
LOOKED_AT = 64  # candidates of an item that may be among them
_ROWS = 4_096  # items looked at at once
HALVINGS = 8  # of the range in which the level is sought
LOGISTIC = 1.702  # 1/(1 + exp(−1.702 z)) is within .01 of Φ(z)


class Borderline(NamedTuple):
    """What reading candidates is worth, and how likely they are the most similar.

    Attributes
    ----------
    worth, chance
        p·(1 − p) and (s − t)/σ of every candidate, −∞ where there is none, or where it
        is not looked at; the second where it was asked for.
    """

    worth: NDArray[np.float32]
    chance: NDArray[np.float32] | None


def borderline(
    found: Candidates,
    read: NDArray[np.float32],
    errors: ErrorsByPrior,
    *,
    sure: bool = False,
) -> Borderline:
    """Return what reading candidates is worth.

    ``read`` are the ten largest values that were read of every item (`best_values`),
    ``errors`` those of the candidates' scores; ``sure``: whether chances are asked for
    too. Price: O(n · 64) for each of 8 halvings, no evaluation.
    """
    n, m = found.score.shape
    worth, chance = (
        np.full((n, m) if asked else (0, m), -np.inf, dtype=np.float32)
        for asked in (True, sure)
    )
    width = min(m, LOOKED_AT)

    def look(start: int) -> None:
        part = slice(start, start + _ROWS)
        score, have = found.score[part], read[part]
        cheap = score if found.cheap is None else found.cheap[part]
        cheap = np.where(np.isfinite(score), cheap, np.float32(0))
        error = errors(cheap)
        if errors.tilt:
            score = score + np.float32(errors.tilt) * (
                cheap - np.float32(errors.middle)
            )
        top = largest(score + error, width)
        near, error = (np.take_along_axis(x, top, axis=1) for x in (score, error))
        level = _levels(near, have, error)
        live = np.isfinite(near)
        z = (near - level[:, None]) / error
        p = _likely(LOGISTIC * z)
        for array, values in ((worth, p * (1 - p)), (chance, z)):
            if len(array):
                near = np.where(live, values, -np.inf)
                np.put_along_axis(array[part], top, near, axis=1)

    in_threads(look, range(0, n, _ROWS))
    return Borderline(worth, chance if sure else None)


def _levels(
    near: NDArray[Any], have: NDArray[Any], error: NDArray[np.float32]
) -> NDArray[Any]:
    """Return the level of every item above which as many are expected as are wanted."""
    both = np.hstack([near, have])
    # So far below the last that is wanted, all of them lie above, and so far above it
    # none but those before it.
    far = 4 * error.max(axis=1)
    last = max(0, both.shape[1] - NEIGHBORS)
    around = np.partition(both, last, axis=1)[:, last]
    fewer = ~np.isfinite(around)
    if fewer.any():
        some = both[fewer]
        lowest = np.where(np.isfinite(some), some, np.inf).min(axis=1)
        around[fewer] = np.where(np.isfinite(lowest), lowest, 0.0)
    low, high = around - far, around + far
    steep = np.float32(LOGISTIC) / error
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        above = near - middle[:, None]
        above *= steep
        expected = _likely(above).sum(axis=1)
        expected += np.count_nonzero(have > middle[:, None], axis=1)
        more = expected > NEIGHBORS
        low, high = np.where(more, middle, low), np.where(more, high, middle)
    return np.asarray((low + high) / 2)


def _likely(z: NDArray[Any]) -> NDArray[Any]:
    """Return 1/(1 + exp(−z)), in single precision quicker than by special functions."""
    out = np.negative(z)
    with np.errstate(over="ignore"):  # of what is out of the question
        np.exp(out, out=out)
    out += 1
    return np.asarray(np.reciprocal(out, out=out))
