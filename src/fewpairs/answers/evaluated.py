"""Evaluated pairs: positions on two sides, with their exact similarities."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewpairs.types import Indices

__all__ = ["Pairs"]


class Pairs(NamedTuple):
    """Pairs of a left and a right row, and what was evaluated for them.

    Examples
    --------
    >>> import numpy as np
    >>> from fewpairs.answers.evaluated import Pairs
    >>> pairs = Pairs(np.array([1, 0]), np.array([2, 2]), np.array([0.5, 0.9]))
    >>> pairs.sorted().left.tolist(), pairs.rank().tolist()
    ([0, 1], [1, 1])
    """

    left: Indices
    right: Indices
    similarity: NDArray[np.float64]

    @classmethod
    def none(cls) -> "Pairs":
        """Return no pairs."""
        nowhere = np.empty(0, dtype=np.int64)
        return cls(nowhere, nowhere, np.empty(0))

    @property
    def number(self) -> int:
        """How many there are."""
        return len(self.left)

    def at(self, which: NDArray[np.bool_] | Indices | slice) -> "Pairs":
        """Return some of them."""
        return Pairs(self.left[which], self.right[which], self.similarity[which])

    def plus(self, other: "Pairs") -> "Pairs":
        """Return these and others."""
        return Pairs(*(np.concatenate(both) for both in zip(self, other, strict=True)))

    def sorted(self) -> "Pairs":
        """Return them with the most similar first; of equal ones, lower positions."""
        return self.at(np.lexsort((self.right, self.left, -self.similarity)))

    def turned(self) -> "Pairs":
        """Return them with left and right exchanged."""
        return Pairs(self.right, self.left, self.similarity)

    def rank(self) -> Indices:
        """Return which place, from 1 on, a pair has among those of its left row."""
        order, first = self._by_left()
        rank = np.empty(self.number, dtype=np.int64)
        rank[order] = np.arange(self.number) - first + 1
        return rank

    def margin(self) -> NDArray[np.float64]:
        """Return how far the next pair of the left row lies below; NaN: none does."""
        order, _ = self._by_left()
        margin = np.full(self.number, np.nan)
        if self.number > 1:
            here, following = order[:-1], order[1:]
            same = self.left[here] == self.left[following]
            ahead = self.similarity[here] - self.similarity[following]
            margin[here[same]] = ahead[same]
        return margin

    def _by_left(self) -> tuple[Indices, Indices]:
        """Return an order by left row, most similar first, and where rows begin."""
        order = np.lexsort((self.right, -self.similarity, self.left))
        left = self.left[order]
        return order, np.searchsorted(left, left)
