"""Hubs: items that are near most others.

A few documents are often among the most similar of nearly every query. Two random pairs
of each do not tell which, and whoever misses them misses them everywhere. So those that
look like it are read with a few more others, and fewer and fewer of them with more and
more (sequential halving, Karnin, Koren & Somekh 2013, "Almost optimal
exploration in multi-armed bandits").
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.methods.auto.spending import Spending
from fewpairs.similarity.priors import Prior
from fewpairs.types import Indices

__all__ = ["read_hubs"]

# One in so many items is read with so many others more, in three rounds.
_ROUNDS = ((4, 2), (16, 4), (64, 8))
_SHRINK, _OWN = 1.0, 1.0  # pairs that say nothing beside those of an item
_HOPE = 1.0  # standard errors by which an item may be nearer than it looks
_POWERS = 3  # of the prior
_FEWEST = 0.5  # random pairs of a right item
_MOST = 0.3  # of what is left to spend

Pairs = tuple[Indices, Indices, NDArray[Any]]


def read_hubs(spending: Spending, prior: Prior, drawn: Pairs) -> Pairs:
    """Read items that look like hubs with random others; return these pairs.

    Right items of two sets, with left ones; of a set that has grown new items, with
    all. ``drawn``: random pairs; where they are fewer than half of those items, nothing
    is read. Evaluations: 0.88 for each of them, and 30 % of what is left, at most.
    """
    i, j, values = drawn
    n, read = spending.n, spending.oracle.read
    partners, items = read.seekers
    if read.sides is None:
        items = items[~read.is_old(items)]
    none = i[:0], j[:0], values[:0]
    if len(values) < max(_FEWEST * len(items), 4 * _POWERS):
        return none
    weights = np.linalg.lstsq(_powers(prior, i, j), values, rcond=None)[0]
    rest = values - _powers(prior, i, j) @ weights
    spread = float(rest.std())
    number = np.bincount(i, minlength=n) + np.bincount(j, minlength=n)
    # What is left of a partner's pairs is its own, in part.
    own = (np.bincount(i, rest, n) + np.bincount(j, rest, n)) / (number + _OWN)
    total = np.bincount(i, rest - own[j], n) + np.bincount(j, rest - own[i], n)
    found: list[Pairs] = [none]
    most = int(_MOST * spending.left) // spending.calls
    for one_in, each in _ROUNDS:
        some = min(len(items) // one_in, most // each)
        high = total / (number + _SHRINK) + _HOPE * spread / np.sqrt(number + _SHRINK)
        order = items[np.argsort(-high[items], kind="stable")[:some]]
        b = np.repeat(order, each)
        a = partners[spending.rng.integers(len(partners), size=len(b))]
        keys = np.minimum(a, b) * n + np.maximum(a, b)
        once = np.unique(keys, return_index=True)[1]
        once = once[read.unread(a[once], b[once]) & (a[once] != b[once])]
        a, b = a[once], b[once]
        if not len(a):
            continue
        seen = spending.read(a, b)
        most -= len(a)
        total += np.bincount(b, seen - _powers(prior, a, b) @ weights - own[a], n)
        number += np.bincount(b, minlength=n)
        found.append((a, b, seen))
    a, b, seen = (np.concatenate(part) for part in zip(*found, strict=True))
    return a, b, seen


def _powers(prior: Prior, i: Indices, j: Indices) -> NDArray[np.float64]:
    return np.vander(prior.pairs(i, j).astype(np.float64), _POWERS + 1)
