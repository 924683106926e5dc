"""Pairs that were paid for, to train on: inputs and values."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.model.pair_inputs import PairInputs

__all__ = ["TrainingPairs"]


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

    def some(self, where: Any) -> "TrainingPairs":
        """Return some of the pairs."""
        out = TrainingPairs()
        out.add(self.inputs.some(where), self.values[where])
        return out

    def evenly(self, most: int) -> "TrainingPairs":
        """Return not too many of them, evenly spread."""
        step = -(-len(self) // most)
        return self if step <= 1 else self.some(slice(None, None, step))

    @property
    def inputs(self) -> PairInputs:
        """The inputs of all pairs, in the order in which they came."""
        if len(self._inputs) != 1:
            self._inputs = [PairInputs.joined(self._inputs)]
        return self._inputs[0]

    @property
    def values(self) -> NDArray[Any]:
        """The values of all pairs, in the same order."""
        if len(self._values) != 1:
            self._values = [np.concatenate(self._values)]
        return self._values[0]

    def __len__(self) -> int:
        return sum(map(len, self._values))
