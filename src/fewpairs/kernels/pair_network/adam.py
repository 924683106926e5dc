"""AdamW with a running average, on one long vector of float32 parameters.

Updated in stretches that fit a core's cache, side by side: a dozen elementwise passes
over all parameters would otherwise read them from memory a dozen times.

References
----------
Loshchilov & Hutter (2019), "Decoupled weight decay regularization".
"""

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from fewpairs.kernels.linalg.blas_threads import Threads

__all__ = ["Adam", "Group", "averaging_weight", "rate_factor"]

Array = NDArray[np.float32]

# Parameters that are updated at a time: their six arrays take 768 KB.
_STRETCH = 32_768
_WARM_UP = 50
_AVERAGED_FROM = 0.4
_MEAN_DECAY, _SQUARE_DECAY, _EPSILON = 0.9, 0.999, 1e-8


def rate_factor(step: int, steps: int) -> float:
    """Return min(1, (t+1)/50) · √(1 − t/steps): warm up, then fall to nothing."""
    return min(1.0, (step + 1) / _WARM_UP) * math.sqrt(1.0 - step / steps)


def averaging_weight(step: int, steps: int, average: float) -> float:
    """Return the weight of a step's parameters in their running average.

    It is 0 for the first 40 % of the steps, then max(1 − average, 1/(k+1)) for the
    k-th after them: the plain mean at first, an exponential one later.
    """
    k = step - math.ceil(_AVERAGED_FROM * steps)
    return 0.0 if k < 0 else max(1.0 - average, 1.0 / (k + 1))


@dataclass(frozen=True, eq=False)
class Group:
    """Neighboring parameters with the same settings.

    Their gradient is the sum of the vectors in ``gradients``, each read from
    ``offset`` on. The list may be given other vectors between the steps.
    """

    size: int
    gradients: list[Array]
    offset: int
    rate: float
    decay: float


@final
class Adam:
    """The parameters ``values`` and what is kept of each.

    m ← β₁m + (1−β₁)g;  v ← β₂v + (1−β₂)g²;  θ ← (1 − rate·decay)θ;
    θ ← θ − rate · m̂/(√v̂ + ε)  with m̂ = m/(1−β₁ᵗ), v̂ = v/(1−β₂ᵗ).
    """

    def __init__(self, values: Array, groups: list[Group]) -> None:
        self.values = values
        self._mean = np.zeros_like(values)
        self._square = np.zeros_like(values)
        self._average = np.empty_like(values)
        self._averaging = False
        self._steps = 0
        self._stretches = []
        start = 0
        for group in groups:
            for at in range(0, group.size, _STRETCH):
                width = min(_STRETCH, group.size - at)
                self._stretches.append((group, start + at, group.offset + at, width))
            start += group.size

    @property
    def result(self) -> Array:
        """The running average, or the parameters where none was begun."""
        return self._average if self._averaging else self.values

    def step(self, threads: Threads, factor: float, weight: float) -> None:
        """Take a step at ``factor`` times the groups' rates.

        ``weight`` is that of the new parameters in the running average.
        """
        self._steps += 1
        self._averaging |= weight > 0.0
        mean_bias = 1.0 - _MEAN_DECAY**self._steps
        root = math.sqrt(1.0 - _SQUARE_DECAY**self._steps)

        def update(stretch: tuple[Group, int, int, int]) -> None:
            group, start, offset, width = stretch
            where = slice(start, start + width)
            g = group.gradients[0][offset : offset + width].copy()
            for other in group.gradients[1:]:
                g += other[offset : offset + width]
            value, rate = self.values[where], factor * group.rate
            mean, square = self._mean[where], self._square[where]
            change = g * np.float32(1.0 - _MEAN_DECAY)
            mean *= np.float32(_MEAN_DECAY)
            mean += change
            np.multiply(g, g, out=g)
            g *= np.float32(1.0 - _SQUARE_DECAY)
            square *= np.float32(_SQUARE_DECAY)
            square += g
            # m̂/(√v̂ + ε), both corrections drawn into numbers.
            np.sqrt(square, out=g)
            g += np.float32(_EPSILON * root)
            np.divide(mean, g, out=change)
            change *= np.float32(rate * root / mean_bias)
            if group.decay:
                value *= np.float32(1.0 - rate * group.decay)
            value -= change
            if weight == 1.0:
                self._average[where] = value
            elif weight > 0.0:
                np.subtract(value, self._average[where], out=change)
                change *= np.float32(weight)
                self._average[where] += change

        threads.each(update, self._stretches)
