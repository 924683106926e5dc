"""Reader: what a rival reads of the matrix, counted, and never beyond its budget."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.few.sets import DataSet

__all__ = ["OverBudgetError", "Partners", "Reader", "first_of_each"]

Array = NDArray[Any]


class OverBudgetError(Exception):
    """A contender asked for more than it may read."""


class Partners(NamedTuple):
    """Known partners of every item, the most similar first, in one long list."""

    start: Array
    other: Array
    value: Array


@dataclass
class Reader:
    """Distinct pairs of a data set with their values, at most ``allowed`` of them.

    A pair is known by ``min·n + max``; known pairs are never evaluated again.
    """

    data: DataSet
    allowed: int
    keys: Array = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    values: Array = field(default_factory=lambda: np.empty(0))
    proposed: Array = field(default_factory=lambda: np.empty(0, dtype=bool))

    @property
    def left(self) -> int:
        """How many pairs may still be read."""
        return self.allowed - len(self.keys)

    def unread(self, i: Array, j: Array) -> Array:
        """Return the keys of distinct pairs that are unknown, in the order given."""
        keys = self._keys(i, j)
        keys = keys[i != j]
        _, first = np.unique(keys, return_index=True)
        keys = keys[np.sort(first)]
        return np.asarray(keys[~self._found(keys)[0]])

    def read(self, keys: Array, *, proposed: bool = True) -> None:
        """Evaluate unknown pairs, ``proposed`` as neighbors or drawn at random."""
        if len(keys) > self.left:
            msg = f"{len(keys):,} pairs asked for, {self.left:,} of the budget are left"
            raise OverBudgetError(msg)
        n = self.data.n
        values = self.data.score(keys // n, keys % n)
        every = np.concatenate([self.keys, keys])
        order = np.argsort(every, kind="stable")
        self.keys = every[order]
        if np.any(np.diff(self.keys) == 0):
            msg = "a pair was asked for twice"
            raise AssertionError(msg)
        self.values = np.concatenate([self.values, values])[order]
        flags = np.full(len(keys), proposed)
        self.proposed = np.concatenate([self.proposed, flags])[order]

    def propose(self, i: Array, j: Array, limit: int | None = None) -> int:
        """Read what is unknown of these pairs, the first ``limit`` of them.

        Return how many were read; pairs that a random draw has read become proposed.
        """
        found, at = self._found(self._keys(i, j))
        self.proposed[at[found]] = True
        keys = self.unread(i, j)
        keys = keys[: self.left if limit is None else min(limit, self.left)]
        self.read(keys)
        return len(keys)

    def draw(self, number: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
        """Read random pairs; return them with their values."""
        n = self.data.n
        number = min(number, self.left)
        drawn = np.empty(0, dtype=np.int64)
        while len(drawn) < number:
            i, j = rng.integers(n, size=(2, 2 * number))
            drawn = self.unread(i, j)
        self.read(drawn[:number], proposed=False)
        i, j = drawn[:number] // n, drawn[:number] % n
        return i, j, self.look_up(i, j)[1]

    def look_up(self, i: Array, j: Array) -> tuple[Array, Array]:
        """Return which pairs are known, and the values of all (0 for the others)."""
        found, at = self._found(self._keys(i, j))
        values = np.zeros(len(found))
        values[found] = self.values[at[found]]
        return found, values

    def partners(self, *, proposed: bool = True) -> Partners:
        """Return what is known of every item, of all pairs or the proposed ones."""
        n = self.data.n
        chosen = self.proposed if proposed else np.ones(len(self.keys), dtype=bool)
        i, j = self.keys[chosen] // n, self.keys[chosen] % n
        one, other = np.concatenate([i, j]), np.concatenate([j, i])
        value = np.tile(self.values[chosen], 2)
        order = np.lexsort((-value, one))
        start = np.searchsorted(one[order], np.arange(n + 1))
        return Partners(start, other[order], value[order])

    def _keys(self, i: Array, j: Array) -> Array:
        i, j = np.asarray(i, dtype=np.int64), np.asarray(j, dtype=np.int64)
        return np.asarray(np.minimum(i, j) * self.data.n + np.maximum(i, j))

    def _found(self, keys: Array) -> tuple[Array, Array]:
        if not len(self.keys):
            return np.zeros(len(keys), dtype=bool), np.zeros(len(keys), dtype=np.int64)
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return self.keys[at] == keys, at


def first_of_each(start: Array, other: Array, width: int) -> Array:
    """Return the first ``width`` entries of every list, −1 where it is shorter."""
    place = start[:-1, None] + np.arange(width)[None]
    inside = place < start[1:, None]
    if not len(other):
        return np.full(place.shape, -1)
    return np.where(inside, other[np.minimum(place, len(other) - 1)], -1)
