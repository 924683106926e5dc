"""Guard: keeps predictions within what random pairs confirm."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Guard"]


class Guard(NamedTuple):
    """offset + slope · prediction, clipped to the interval from low to high.

    Predictions above the knee rise by ``steep`` from there on: random pairs say nothing
    of the few that lie there, what was read for looking similar does.
    """

    offset: float = 0.0
    slope: float = 1.0
    low: float = -np.inf
    high: float = np.inf
    knee: float = np.inf
    steep: float = 0.0

    def apply(self, values: NDArray[Any]) -> NDArray[Any]:
        """Apply it, in place."""
        number = values.dtype.type
        above = None
        if self.knee < np.inf:
            above = np.maximum(values, number(self.knee))
            above -= number(self.knee)
            above *= number(self.steep - self.slope)
        if self.slope != 1.0 or self.offset != 0.0:
            values *= number(self.slope)
            values += number(self.offset)
        if above is not None:
            values += above
        if self.low > -np.inf or self.high < np.inf:
            np.clip(values, self.low, self.high, out=values)
        return values
