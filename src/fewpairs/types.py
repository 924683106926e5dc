"""Types that every folder uses."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["Indices"]

# Positions of items.
Indices = NDArray[np.int64]
