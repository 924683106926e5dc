"""Guard: keeps predictions within what random pairs confirm."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Guard"]


class Guard(NamedTuple):
    """offset + slope · prediction, clipped to the interval from low to high."""

    offset: float = 0.0
    slope: float = 1.0
    low: float = -np.inf
    high: float = np.inf

    def apply(self, values: NDArray[Any]) -> NDArray[Any]:
        """Apply it, in place."""
        if self.slope != 1.0 or self.offset != 0.0:
            values *= values.dtype.type(self.slope)
            values += values.dtype.type(self.offset)
        if self.low > -np.inf or self.high < np.inf:
            np.clip(values, self.low, self.high, out=values)
        return values
