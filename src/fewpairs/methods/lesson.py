"""Pairs, what is said of them before they are read, and what they turn out to be."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewpairs.similarity.base import Indices

__all__ = ["Clues", "Lesson"]


class Clues(NamedTuple):
    """Pairs (i[t], j[t]) and what is said of each for nothing.

    Attributes
    ----------
    base
        What prior and low rank say together.
    cheap
        What the prior says alone; ``None`` where there is none.
    """

    i: Indices
    j: Indices
    base: NDArray[Any]
    cheap: NDArray[Any] | None

    def some(self, where: Any) -> "Clues":
        """Return those of some of the pairs."""
        cheap = None if self.cheap is None else self.cheap[where]
        return Clues(self.i[where], self.j[where], self.base[where], cheap)

    def __len__(self) -> int:
        return len(self.i)


class Lesson:
    """Pairs that were paid for: clues and values."""

    def __init__(self) -> None:
        self._clues: list[Clues] = []
        self._values: list[NDArray[Any]] = []

    def add(self, clues: Clues, values: NDArray[Any]) -> None:
        """Add pairs."""
        self._clues.append(clues)
        self._values.append(values)

    def __add__(self, other: "Lesson") -> "Lesson":
        both = Lesson()
        both._clues = self._clues + other._clues
        both._values = self._values + other._values
        return both

    @property
    def clues(self) -> Clues:
        """The clues of all pairs, in the order in which they came."""
        i, j, base, cheap = zip(*self._clues, strict=True)
        return Clues(
            np.concatenate(i),
            np.concatenate(j),
            np.concatenate(base),
            None if cheap[0] is None else np.concatenate(cheap),
        )

    @property
    def values(self) -> NDArray[Any]:
        """The values of all pairs, in the same order."""
        return np.concatenate(self._values)

    def __len__(self) -> int:
        return sum(map(len, self._values))
