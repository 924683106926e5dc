"""Exact values of merges, where the threshold is nearly met or nearly missed."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from fewpairs.kernels.linalg.average_linkage import Merges, tree
from fewpairs.matrix.entries import Entries
from fewpairs.reading.oracle import Oracle
from fewpairs.types import Indices

__all__ = ["read_merges"]

_ROUNDS = 4
_SHARE = 0.25  # of a round's evaluations, at most, for one merge

# Links what is known by average linkage, down to somewhat below the threshold.
Link = Callable[[Entries], Merges]


def read_merges(
    link: Link,
    oracle: Oracle,
    threshold: float,
    *,
    evaluations: int,
    rng: np.random.Generator,
) -> Entries:
    """Read pairs that decide merges, the least certain first; return what is known.

    In a few rounds: link, take the merges whose average is nearest to the threshold,
    read the pairs between their two clusters, link again. An average over p pairs whose
    errors are alike and independent is off by ∝ 1/√p, so |average − threshold|·√p says
    how certain a merge is. Of a large merge, a random part is read.

    Evaluations: at most ``evaluations``.
    """
    calls = oracle.cost.calls
    start = oracle.evaluations
    for left in range(_ROUNDS, 0, -1):
        allowed = (evaluations - (oracle.evaluations - start)) // calls
        if allowed < 1:
            break
        forest = tree(oracle.n, link(oracle.read))
        i, j = _uncertain(forest, oracle, threshold, -(-allowed // left), rng)
        if not len(i):
            break
        oracle.pairs(i, j)
    return oracle.read


def _uncertain(
    Z: NDArray[np.float64],
    oracle: Oracle,
    threshold: float,
    wanted: int,
    rng: np.random.Generator,
) -> tuple[Indices, Indices]:
    """Return so many unread pairs between clusters that nearly are, or are not, one."""
    n = oracle.n
    members = _Members(n, Z)
    sizes = np.concatenate([np.ones(n), Z[:, 3]])
    children = Z[:, :2].astype(np.int64)
    pairs = sizes[children[:, 0]] * sizes[children[:, 1]]
    order = np.argsort(np.abs(Z[:, 2] - threshold) * np.sqrt(pairs), kind="stable")
    found: list[tuple[Indices, Indices]] = []
    number, most = 0, max(1, int(_SHARE * wanted))
    for t in order:
        a, b = (members.of(int(child)) for child in children[t])
        i, j = _across(a, b, min(most, wanted - number), oracle, rng)
        if len(i):
            found.append((i, j))
            number += len(i)
        if number >= wanted:
            break
    if not found:
        nothing = np.empty(0, dtype=np.int64)
        return nothing, nothing
    return tuple(np.concatenate(side) for side in zip(*found, strict=True))  # type: ignore[return-value]


def _across(
    a: Indices, b: Indices, most: int, oracle: Oracle, rng: np.random.Generator
) -> tuple[Indices, Indices]:
    """Return at most so many unread pairs between two clusters."""
    total = len(a) * len(b)
    drawn = (
        np.arange(total)
        if total <= 4 * most
        else np.unique(rng.integers(total, size=4 * most))
    )
    i, j = a[drawn // len(b)], b[drawn % len(b)]
    unread = ~oracle.read.lookup(i, j)[0]
    chosen = rng.permutation(np.flatnonzero(unread))[:most]
    return i[chosen], j[chosen]


class _Members:
    """The items of the clusters of a tree, or of several."""

    def __init__(self, n: int, Z: NDArray[np.float64]) -> None:
        self._n = n
        self._children = Z[:, :2].astype(np.int64)

    def of(self, cluster: int) -> Indices:
        """Return the items of a cluster, in ascending order."""
        items, open_ones = [], [cluster]
        while open_ones:
            t = open_ones.pop()
            if t < self._n:
                items.append(t)
            else:
                open_ones.extend(self._children[t - self._n].tolist())
        return np.sort(np.array(items, dtype=np.int64))
