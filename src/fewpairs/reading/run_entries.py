"""RunEntries: what a run has read, in front of what its ledger knows."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewpairs.matrix.entries import Entries
from fewpairs.matrix.lines import Axis
from fewpairs.types import Indices

__all__ = ["ReadSoFar", "RunEntries"]


class ReadSoFar(NamedTuple):
    """What a run has read, and whether the similarity was found symmetric."""

    entries: Entries
    symmetric: bool


class RunEntries:
    """Entries of one run and of its ledger, which are the same without other runs.

    What is asked of the matrix is looked up in the ledger, and paid for where it is
    not there. The run keeps its own record of what it asked for, so that its result
    and the grid of its chunks do not depend on what else the ledger knows.

    Attributes
    ----------
    read
        Every entry that the run has read, paid for now or before.
    known
        Every entry that the ledger knows.
    """

    def __init__(self, read: Entries, known: Entries) -> None:
        self.read, self.known = read, known

    @property
    def shared(self) -> bool:
        """Whether the ledger may know more than the run has read."""
        return self.read is not self.known

    # --- pairs and blocks --------------------------------------------------------

    def overlay(
        self, V: NDArray[Any], rows: Indices, columns: Indices
    ) -> NDArray[np.bool_]:
        """Fill in what the ledger knows; return what the run has not read."""
        mine = V
        if self.shared:
            mine = np.full(V.shape, np.nan)
            self.read.overlay(mine, rows, columns)
        self.known.overlay(V, rows, columns)
        return np.asarray(np.isnan(mine))

    def lookup(self, i: Indices, j: Indices) -> NDArray[np.float64]:
        """Return what the ledger knows of pairs that the run has not read, or NaN."""
        values = np.full(len(i), np.nan)
        if self.shared:
            known, found = self.known.lookup(i, j)
            values[known] = found[known]
        return values

    def enter(self, i: Indices, j: Indices, values: NDArray[Any]) -> None:
        """Enter pairs that were just evaluated; NaN marks those that were not."""
        done = np.isfinite(values)
        self.known.add_pairs(i[done], j[done], values[done])

    def take(self, i: Indices, j: Indices, values: NDArray[Any]) -> None:
        """Keep pairs of the ledger as read by this run."""
        if self.shared:
            off = i != j if self.read.diagonal is not None else np.ones(i.shape, bool)
            self.read.add_pairs(i[off], j[off], values[off])

    # --- lines -------------------------------------------------------------------

    def unread_in_lines(self, indices: Indices, axis: Axis) -> tuple[int, int]:
        """Return how many entries the run has not read, and on the diagonal."""
        unread = indices[~self.read.has_lines(indices, axis)]
        return self.read.missing_in_lines(unread, axis) if len(unread) else (0, 0)

    def missing_lines(self, indices: Indices, axis: Axis) -> Indices:
        """Return the lines that the ledger does not know as a whole."""
        return indices[~self.known.has_lines(indices, axis)]

    def knows_no_more(self, indices: Indices, axis: Axis) -> bool:
        """Whether the ledger knows no more of these lines than the run has read."""
        if any(self.known.partial.values()):
            return False
        return not self.shared or self.known.missing_in_lines(
            indices, axis
        ) == self.read.missing_in_lines(indices, axis)

    def take_lines(self, indices: Indices, axis: Axis) -> NDArray[Any]:
        """Return lines that the ledger knows, and keep them as read by this run."""
        values = self.known.lines(indices, axis)
        if self.shared:
            new = ~self.read.has_lines(indices, axis)
            fresh = values if new.all() else values[new]
            self.read.add_lines(indices[new], fresh, axis)
        return values
