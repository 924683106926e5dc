"""Near misses: the pairs just below a threshold, as many as one would look at."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.answers.evaluated import Pairs
from fewpairs.types import Indices

__all__ = ["NearMisses"]

_MOST = 1_000
_WAITING = 8 * _MOST


class NearMisses:
    """The 1,000 most similar pairs of those that are handed over.

    Which they are does not depend on the parts in which pairs come: of equal ones,
    those at lower positions stay.

    Parameters
    ----------
    floor
        What lies below is not looked at.

    Examples
    --------
    >>> import numpy as np
    >>> from fewpairs.answers.near_misses import NearMisses
    >>> near = NearMisses(0.5)
    >>> near.add(np.array([0, 0]), np.array([1, 2]), np.array([0.4, 0.7]))
    >>> near.pairs().right.tolist()
    [2]
    """

    def __init__(self, floor: float) -> None:
        self.floor = floor
        self._parts: list[Pairs] = []
        self._number = 0

    def add(self, i: Indices, j: Indices, values: NDArray[Any]) -> None:
        """Look at some pairs."""
        good = np.flatnonzero(values >= self.floor)
        if len(good):
            found = Pairs(i[good], j[good], values[good].astype(np.float64))
            self._parts.append(found)
            self._number += len(good)
        if self._number > _WAITING:
            self._cut()

    def pairs(self) -> Pairs:
        """Return those that are kept, the most similar first."""
        self._cut()
        return self._parts[0] if self._parts else Pairs.none()

    def _cut(self) -> None:
        whole = Pairs.none()
        for part in self._parts:
            whole = whole.plus(part)
        kept = whole.sorted().at(slice(_MOST))
        self._parts, self._number = [kept], kept.number
        if kept.number == _MOST:
            self.floor = float(kept.similarity[-1])
