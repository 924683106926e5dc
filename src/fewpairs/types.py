"""Types that every folder uses."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["Column", "Empty", "Ids", "Indices"]

# Positions of items.
Indices = NDArray[np.int64]
# Which column of a table holds the items, or what makes an item of a row.
Column = str | int | Callable[[Any], Any] | None
# Which column names the rows, or their names.
Ids = str | int | Sequence[Any] | NDArray[Any] | None
# What becomes of missing texts.
Empty = Literal["error", "drop"]
