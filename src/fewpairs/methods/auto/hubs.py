"""Hubs: items that are near most others.

A few documents are often among the most similar of nearly every query. Two random pairs
of each do not tell which, and whoever misses them misses them everywhere. So those that
look like it are read with a few more others, and fewer and fewer of them with more and
more (sequential halving, Karnin, Koren & Somekh 2013, "Almost optimal
exploration in multi-armed bandits").

Of two sets all are read with the same few others: what is these others' own, often most
of what similarities differ by, is then known well and hides no hub. Of a set that has
grown it is known of all old items.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.kernels.linalg.mixed_effects import MixedEffects
from fewpairs.matrix.earlier import mark
from fewpairs.methods.auto.spending import RANDOM, Spending
from fewpairs.similarity.priors import Prior
from fewpairs.types import Indices

__all__ = ["read_hubs"]

# One in so many items is read with so many others more, in four rounds.
_ROUNDS = ((2, 1), (4, 2), (16, 4), (64, 8))
_SAME = 16  # left items that they are read with
_HOPE = 1.0  # standard errors by which an item may be nearer than it looks
_POWERS = 3  # of the prior
_FEWEST = 0.5  # random pairs of a right item
_MOST = 0.4  # of what is left to spend

Pairs = tuple[Indices, Indices, NDArray[Any]]


def read_hubs(spending: Spending, prior: Prior, drawn: Pairs) -> Pairs:
    """Read items that look like hubs with others; return these pairs.

    Right items of two sets, with the same few left ones; of a set that has grown new
    items, with any. ``drawn``: random pairs; where they are fewer than half of those
    items, nothing is read. Evaluations: 1.4 for each of them, and 40 % of what is left,
    at most.
    """
    n, read = spending.n, spending.oracle.read
    partners, items = read.seekers
    if read.sides is None:
        items = items[~read.is_old(items)]
    else:
        partners = np.sort(spending.rng.permutation(partners)[:_SAME])
    found: list[Pairs] = [(drawn[0][:0], drawn[1][:0], drawn[2][:0])]
    most = int(_MOST * spending.left) // spending.calls
    if len(drawn[2]) < max(_FEWEST * len(items), 4 * _POWERS):
        most = 0
    for one_in, each in _ROUNDS:
        some = min(len(items) // one_in, most // each)
        if not some:
            continue
        high = _may_be(n, prior, [drawn, *found])[items]
        b = np.repeat(items[np.argsort(-high, kind="stable")[:some]], each)
        a = partners[spending.rng.integers(len(partners), size=len(b))]
        keys = np.minimum(a, b) * n + np.maximum(a, b)
        once = np.unique(keys, return_index=True)[1]
        once = once[read.unread(a[once], b[once]) & (a[once] != b[once])]
        a, b = a[once], b[once]
        if len(a):
            found.append((a, b, spending.read(a, b)))
            mark(read, RANDOM, a, b)
            most -= len(a)
    return _joined(found)


def _may_be(n: int, prior: Prior, several: list[Pairs]) -> NDArray[np.float64]:
    """Return how near to others every item may be: its effect, and what is in doubt."""
    i, j, values = _joined(several)
    scale = float(np.std(values)) or 1.0
    y = (np.asarray(values, dtype=np.float64) - np.mean(values)) / scale

    def powers(part: slice) -> NDArray[np.float64]:
        cheap = prior.pairs(i[part], j[part]).astype(np.float64)
        return np.vander(cheap, _POWERS + 1)

    fitted = MixedEffects(n, np.full(_POWERS + 1, -1))
    fitted.add(powers, i, j, y)
    effects = fitted.solve()
    number = np.bincount(i, minlength=n) + np.bincount(j, minlength=n)
    unsure = effects.noise / (number + effects.noise / effects.spread)
    return np.asarray(effects.items + _HOPE * np.sqrt(unsure))


def _joined(several: list[Pairs]) -> Pairs:
    i, j, values = (np.concatenate(part) for part in zip(*several, strict=True))
    return i, j, values
