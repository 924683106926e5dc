"""Steps for rows of a long array of which a batch touches few.

Adam moves every parameter in every step, most of them by what is left of old gradients.
With a million rows of which a batch touches four thousand, that is nearly all the work.
Here a row moves when it is touched, at once and as far as Adam would by and by: a
gradient g adds (1 − β₁)·Σ β₁ᵏ·g = g to Adam's steps. So with v the same running mean of
squares as Adam's, brought up to date when its row is touched,

    v ← β₂^Δ·v + (1 − β₂)·g²;   θ ← θ − rate · g/(√v̂ + ε),   v̂ = v/(1 − β₂ᵗ),

Δ the steps since the row was touched last. The running average of rows that do not move
is a product of weights, which is made up for when they do.

References
----------
Kingma & Ba (2015), "Adam: a method for stochastic optimization".
"""

import math
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

__all__ = ["RowSteps"]

Array = NDArray[np.float32]

_SQUARE_DECAY, _EPSILON = 0.999, 1e-8


@final
class RowSteps:
    """The (n, d) parameters ``values``, which are changed in place.

    Price of a step: of order (rows touched) · d. Memory: the parameters twice more.
    """

    def __init__(self, values: Array, rate: float) -> None:
        self.values = values
        self._rate = rate
        self._square = np.zeros_like(values)
        self._touched = np.zeros(len(values), np.int32)  # step of the last time
        self._average: Array | None = None
        # What is left of an average's distance from values that stand still, now and
        # when a row was touched last.
        self._left = 1.0
        self._left_then = np.ones(len(values))
        self._steps = 0

    def step(
        self,
        positions: NDArray[np.int32],
        gradients: Array,
        factor: float,
        weight: float,
    ) -> None:
        """Take a step at ``factor`` times the rate.

        ``gradients`` are (m, d), of the rows at ``positions``, which may come again;
        ``weight`` is that of the new parameters in the running average.
        """
        self._steps += 1
        rows, place = np.unique(positions, return_inverse=True)
        g = _sums(place, gradients, len(rows))
        since = (self._steps - self._touched[rows])[:, None]
        v = self._square[rows] * np.float32(_SQUARE_DECAY) ** since.astype(np.float32)
        v += np.float32(1.0 - _SQUARE_DECAY) * g * g
        self._square[rows], self._touched[rows] = v, self._steps
        old = self.values[rows]
        root = math.sqrt(1.0 - _SQUARE_DECAY**self._steps)
        g *= np.float32(factor * self._rate * root)
        g /= np.sqrt(v) + np.float32(_EPSILON * root)
        new: Array = old - g
        self.values[rows] = new
        self._follow(rows, old, new, weight)

    def _follow(
        self, rows: NDArray[Any], old: Array, new: Array, weight: float
    ) -> None:
        """Bring the running average of these rows up to date."""
        if self._average is None or weight == 1.0:
            if weight > 0.0:
                self._average = self.values.copy()
                self._left = 1.0
                self._left_then[:] = 1.0
            return
        left = (self._left / self._left_then[rows])[:, None].astype(np.float32)
        before = old - (old - self._average[rows]) * left
        self._average[rows] = before + np.float32(weight) * (new - before)
        self._left *= 1.0 - weight
        self._left_then[rows] = self._left

    @property
    def result(self) -> Array:
        """The running average, or the parameters where none was begun."""
        if self._average is None:
            return self.values
        left = (self._left / self._left_then)[:, None].astype(np.float32)
        return np.asarray(self.values - (self.values - self._average) * left)


def _sums(place: NDArray[Any], gradients: Array, n: int) -> Array:
    m = len(place)
    once = (np.ones(m, np.float32), place, np.arange(m + 1))
    sums: Any = sparse.csc_array(once, shape=(n, m)) @ gradients
    return np.asarray(sums)
