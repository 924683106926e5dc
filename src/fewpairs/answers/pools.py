"""Pools: among many items, a search chooses from a part of them for every query.

Up to 20,000 items every round guesses the scores of all. Above that of some thousand
per query: those with the largest products of vectors, and what is known of it. So m
queries cost what m looks into an index cost, and not m·n.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.answers.candidates import candidates_of, is_large
from fewpairs.answers.guiding import Guide
from fewpairs.kernels.linalg.top_products import searched_by
from fewpairs.result.approximation import Approximation
from fewpairs.types import Indices

__all__ = ["PooledGuide", "padded", "proposed"]

_FEWEST, _TIMES = 1_024, 8  # items in a pool, and times as many as are evaluated


@dataclass(frozen=True, eq=False)
class PooledGuide:
    """A guide that knows, of every query, the items of its pool alone.

    Attributes
    ----------
    guide
        That of all items.
    pools
        (queries, c) positions, sorted in every row. Places in a row stand for items.
    """

    guide: Guide
    pools: Indices

    def start(self, cheap: NDArray[Any] | None, queries: int) -> NDArray[np.float64]:
        """Return the first guess, (queries, c)."""
        own = range(queries)
        parts = [
            self._of(t).start(None if cheap is None else cheap[t : t + 1], 1)
            for t in own
        ]
        return np.concatenate(parts)

    def guess(
        self, first: NDArray[Any], at: list[Indices], scores: list[NDArray[Any]]
    ) -> NDArray[Any]:
        """Return the first guess, corrected by what queries scored at some items."""
        parts = [
            self._of(t).guess(first[t : t + 1], [at[t]], [scores[t]])
            for t in range(len(first))
        ]
        return np.concatenate(parts)

    def _of(self, query: int) -> Guide:
        pool = self.pools[query]
        parts = [part[pool] for part in self.guide.parts]
        return replace(self.guide, parts=parts, effects=self.guide.effects[pool])


def proposed(
    approx: Approximation,
    fitted: Indices | None,
    vectors: NDArray[Any] | None,
    number: int,
) -> Indices | None:
    """Return (queries, c) positions that vectors propose, −1 for none.

    Of ``fitted`` items by all vectors of the model; of new ones by the prior's, which
    ``vectors`` are. ``None`` where all items are looked at: there are few, or the
    prior has no vectors.
    """
    n = approx.shape[0]
    count = max(_FEWEST, _TIMES * number)
    if not is_large(n) or count > n // 4:
        return None
    if fitted is not None:
        proposer = candidates_of(approx, searched_by(len(fitted), n))
        return proposer.of(fitted, count)
    if vectors is None:
        return None
    return candidates_of(approx, searched_by(len(vectors), n)).by_prior(vectors, count)


def padded(found: Indices, known: list[Indices], own: Indices, n: int) -> Indices:
    """Return sorted pools of one width: what is proposed, what is known, not oneself.

    Items that follow the query fill up.
    """
    pools = []
    for row, more, query in zip(found, known, own, strict=True):
        pool = np.union1d(row[row >= 0], more)
        pools.append(pool[pool != query])
    width = max(map(len, pools))
    for t, (pool, query) in enumerate(zip(pools, own, strict=True)):
        missing = width - len(pool)
        if missing:
            follow = (query + 1 + np.arange(width + 1)) % n
            follow = follow[(follow != query) & ~np.isin(follow, pool)]
            pools[t] = np.sort(np.concatenate([pool, follow[:missing]]))
    return np.stack(pools)
