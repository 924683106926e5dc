"""Errors by the prior: how far predictions miss, of pairs that a prior puts alike.

Of pairs that look unlike, predictions are nearly right, as there is little to miss; of
those that look alike some are near-duplicates and some are not. So a prediction of the
one kind far below a level is surely below it, and one of the other kind is not.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from fewpairs.kernels.linalg.broken_line import broken_line

__all__ = ["ErrorsByPrior"]

_FEWEST = 50  # pairs that tell an error
_LEAST = 1e-3  # of the largest error, that any is taken to be


class ErrorsByPrior(NamedTuple):
    """Root mean squared errors at values of the prior, linear between them.

    Attributes
    ----------
    places, sizes
        Values of the prior, rising, and the errors there.
    tilt, middle
        w and m: what chooses takes a pair to be by w·(c − m) more similar than it is
        predicted to be, c its prior (`tilting`).
    """

    places: NDArray[np.float64]
    sizes: NDArray[np.float64]
    tilt: float = 0.0
    middle: float = 0.0

    @classmethod
    def told_by(
        cls, cheap: Sequence[NDArray[Any]], missed: Sequence[NDArray[Any]]
    ) -> Self:
        """Return the errors of pairs by how far each was missed.

        The lower half of them by the prior, the lower half of the rest, and so on.
        """
        c = np.concatenate(cheap).astype(np.float64)
        order = np.argsort(c, kind="stable")
        squares = np.square(np.concatenate(missed).astype(np.float64))[order]
        cuts = [0]
        while len(c) - cuts[-1] > 2 * _FEWEST:
            cuts.append((len(c) + cuts[-1] + 1) // 2)
        number = np.diff([*cuts, len(c)])
        places = np.add.reduceat(c[order], cuts) / number
        sizes = np.sqrt(np.add.reduceat(squares, cuts) / number)
        return cls(places, np.maximum(sizes, _LEAST * float(sizes.max()) + 1e-30))

    def __call__(self, cheap: NDArray[Any]) -> NDArray[np.float32]:
        """Return the errors of predictions of pairs."""
        return broken_line(cheap, self.places, self.sizes)
