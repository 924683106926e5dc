"""Lines: whole columns or rows of a matrix."""

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fewpairs.kernels.linalg import scratch
from fewpairs.types import Indices

__all__ = ["Axis", "Lines", "lay"]

Axis = Literal["columns", "rows"]


@dataclass(frozen=True)
class Lines:
    """Whole columns (or rows) of the matrix: ``values[p]`` is line ``indices[p]``.

    ``sums`` and ``squares`` are those of each line without its diagonal entry.
    """

    indices: Indices
    values: NDArray[Any]
    position: NDArray[np.int32] = field(repr=False)
    sums: NDArray[np.float64] = field(repr=False)
    squares: NDArray[np.float64] = field(repr=False)

    @classmethod
    def of(cls, indices: Indices, values: NDArray[Any]) -> "Lines":
        """Index ``values``, an array of shape (k, n), by the lines it holds."""
        position = np.full(values.shape[1], -1, dtype=np.int32)
        position[indices] = np.arange(len(indices), dtype=np.int32)
        values.flags.writeable = False
        # Summed now, while the values are at hand: later they may be on disk.
        # In float64: squares of float32 values may be out of their range. Without the
        # diagonal: taken off afterwards, a large one would take everything with it.
        sums = np.zeros(len(values))
        squares = np.zeros(len(values))
        with np.errstate(over="ignore", under="ignore"):
            for part in scratch.parts(values.shape[1], len(values)):
                wide = scratch.rows_of(values.T, part).T.astype(np.float64)
                own = np.flatnonzero((part.start <= indices) & (indices < part.stop))
                wide[own, indices[own] - part.start] = 0.0
                sums += wide.sum(axis=1)
                squares += np.einsum("kn,kn->k", wide, wide)
        return cls(indices, values, position, sums, squares)

    @classmethod
    def with_holes(cls, indices: Indices, values: NDArray[Any]) -> "Lines":
        """Index lines of which some entries are missing: NaN."""
        position = np.full(values.shape[1], -1, dtype=np.int32)
        position[indices] = np.arange(len(indices), dtype=np.int32)
        nothing = np.empty(0)
        return cls(indices, values, position, nothing, nothing)


def lay(out: NDArray[Any], lines: Lines, own: Indices, along: Indices) -> None:
    """Write what lines with holes know into ``out``: a column a line."""
    position = lines.position[own]
    for at in np.flatnonzero(position >= 0):
        found = lines.values[position[at]][along]
        known = ~np.isnan(found)
        out[known, at] = found[known]
