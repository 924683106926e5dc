"""Sides: two sets on one axis, of which only a left and a right item make a pair."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.types import Indices

__all__ = ["Sides"]


class Sides:
    """Items 0 to split − 1 are left ones, the others right ones.

    What is within a side is no pair. Where arrays have places for it, it counts as
    known and is 0, as the diagonal counts as known where it is declared.

    Parameters
    ----------
    split, n
        Position of the first right item, and the number of all items.

    Examples
    --------
    >>> import numpy as np
    >>> from fewpairs.matrix.sides import Sides
    >>> Sides(2, 5).within(np.array([0, 0]), np.array([1, 4])).tolist()
    [True, False]
    """

    def __init__(self, split: int, n: int) -> None:
        self.split, self.n = split, n

    @property
    def left(self) -> slice:
        """Positions of left items."""
        return slice(0, self.split)

    @property
    def right(self) -> slice:
        """Positions of right items."""
        return slice(self.split, self.n)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of left items, and of right ones."""
        return self.split, self.n - self.split

    @property
    def pairs(self) -> int:
        """Number of pairs."""
        return self.split * (self.n - self.split)

    def within(self, i: Indices, j: Indices) -> NDArray[np.bool_]:
        """Tell which pairs of positions are none: both are of one side."""
        return np.asarray((i < self.split) == (j < self.split))

    def along(self, lines: Indices) -> int:
        """Return how many entries whole lines have together."""
        left = int(np.count_nonzero(lines < self.split))
        return left * (self.n - self.split) + (len(lines) - left) * self.split

    def parted(self, items: Indices) -> list[Indices]:
        """Return items of the left side and those of the right, where there are any."""
        is_left = items < self.split
        parts = items[is_left], items[~is_left]
        return [part for part in parts if len(part)]

    def blank(self, out: NDArray[Any], rows: Indices, value: float = 0.0) -> None:
        """Write a value into whole rows of these items, wherever there is no pair."""
        is_left = rows < self.split
        for own, side in ((is_left, self.left), (~is_left, self.right)):
            at = np.flatnonzero(own)
            if len(at) == len(rows):
                out[:, side] = value
            elif len(at):
                out[at, side] = value

    def blank_block(self, out: NDArray[Any], rows: Indices, columns: Indices) -> None:
        """Write 0 into a block, wherever there is no pair."""
        for own in (True, False):
            r = np.flatnonzero((rows < self.split) == own)
            c = np.flatnonzero((columns < self.split) == own)
            if len(r) and len(c):
                out[np.ix_(r, c)] = 0.0

    def sample(self, size: int, rng: np.random.Generator) -> tuple[Indices, Indices]:
        """Draw pairs, some of them perhaps twice."""
        i = rng.integers(self.split, size=size)
        return i, self.split + rng.integers(self.n - self.split, size=size)
