"""Pairs, what is said of them before they are read, and what they turn out to be."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewpairs.types import Indices

__all__ = ["PairInputs", "TrainingPairs"]


class PairInputs(NamedTuple):
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

    def some(self, where: Any) -> "PairInputs":
        """Return those of some of the pairs."""
        cheap = None if self.cheap is None else self.cheap[where]
        return PairInputs(self.i[where], self.j[where], self.base[where], cheap)

    def __len__(self) -> int:
        return len(self.i)


class TrainingPairs:
    """Pairs that were paid for: inputs and values."""

    def __init__(self) -> None:
        self._inputs: list[PairInputs] = []
        self._values: list[NDArray[Any]] = []

    def add(self, inputs: PairInputs, values: NDArray[Any]) -> None:
        """Add pairs."""
        self._inputs.append(inputs)
        self._values.append(values)

    def __add__(self, other: "TrainingPairs") -> "TrainingPairs":
        both = TrainingPairs()
        both._inputs = self._inputs + other._inputs
        both._values = self._values + other._values
        return both

    @property
    def inputs(self) -> PairInputs:
        """The inputs of all pairs, in the order in which they came."""
        i, j, base, cheap = zip(*self._inputs, strict=True)
        return PairInputs(
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
