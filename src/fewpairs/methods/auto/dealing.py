"""Dealing: random pairs of two sets, of every item about as many.

Drawn one by one, 300 pairs of 277 queries leave a third of them without any, and what
is a query's own, often most of what similarities differ by, unknown. Dealt out, every
item of a side has as many as any other, or one more; a pair is as likely as any other
that was not read, but for what was dealt before.
"""

import numpy as np

from fewpairs.matrix.entries import Entries
from fewpairs.types import Indices

__all__ = ["deal"]


def deal(
    read: Entries, count: int, rng: np.random.Generator, drawn: tuple[Indices, Indices]
) -> tuple[Indices, Indices]:
    """Return ``count`` unread pairs of two sets; fewer where fewer are left.

    ``drawn``: pairs that were dealt before.
    """
    more = read.sample_unknown(count, rng)
    if read.sides is None:
        return more
    m, n = read.sides.shape
    i = _dealt(np.bincount(drawn[0], minlength=m), count, rng)
    j = m + _dealt(np.bincount(drawn[1] - m, minlength=n), count, rng)
    unread = read.unread(i, j)
    i, j = (
        np.concatenate(ends) for ends in zip((i[unread], j[unread]), more, strict=True)
    )
    once = np.sort(np.unique(read.keys(i, j), return_index=True)[1])[:count]
    return i[once], j[once]


def _dealt(have: Indices, count: int, rng: np.random.Generator) -> Indices:
    """Return items in random order, those that have fewest first."""
    turns = count // len(have) + 2
    behind = np.minimum(have - have.min(), turns - 1)  # more than that is out of reach
    level = (behind[:, None] + np.arange(turns)).ravel()
    order = np.lexsort((rng.random(len(level)), level))[:count] // turns
    return np.asarray(rng.permutation(order))
