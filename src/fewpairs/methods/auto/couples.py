"""Couples: two pairs of one item that were read, and who puts them in their order.

A similarity of unread pairs is used by rows: which of an item's partners come first.
Errors of values say little of that, as most of what they consist of is common to a
row: whatever tells rows apart looks right, and may put the partners of each in a worse
order than before. So what is to change an order is judged by orders: by how often it
puts two pairs of one item, both read, as they are.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.types import Indices

__all__ = ["Couples", "ahead", "best_of_items", "ends_of_some", "hits_first"]

_EACH = 6  # pairs of an item that are compared with each other
_ITEMS = 4_000  # items, at most


@dataclass(frozen=True, eq=False)
class Couples:
    """Pairs of which two share an item.

    Attributes
    ----------
    row
        The place of the item, from 0 on, of every couple.
    first, second
        Places of its two pairs.
    """

    row: Indices
    first: Indices
    second: Indices

    @classmethod
    def among(cls, i: Indices, j: Indices) -> "Couples":
        """Return those of up to 4,000 items, evenly spread, six pairs of each."""
        item = np.concatenate([i, j])
        place = np.tile(np.arange(len(i)), 2)
        order = np.argsort(item, kind="stable")
        item, place = item[order], place[order]
        _, start, number = np.unique(item, return_index=True, return_counts=True)
        start, number = start[number > 1], np.minimum(number[number > 1], _EACH)
        step = max(1, -(-len(start) // _ITEMS))
        start, number = start[::step], number[::step]
        a, b = np.triu_indices(_EACH, 1)
        row, pick = np.nonzero(b < number[:, None])
        return cls(row, place[start[row] + a[pick]], place[start[row] + b[pick]])

    def __len__(self) -> int:
        return len(self.row)

    def agreement(self, values: NDArray[Any], score: NDArray[Any]) -> NDArray[Any]:
        """Return, of every item, how far a score agrees with the order of values.

        1 where it puts all couples as they are, −1 where it puts none (Kendall 1938).
        """
        true = np.sign(values[self.first] - values[self.second])
        said = np.sign(score[self.first] - score[self.second])
        return np.bincount(self.row, weights=true * said) / np.bincount(self.row)


def ends_of_some(i: Indices, j: Indices, every: int) -> tuple[Indices, Indices]:
    """Return every so many-th item of pairs with each of its pairs' places."""
    item = np.concatenate([i, j])
    at = np.flatnonzero(item % every == 0)
    return item[at], at % max(1, len(i))


def best_of_items(item: Indices, values: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell which values are their item's largest; of equal ones one is."""
    order = np.lexsort((values, item))
    rising = item[order]
    best = np.zeros(len(item), dtype=bool)
    best[order[np.append(rising[1:] != rising[:-1], True)[: len(item)]]] = True
    return best


def hits_first(
    item: Indices, hit: NDArray[np.bool_], score: NDArray[Any]
) -> NDArray[Any]:
    """Return, of every item, how often a score puts its hits before the rest.

    1 where always, ½ by chance (Mann & Whitney 1947); of items with hits and others
    alone, in order. Price: one sort.
    """
    order = np.lexsort((score, item))
    item, hit = item[order], hit[order]
    rank = np.arange(len(item)) - np.searchsorted(item, item)
    both = np.bincount(item)
    hits, ranks = (np.bincount(item, weights=part) for part in (hit, hit * rank))
    mixed = (hits > 0) & (hits < both)
    hits, ranks, both = hits[mixed], ranks[mixed], both[mixed]
    return np.asarray((ranks - hits * (hits - 1) / 2) / (hits * (both - hits)))


def ahead(one: NDArray[Any], other: NDArray[Any]) -> float:
    """Return by how many standard errors one agreement lies above another."""
    apart = one - other
    if len(apart) < 2:
        return 0.0
    error = float(np.std(apart, ddof=1)) / np.sqrt(len(apart))
    return float(apart.mean()) / error if error > 0 else 0.0
