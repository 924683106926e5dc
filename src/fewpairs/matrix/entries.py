"""Entries: the known part of an n×n matrix, as whole lines and scattered pairs."""

import copy
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fewpairs.kernels.linalg import scratch
from fewpairs.kernels.linalg.blas_threads import in_threads
from fewpairs.kernels.linalg.selection import places_among
from fewpairs.matrix import laying
from fewpairs.matrix.earlier import Earlier
from fewpairs.matrix.lines import Axis, Lines
from fewpairs.matrix.moments import Moments, count_moments
from fewpairs.matrix.sampling import sample_unknown
from fewpairs.matrix.scattered import merged, position_table
from fewpairs.matrix.sides import Sides
from fewpairs.types import Indices

__all__ = ["Axis", "Entries", "Lines", "Moments"]

# Positions of entries among values, counted from 1, and the values.
_Table = tuple[sparse.csr_array, NDArray[np.float64]]

_LOOKED_UP = 1 << 20  # entries that a thread looks up at a time


class Entries:
    """Known entries of an n×n matrix; a symmetric one keeps each pair once.

    Any number of threads may look while others add: scattered entries are sorted under
    a lock, and handed out as arrays that never change.

    Parameters
    ----------
    n
        Size of the matrix.
    symmetric
        Whether K[i, j] = K[j, i]; an entry is then known with its mirror.
    diagonal
        The value of the whole diagonal where it is declared, else ``None``.
    split
        Of two sets, the position of the first right item (`Sides`); ``None``: one set.
    """

    def __init__(
        self,
        n: int,
        *,
        symmetric: bool,
        diagonal: float | None = None,
        split: int | None = None,
    ) -> None:
        self.n = n
        self.sides = None if split is None else Sides(split, n)
        self.symmetric = symmetric
        self.diagonal = diagonal
        self.columns: list[Lines] = []
        self.rows: list[Lines] = []
        # Lines with holes: what a run that was stopped leaves in a ledger.
        self.partial: dict[Axis, list[Lines]] = {"columns": [], "rows": []}
        self._sorted = np.empty(0, dtype=np.int64), np.empty(0)  # keys, values
        self.earlier: Earlier | None = None  # what it grows from, while it does
        self.drawn: dict[str, Indices] = {}  # keys of random pairs, by what for
        self._added: list[tuple[Indices, NDArray[Any]]] = []
        self._table: _Table | None = None
        self._moments: Moments | None = None
        self._lock = threading.RLock()

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the lock, which belongs to this process."""
        return {**self.__dict__, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Have a lock of one's own."""
        self.__dict__.update(state, _lock=threading.RLock())

    # --- writing ---------------------------------------------------------------

    def add_lines(
        self, indices: Indices, values: NDArray[Any], axis: Axis = "columns"
    ) -> None:
        """Keep whole lines; ``values`` of shape (k, n) is kept, not copied."""
        if len(indices):
            lines = Lines.of(indices, values)
            with self._lock:
                self._lines(axis).append(lines)
                self._moments = None

    def add_pairs(self, i: Indices, j: Indices, values: NDArray[Any]) -> None:
        """Keep scattered entries; some of them may be known already."""
        if len(i):
            more = self.keys(i, j), np.asarray(values, dtype=np.float64)
            with self._lock:
                self._added.append(more)
                self._table = self._moments = None

    def add_partial(
        self, indices: Indices, values: NDArray[Any], axis: Axis = "columns"
    ) -> None:
        """Keep lines of which not all is known: NaN marks what is missing.

        They are looked up and filled in from, and take no part in anything else.
        """
        side: Axis = "columns" if self.symmetric else axis
        self.partial[side].append(Lines.with_holes(indices, values))

    def drop_partial(self, indices: Indices, axis: Axis) -> None:
        """Forget lines with holes that have been completed."""
        side: Axis = "columns" if self.symmetric else axis
        with self._lock:
            self.partial[side] = [
                lines
                for lines in self.partial[side]
                if not np.array_equal(lines.indices, indices)
            ]

    def transformed(self, function: Callable[[Any], Any]) -> "Entries":
        """Return the same entries with ``function`` applied to every value."""
        diagonal = self.diagonal
        if diagonal is not None:
            diagonal = float(function(np.array([diagonal]))[0])
        out = self.like(diagonal)
        sides: list[tuple[Axis, list[Lines]]]
        sides = [("columns", self.columns), ("rows", self.rows)]
        for axis, blocks in sides:
            for lines in blocks:
                out.add_lines(lines.indices, function(lines.values), axis)
            for lines in self.partial[axis]:
                out.add_partial(lines.indices, function(lines.values), axis)
        keys, values = self.scattered()
        out.add_pairs(*self.ends(keys), function(values))
        return out

    # --- reading ---------------------------------------------------------------

    def has_lines(self, indices: Indices, axis: Axis = "columns") -> NDArray[np.bool_]:
        """Tell which of these lines are known as a whole."""
        known = np.zeros(len(indices), dtype=bool)
        for lines in self._lines(axis):
            known |= lines.position[indices] >= 0
        return known

    def line_indices(self, axis: Axis = "columns") -> Indices:
        """Return which lines are known as a whole."""
        known = [lines.indices for lines in self._lines(axis)]
        return np.concatenate(known) if known else np.empty(0, dtype=np.int64)

    def lines(self, indices: Indices, axis: Axis = "columns") -> NDArray[Any]:
        """Return known lines, shape (k, n), without a copy where one block has them."""
        blocks = self._lines(axis)
        for block in blocks:
            if np.array_equal(block.indices, indices):
                return block.values
        largest = max(blocks, key=lambda block: block.values.size).values
        out = scratch.lines_like(largest, len(indices), self._dtype(blocks))
        for block in blocks:
            position = block.position[indices]
            here = np.flatnonzero(position >= 0)
            for part in scratch.parts(self.n, len(here)):
                out[here, part] = block.values[position[here], part]
                scratch.drop(out, block.values)
        return out

    def lookup(
        self, i: Indices, j: Indices
    ) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Return which of the entries (i[t], j[t]) are known, and their values."""
        known, values = np.zeros(i.shape, dtype=bool), np.zeros(i.shape)
        if i.ndim == 1 and len(i) > _LOOKED_UP:

            def look(start: int) -> None:
                part = slice(start, start + _LOOKED_UP)
                known[part], values[part] = self.lookup(i[part], j[part])

            self.scattered()  # sorted before several threads look
            in_threads(look, range(0, len(i), _LOOKED_UP))
            return known, values
        if self.diagonal is not None:
            known |= i == j
            values[known] = self.diagonal
        if self.sides is not None:
            known |= self.sides.within(i, j)
        for lines, line, along in self._views(i, j, holes=True):
            position = lines.position[line]
            hit = np.flatnonzero((position >= 0) & ~known)
            found = lines.values[position[hit], along[hit]]
            whole = ~np.isnan(found)
            values[hit[whole]] = found[whole]
            known[hit[whole]] = True
        keys, scattered = self.scattered()
        if len(keys):
            wanted = self.keys(i, j)
            at = np.minimum(places_among(keys, wanted), len(keys) - 1)
            hit = np.flatnonzero((keys[at] == wanted) & ~known)
            values[hit] = scattered[at[hit]]
            known[hit] = True
        return known, values

    def overlay(self, out: NDArray[Any], rows: Indices, columns: Indices) -> None:
        """Write every known entry of the block ``rows`` × ``columns`` into ``out``."""
        laying.overlay(self, out, rows, columns)

    def hide(self, out: NDArray[Any], rows: Indices, first: int = 0) -> None:
        """Write −∞ into whole rows wherever an entry is known, and where is no pair.

        ``first`` is the item that the first column of ``out`` stands for.
        """
        laying.hide(self, out, rows, first)

    @property
    def seekers(self) -> tuple[Indices, Indices]:
        """Items that look for partners, and their possible partners, in order.

        All of one set; of two sets left items look among right ones.
        """
        everything = np.arange(self.n)
        if self.sides is None:
            return everything, everything
        return everything[self.sides.left], everything[self.sides.right]

    def like(self, diagonal: float | None = None) -> "Entries":
        """Return entries of a matrix of the same form, of which nothing is known."""
        split = self.split
        return Entries(self.n, symmetric=self.symmetric, diagonal=diagonal, split=split)

    @property
    def split(self) -> int | None:
        """Position of the first right item, of two sets."""
        return None if self.sides is None else self.sides.split

    @property
    def old(self) -> int:
        """How many items are not compared with each other any more (`Earlier`)."""
        return 0 if self.earlier is None else self.earlier.n

    def is_old(self, items: Indices) -> NDArray[np.bool_]:
        """Tell which items are not compared with each other any more."""
        earlier, none = self.earlier, np.zeros(items.shape, dtype=bool)
        return none if earlier is None else earlier.holds(self, items)

    def unread(self, i: Indices, j: Indices) -> NDArray[np.bool_]:
        """Tell which pairs are not known, and may be read."""
        return ~self.lookup(i, j)[0] & ~(self.is_old(i) & self.is_old(j))

    def copy(self) -> "Entries":
        """Return entries that can be added to without changing these."""
        out = self.like(self.diagonal)
        with self._lock:
            out.columns, out.rows = list(self.columns), list(self.rows)
            out.partial = {axis: list(lines) for axis, lines in self.partial.items()}
            out._sorted = self.scattered()
            out._moments = self._moments
        out.earlier, out.drawn = copy.deepcopy(self.earlier), dict(self.drawn)
        return out

    def scattered(self) -> tuple[Indices, NDArray[np.float64]]:
        """Return keys i·n + j (i ≤ j when symmetric), sorted, and their values."""
        with self._lock:
            if self._added:
                keys, values = (
                    np.concatenate(side) for side in zip(*self._added, strict=True)
                )
                keys, first = np.unique(keys, return_index=True)
                self._sorted = merged(*self._sorted, keys, values[first])
                self._added = []
            return self._sorted

    def fill_lines(
        self, out: NDArray[Any], indices: Indices, axis: Axis = "columns"
    ) -> None:
        """Write what is known of these lines into ``out``, of shape (k, n)."""
        laying.fill_lines(self, out, indices, axis)

    def off_lines(
        self, indices: Indices, axis: Axis = "columns"
    ) -> tuple[NDArray[np.bool_], Indices, Indices]:
        """Return where these lines cross no known line, nor each other's mirrors.

        And the entries that are known there nevertheless: which line, where on it. Of
        two sets, lines of one side.
        """
        across: Axis = "rows" if axis == "columns" else "columns"
        rest = np.ones(self.n, dtype=bool)
        rest[self.line_indices(across)] = False
        if self.symmetric:
            rest[indices] = False
        if self.sides is not None and len(indices):
            first = indices[0] < self.sides.split
            rest[self.sides.left if first else self.sides.right] = False
        line, where, _ = self.scattered_in_lines(indices, axis)
        if self.diagonal is not None:
            line = np.concatenate([line, np.arange(len(indices))])
            where = np.concatenate([where, indices])
        return rest, line[rest[where]], where[rest[where]]

    def missing_in_lines(
        self, indices: Indices, axis: Axis = "columns"
    ) -> tuple[int, int]:
        """Return how many entries of these lines are unknown, and of the diagonal.

        Mirrors count once. Lines with holes are not looked at.
        """
        return laying.missing_in_lines(self, indices, axis)

    def scattered_in_lines(
        self, indices: Indices, axis: Axis = "columns"
    ) -> tuple[Indices, Indices, NDArray[np.float64]]:
        """Return the scattered entries of these lines: which line, where, value."""
        table, values = self.scattered_table()
        if axis == "columns" and not self.symmetric:
            table = sparse.csr_array(table.T)
        part = table[indices].tocoo()
        return (
            part.row.astype(np.int64),
            part.col.astype(np.int64),
            values[part.data - 1],
        )

    def uncovered(self) -> tuple[Indices, Indices, NDArray[np.float64]]:
        """Return the scattered entries that lie in no known line: i, j, value."""
        keys, values = self.scattered()
        i, j = self.ends(keys)
        covered = np.zeros(len(keys), dtype=bool)
        for lines, line, _ in self._views(i, j):
            covered |= lines.position[line] >= 0
        if self.diagonal is not None:
            covered |= i == j
        return i[~covered], j[~covered], values[~covered]

    # --- counting --------------------------------------------------------------

    @property
    def pairs(self) -> int:
        """Number of off-diagonal entries that the matrix has, mirrors once."""
        if self.sides is not None:
            return self.sides.pairs
        ordered = self.n * (self.n - 1)
        return ordered // 2 if self.symmetric else ordered

    def moments(self) -> Moments:
        """Return number, sum and sum of squares of the known off-diagonal entries."""
        with self._lock:
            if self._moments is None:
                self._moments = count_moments(self)
            return self._moments

    def sample_unknown(
        self, size: int, rng: np.random.Generator
    ) -> tuple[Indices, Indices]:
        """Draw distinct off-diagonal entries that are not known, uniformly."""
        return sample_unknown(self, size, rng)

    # --- inside ----------------------------------------------------------------

    def _lines(self, axis: Axis) -> list[Lines]:
        return self.columns if self.symmetric or axis == "columns" else self.rows

    def _views(
        self, i: Indices, j: Indices, *, holes: bool = False
    ) -> list[tuple[Lines, Indices, Indices]]:
        """All ways in which a line may hold (i, j): lines, which line, where on it."""
        down, across = self._sides(holes=holes)
        views = [(lines, j, i) for lines in down]
        return views + [(lines, i, j) for lines in across]

    def _sides(self, *, holes: bool = False) -> tuple[list[Lines], list[Lines]]:
        """Return what there is of columns and of rows, mirrors too."""
        down, across = self.columns, self.rows
        if holes:
            down = down + self.partial["columns"]
            across = across + self.partial["rows"]
        return down, down if self.symmetric else across

    def keys(self, i: Indices, j: Indices) -> Indices:
        """Return i·n + j, of mirrors (i ≤ j) where the matrix is symmetric."""
        if self.symmetric:
            i, j = np.minimum(i, j), np.maximum(i, j)
        return np.asarray(i * self.n + j)

    def ends(self, keys: Indices) -> tuple[Indices, Indices]:
        """Return i and j of keys i·n + j."""
        return keys // self.n, keys % self.n

    def scattered_table(self) -> _Table:
        """Return where the scattered entries are, mirrors too, and their values."""
        with self._lock:
            if self._table is None:
                keys, values = self.scattered()
                table = position_table(keys, self.n, mirrored=self.symmetric)
                self._table = table, values
            return self._table

    @staticmethod
    def _dtype(blocks: list[Lines]) -> np.dtype[Any]:
        return np.result_type(*(block.values.dtype for block in blocks))
