"""Earlier: the smaller matrix that one has grown from.

What was read of it is kept, and no more of it is read: new items are compared with each
other and with the old ones. Of two sets either side may have new items, which come
after the old ones of their side. Random pairs of the old items, drawn and read before,
stand for the old part of the matrix, as many as random pairs with new items stand for
the rest: together they are a uniform sample of the larger matrix (stratified sampling
with proportional allocation, Neyman 1934).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.types import Indices

if TYPE_CHECKING:
    from fewpairs.matrix.entries import Entries

__all__ = ["Earlier", "Sampled", "enlarged", "know", "mark", "marked", "moved"]

# Pairs that were drawn at random, and their values.
Sampled = tuple[Indices, Indices, NDArray[np.float64]]


@dataclass
class Earlier:
    """What a matrix has grown from.

    Attributes
    ----------
    n
        Number of its items. They are the first ones of the larger matrix; of two sets,
        the first ones of either side.
    known
        Off-diagonal entries that were read of it, those set aside not counted.
    aside
        Random pairs that no fit may see, by what they are for.
    split
        Of two sets, the number of its left items.
    """

    n: int
    known: int
    aside: dict[str, Sampled] = field(default_factory=dict)
    split: int | None = None

    @property
    def pairs(self) -> int:
        """Number of pairs that it has."""
        if self.split is not None:
            return self.split * (self.n - self.split)
        return self.n * (self.n - 1) // 2

    def holds(self, entries: "Entries", items: Indices) -> NDArray[np.bool_]:
        """Tell which items of the larger matrix are its own."""
        if entries.sides is None or self.split is None:
            return np.asarray(items < self.n)
        return np.where(
            items < entries.sides.split,
            items < self.split,
            items < entries.sides.split + self.n - self.split,
        )

    def new_of(self, entries: "Entries") -> tuple[int, int]:
        """Return how many items are new: those that seek, and their possible partners.

        Of one set these are the same; of two sets left items, and right ones.
        """
        if entries.sides is None or self.split is None:
            fresh = entries.n - self.n
            return fresh, fresh
        m, n = entries.sides.shape
        return m - self.split, n - (self.n - self.split)

    def unread(self, entries: "Entries") -> tuple[int, int]:
        """Return how many pairs are unread: of old items alone, and with new ones."""
        of_old = self.pairs
        with_new = entries.pairs - of_old
        return of_old - self.known, with_new - (entries.moments().number - self.known)

    def fair(self, entries: "Entries", kind: str, most: int) -> int:
        """Return how many pairs with new items go with those of a kind set aside.

        As many for each unread pair, rounded up, and at most so many.
        """
        before = len(self.aside[kind][0]) if kind in self.aside else 0
        old, new = self.unread(entries)
        if not old or not before:
            return most
        return min(most, math.ceil(before * new / old))

    def part(
        self, sample: Sampled, entries: "Entries", fresh: int, rng: np.random.Generator
    ) -> tuple[Sampled, Sampled]:
        """Split a sample of old pairs: what goes with so many new ones; the rest."""
        old, new = self.unread(entries)
        wanted = round(fresh * old / new) if new else len(sample[0])
        order = rng.permutation(len(sample[0]))
        taken, rest = np.sort(order[:wanted]), np.sort(order[wanted:])
        return _some(sample, taken), _some(sample, rest)

    def put_back(self, entries: "Entries", sample: Sampled) -> None:
        """Enter pairs that were set aside as what they are: read."""
        before = entries.moments().number
        entries.add_pairs(*sample)
        self.known += entries.moments().number - before


def mark(entries: "Entries", kind: str, i: Indices, j: Indices) -> None:
    """Remember that pairs were drawn at random, and what for."""
    before = entries.drawn.get(kind, np.empty(0, dtype=np.int64))
    entries.drawn[kind] = np.concatenate([before, entries.keys(i, j)])


def marked(entries: "Entries", kind: str) -> tuple[Indices, Indices]:
    """Return the pairs that were drawn at random for something."""
    return entries.ends(entries.drawn.get(kind, np.empty(0, dtype=np.int64)))


def moved(items: Indices, before: int | None, after: int | None) -> Indices:
    """Return where items stand once there are more of them.

    Of two sets, ``before`` and ``after`` are the numbers of left items: right ones make
    room for new left ones.
    """
    if before is None or after is None:
        return items
    return items + (after - before) * (items >= before)


def enlarged(
    entries: "Entries",
    n: int,
    aside: Mapping[str, tuple[Indices, Indices]],
    split: int | None = None,
) -> "Entries":
    """Return entries of a matrix of n items, the first of which are those of this one.

    Of two sets, ``split`` of the n are left ones. Whole columns are not whole any more
    and become scattered pairs. ``aside``: pairs to be set aside, by what they are for.
    """
    kind = type(entries)
    out = kind(n, symmetric=entries.symmetric, diagonal=entries.diagonal, split=split)
    before = entries.split

    def place(items: Any) -> Indices:
        return moved(items, before, split)

    keys, values = entries.scattered()
    parts: list[tuple[Any, Any, Any]] = [(*entries.ends(keys), values)]
    for lines in [*entries.columns, *entries.partial["columns"]]:
        line, along = np.nonzero(~np.isnan(lines.values))
        parts.append((along, lines.indices[line], lines.values[line, along]))
    i, j, values = (np.concatenate(side) for side in zip(*parts, strict=True))
    if entries.diagonal is not None:
        off = i != j
        i, j, values = i[off], j[off], values[off]
    if entries.sides is not None:
        across = ~entries.sides.within(i, j)
        i, j, values = i[across], j[across], values[across]
    hidden: dict[str, Sampled] = {}
    whole = entries.line_indices()
    for name, (a, b) in aside.items():
        apart = ~(np.isin(a, whole) | np.isin(b, whole))  # columns are kept as they are
        a, b = a[apart], b[apart]  # noqa: PLW2901
        hidden[name] = place(a), place(b), entries.lookup(a, b)[1]
        gone = np.isin(entries.keys(i, j), entries.keys(a, b))
        i, j, values = i[~gone], j[~gone], values[~gone]
    out.add_pairs(place(i), place(j), values)
    for name, drawn in entries.drawn.items():
        a, b = entries.ends(drawn)
        out.drawn[name] = out.keys(place(a), place(b))
    out.earlier = Earlier(entries.n, out.moments().number, hidden, before)
    return out


def _some(sample: Sampled, where: Indices) -> Sampled:
    i, j, values = sample
    return i[where], j[where], values[where]


def know(entries: "Entries", smaller: "Entries | None") -> None:
    """Let a matrix that has grown know what is known of the smaller one."""
    if smaller is not None:
        keys, values = enlarged(smaller, entries.n, {}, entries.split).scattered()
        entries.add_pairs(*entries.ends(keys), values)
