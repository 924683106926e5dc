"""Average linkage of items given by factor rows: no n×n matrix, no n×n time in memory.

The similarity of items i and j is ⟨Fᵢ, mirror(Fⱼ)⟩ plus corrections: whole lines for a
few items (hubs), and sparse entries for the rest. The average over two clusters is then
⟨ΣFᵢ, mirror(ΣFⱼ)⟩ plus the sum of their corrections, over the number of pairs, so a
cluster is one row. Arrays in, arrays out.

Nearest-neighbor chains (Benzécri 1982; Murtagh 1983) are valid for every reducible
linkage. The average is: no union is nearer to a third cluster than the nearer of its
parts, whatever the signs of the similarities.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

__all__ = ["Corrected", "Merges", "chain", "cut", "in_order", "tree"]

Rows = NDArray[np.float64]
Indices = NDArray[np.int64]

_NO_LINKS = np.empty(0, np.int64), np.empty(0)
_REPORTED = 256  # merges between two reports of progress


class Corrected(NamedTuple):
    """Similarities of n items: factor rows and what has to be added to them.

    Attributes
    ----------
    rows
        (n, r) array F.
    mirror
        Linear, takes a row f to g, so that ⟨g, Fⱼ⟩ is the similarity to item j.
    hubs, lines
        Items that have a correction to every other, and these, (h, n), hubs among
        themselves included.
    sparse
        Symmetric (n, n) corrections of all other pairs.
    """

    rows: Rows
    mirror: Callable[[Rows], Rows]
    hubs: Indices
    lines: Rows
    sparse: sparse.csr_array

    def part(self, items: Indices) -> "Corrected":
        """Return the same for some of the items, in ascending order."""
        inside = np.isin(self.hubs, items)
        return Corrected(
            self.rows[items],
            self.mirror,
            np.searchsorted(items, self.hubs[inside]),
            self.lines[np.ix_(inside, items)],
            self.sparse[items][:, items],
        )

    @property
    def rounding(self) -> float:
        """Differences of averages below this are rounding errors."""
        rank = self.rows.shape[1]
        largest = float(np.einsum("nr,nr->n", self.rows, self.rows).max(initial=0.0))
        for added in (self.lines, self.sparse.data):
            largest = max(largest, float(np.abs(added).max(initial=0.0)))
        return 4.0 * np.finfo(float).eps * (rank + 16) * largest


class Merges(NamedTuple):
    """Pairs of items whose clusters were joined, with the averages they had."""

    first: Indices
    second: Indices
    similarity: Rows

    @classmethod
    def none(cls) -> "Merges":
        """Return no merges."""
        return cls(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))


def chain(
    items: Corrected,
    *,
    floor: float = -np.inf,
    tell: Callable[[int], None] | None = None,
) -> Merges:
    """Join clusters by average linkage, as long as an average is at least ``floor``.

    Merges come in the order in which the chain finds them; sort them by falling
    similarity, ties as they stand. Among equal neighbors, the one that the chain came
    from is taken, else the first: as SciPy does, so that ties end in the same tree.

    Time: at most 3n products of the factors with a vector, O(n²·r). Memory: O(n·r),
    beside the corrections.

    Parameters
    ----------
    items
        What is to be joined.
    floor
        Clusters that have no neighbor at or above it are left as they are.
    tell
        Told now and then how many more merges are done.
    """
    clusters = _Clusters(items)
    slack = items.rounding
    path: list[int] = []
    first, second, similarity = [], [], []
    start = 0
    while clusters.number > 1:
        if not path:
            while not clusters.alive[start]:
                start += 1
            path.append(start)
        x = path[-1]
        before = path[-2] if len(path) > 1 else -1
        y, value = clusters.nearest(x, before, slack)
        if value < floor - slack:  # so is all that will ever be near it
            clusters.drop(x)
            path.clear()
        elif y != before:
            path.append(y)
        else:
            del path[-2:]
            x, y = min(x, y), max(x, y)
            clusters.join(x, y)
            first.append(x)
            second.append(y)
            similarity.append(value)
            if tell is not None and len(first) % _REPORTED == 0:
                tell(_REPORTED)
    if tell is not None:
        tell(len(first) % _REPORTED)
    return Merges(
        np.array(first, dtype=np.int64),
        np.array(second, dtype=np.int64),
        np.array(similarity),
    )


class _Clusters:
    """The clusters of a run: sums of rows, and corrections between them.

    A cluster is known by a slot, the largest of its items; rows of dead slots are
    swept out now and then, in order, so that products stay short.
    """

    def __init__(self, items: Corrected) -> None:
        n = len(items.rows)
        self.number = n
        self.alive = np.ones(n, dtype=bool)
        self._mirror = items.mirror
        self._slots = np.arange(n)
        self._place = np.arange(n)  # of a slot among the rows
        self._rows = np.array(items.rows)
        self._sizes = np.ones(n)
        self._closed = np.zeros(n)  # −∞ for rows of dead slots
        self._parent = np.arange(n)  # the slot that took a dead one over
        self._hubs = items.hubs.copy()
        self._lines = np.array(items.lines)
        table = items.sparse.tocsr()
        starts = table.indptr
        self._linked = {
            t: (table.indices[a:b].astype(np.int64), table.data[a:b])
            for t, (a, b) in enumerate(pairwise(starts))
            if b > a
        }
        self._untidy: set[int] = set()  # clusters whose links name a slot twice

    def nearest(self, x: int, before: int, slack: float) -> tuple[int, float]:
        """Return the slot that is nearest to x, and the average of their pairs."""
        at = self._place[x]
        scores = self._rows @ self._mirror(self._rows[at])
        self._correct(scores, x, at)
        scores /= self._sizes * self._sizes[at]
        scores += self._closed
        scores[at] = -np.inf
        best = scores.max()
        if before >= 0:
            value = scores[self._place[before]]
            if value >= best - slack:
                return before, float(value)
        found = int(np.argmax(scores >= best - slack))
        return int(self._slots[found]), float(scores[found])

    def _correct(self, sums: Rows, x: int, at: int) -> None:
        """Add to the sums over pairs what the factors miss."""
        if len(self._hubs):
            own = np.flatnonzero(self._hubs == x)
            if own.size:
                sums += self._lines[own[0]]
            else:
                sums[self._place[self._hubs]] += self._lines[:, at]
        if x in self._linked:
            slots, values = self._links(x)
            sums[self._place[slots]] += values

    def _links(self, x: int) -> tuple[Indices, Rows]:
        """Return the living slots that x has corrections to, each once, and these."""
        slots, values = self._linked[x]
        owners = self._find(slots)
        if x in self._untidy or owners is not slots or not self.alive[slots].all():
            slots, where = np.unique(owners, return_inverse=True)
            values = np.bincount(where, weights=values, minlength=len(slots))
            inside = (slots != x) & self.alive[slots]
            slots, values = slots[inside], values[inside]
            self._linked[x] = slots, values
            self._untidy.discard(x)
        return slots, values

    def _find(self, slots: Indices) -> Indices:
        """Return the living owners of slots; the same array where all live."""
        owners = self._parent[slots]
        if (owners == slots).all():
            return slots
        while True:
            above = self._parent[owners]
            if (above == owners).all():
                break
            owners = above
        self._parent[slots] = owners
        return owners

    def join(self, x: int, y: int) -> None:
        """Let the cluster of slot y take over that of x."""
        a, b = self._place[x], self._place[y]
        self._rows[b] += self._rows[a]
        self._sizes[b] += self._sizes[a]
        self._lines[:, b] += self._lines[:, a]
        self._join_lines(x, y)
        mine = self._linked.pop(x, None)
        self._parent[x] = y
        if mine is not None:
            other = self._linked.get(y, _NO_LINKS)
            self._linked[y] = (
                np.concatenate([mine[0], other[0]]),
                np.concatenate([mine[1], other[1]]),
            )
            self._untidy.add(y)
        self._bury(x)

    def _join_lines(self, x: int, y: int) -> None:
        """Make one line of those of x and y, where they have any."""
        has_x, has_y = np.flatnonzero(self._hubs == x), np.flatnonzero(self._hubs == y)
        if not has_x.size and not has_y.size:
            return
        if has_x.size and has_y.size:
            self._lines[has_y[0]] += self._lines[has_x[0]]
            keep = np.arange(len(self._hubs)) != has_x[0]
            self._hubs, self._lines = self._hubs[keep], self._lines[keep]
        elif has_x.size:
            self._hubs[has_x[0]] = y
        # An item without a line of its own has its part in the lines of other hubs.
        own = self._hubs == y
        others = self._place[self._hubs[~own]]
        self._lines[np.flatnonzero(own)[0], others] = self._lines[~own, self._place[y]]

    def drop(self, x: int) -> None:
        """Leave a cluster as it is: it has nothing to do with any other."""
        self._linked.pop(x, None)
        self._bury(x)

    def _bury(self, x: int) -> None:
        self.alive[x] = False
        self._closed[self._place[x]] = -np.inf
        self.number -= 1
        if self.number < 0.8 * len(self._slots):
            keep = self.alive[self._slots]
            self._slots = self._slots[keep]
            self._rows, self._sizes = self._rows[keep], self._sizes[keep]
            self._closed = self._closed[keep]
            hubs = self.alive[self._hubs]
            self._hubs = self._hubs[hubs]
            self._lines = self._lines[hubs][:, keep]
            self._place[self._slots] = np.arange(len(self._slots))


def tree(n: int, merges: Merges) -> NDArray[np.float64]:
    """Return a linkage matrix in SciPy's form, with similarities for distances.

    Row t joins clusters ``[t, 0]`` and ``[t, 1]`` (below n: items) at similarity
    ``[t, 2]`` to cluster n + t of ``[t, 3]`` items; similarities fall.
    """
    order = np.argsort(-merges.similarity, kind="stable")
    Z = np.empty((len(order), 4))
    owner = np.arange(2 * n - 1)
    sizes = np.ones(2 * n - 1)
    for t, k in enumerate(order):
        a, b = _root(owner, merges.first[k]), _root(owner, merges.second[k])
        owner[a] = owner[b] = n + t
        sizes[n + t] = sizes[a] + sizes[b]
        Z[t] = min(a, b), max(a, b), merges.similarity[k], sizes[n + t]
    return Z


def _root(owner: NDArray[Any], t: int) -> int:
    root = t
    while owner[root] != root:
        root = owner[root]
    while owner[t] != root:
        owner[t], t = root, owner[t]
    return int(root)


def cut(n: int, merges: Merges) -> Indices:
    """Return the clusters that merges leave, numbered by their first items."""
    table = sparse.coo_array(
        (np.ones(len(merges.first)), (merges.first, merges.second)), shape=(n, n)
    )
    labels = csgraph.connected_components(table, directed=False)[1]
    return in_order(labels)


def in_order(labels: NDArray[Any]) -> Indices:
    """Return the same clusters, numbered from 0 by their first items."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return np.asarray(rank[inverse])
