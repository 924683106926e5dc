"""Strata of unread pairs by their prediction, each twice as large as the one before."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewpairs.answers.above import pairs_above
from fewpairs.answers.candidates import is_large
from fewpairs.answers.evaluated import Pairs
from fewpairs.kernels.statistics.sequential import Strata, total_at_most
from fewpairs.kernels.statistics.tail import Ladder, rest_at_most, tail_at_most
from fewpairs.reading.reader import Reader
from fewpairs.result.approximation import Approximation
from fewpairs.types import Indices

__all__ = ["Steps", "UnreadRanking", "rank"]

_WHOLE = 5  # strata that what was read in full is cut into: of 1, 2, 4, 8 and 16 parts
_SMALLEST = 20  # pairs of the first
_SEEN = 20_000  # predictions that say from where on pairs are ranked
_BEYOND = 64  # times as many pairs are ranked as were read in full
_MOST = 4_000_000  # pairs that are ranked


class UnreadRanking(NamedTuple):
    """Pairs that the fit did not read and that may match, the likeliest first.

    Attributes
    ----------
    i, j, predicted
        Positions on the axis of all items, and predictions.
    whole
        How many of the first were read, all of them.
    hit
        Which of these match.
    excluded, unread
        Pairs left out because they provably do not match; pairs that the fit did not
        read, ranked or not, at most.
    before
        Pairs that the fit read, and the matches among them.
    """

    i: Indices
    j: Indices
    predicted: NDArray[np.float64]
    whole: int
    hit: NDArray[np.bool_]
    excluded: int
    unread: int
    before: tuple[int, int] = (0, 0)

    def read_on(self, hit: NDArray[np.bool_]) -> "UnreadRanking":
        """Return the same where the next pairs have been read, too."""
        both = np.concatenate([self.hit, hit])
        return self._replace(whole=len(both), hit=both)

    def next_pairs(self, taken: Indices, count: int, first_right: int) -> Pairs:
        """Return unread pairs that are predicted highest, but for those taken."""
        there = np.setdiff1d(np.arange(self.whole, len(self.i)), taken)[:count]
        right = self.j[there] - first_right
        return Pairs(self.i[there], right, self.predicted[there])


def rank(
    approx: Approximation,
    reader: Reader,
    level: float,
    read: tuple[int, int],
    rng: np.random.Generator,
) -> UnreadRanking | None:
    """Rank unread pairs by prediction; ``None`` where there are too many to look at.

    Parameters
    ----------
    approx, reader
        Predicts; knows what was read since.
    level
        From which on a pair matches.
    read
        Candidates that were read, and matches that the fit itself read.
    rng
        Draws the pairs that say how many to rank.
    """
    known, sides = approx.known, approx.known.sides
    unread = known.pairs - known.moments().number
    if unread == 0 or (sides is None and is_large(known.n)):
        return None
    shift = 0 if sides is None else sides.split
    seen = known.sample_unknown(_SEEN, rng)
    values = np.sort(approx.pairs(seen[0], seen[1] - shift))
    wanted = min(_MOST, _BEYOND * max(read[0], _SMALLEST << _WHOLE))
    share = wanted / unread
    start = -np.inf if share > 0.5 else float(np.quantile(values, 1 - share))
    i, j = pairs_above(approx, start)
    new = ~known.lookup(i, j)[0]
    i, j = i[new], j[new]
    predicted = np.asarray(approx.pairs(i, j - shift), dtype=np.float64)
    order = np.lexsort((j, i, -predicted))
    i, j, predicted = i[order], j[order], predicted[order]
    there, values = reader.known.lookup(i, j)
    possible = there | reader.may_reach(i, j, level)
    excluded = int((~possible).sum())
    i, j, predicted = i[possible], j[possible], predicted[possible]
    there, values = there[possible], values[possible]
    gaps = np.flatnonzero(~there)
    whole = int(gaps[0]) if len(gaps) else len(i)
    # Pairs further down that were read for another reason are no sample of anything.
    kept = ~there
    kept[:whole] = True
    hit = (values >= level)[:whole]
    if math.isinf(start):  # all of them are listed
        unread = int(kept.sum())
    ranked = (i[kept], j[kept], predicted[kept])
    before = (known.moments().number, read[1])
    return UnreadRanking(*ranked, whole, hit, excluded, unread, before)


class Steps:
    """The strata of a ranking: read in full, being drawn from, and out of reach.

    Parameters
    ----------
    ranking
        Pairs in the order of their predictions.
    rng
        Says in which order pairs of a stratum are drawn.
    """

    def __init__(self, ranking: UnreadRanking, rng: np.random.Generator) -> None:
        self._ranking = ranking
        unit = max(1, ranking.whole // ((1 << _WHOLE) - 1))
        self.useful = unit >= _SMALLEST
        edges = [unit * ((1 << k) - 1) for k in range(_WHOLE)] + [ranking.whole]
        size = unit << _WHOLE
        while edges[-1] + size <= len(ranking.i):
            edges.append(edges[-1] + size)
            size *= 2
        self._listed = len(edges) - 1
        while edges[-1] < ranking.unread:  # no pair of these is listed
            edges.append(edges[-1] + size)
            size *= 2
        self._size = np.diff(edges)
        self._drawn = np.zeros(len(self._size), dtype=np.int64)
        self._hits = np.zeros(len(self._size), dtype=np.int64)
        for k in range(_WHOLE):
            self._drawn[k] = self._size[k]
            self._hits[k] = int(ranking.hit[edges[k] : edges[k + 1]].sum())
        self._orders = {
            k: edges[k] + rng.permutation(self._size[k])
            for k in range(_WHOLE, self._listed)
        }
        self._now = _WHOLE

    def next(self, count: int) -> Indices:
        """Return places in the ranking of the next draws; none where all is drawn."""
        while self._now < self._listed:
            order = self._orders[self._now]
            done = int(self._drawn[self._now])
            if done < len(order):
                return order[done : done + count]
            self._now += 1
        return np.empty(0, dtype=np.int64)

    def take(self, matches: NDArray[np.bool_]) -> None:
        """Note what came of the last draws."""
        self._drawn[self._now] += len(matches)
        self._hits[self._now] += int(matches.sum())

    def telling(self, delta: float) -> bool:
        """Tell whether strata hold enough matches for how rare they become."""
        ladder = Ladder(self._size, self._drawn, self._hits)
        return self.useful and not np.isinf(tail_at_most(ladder, _WHOLE, delta))

    def missing_at_most(self, delta: float) -> float:
        """Return how many matches may be unread, under the assumption of the tail."""
        drawn_from = np.flatnonzero(self._drawn[_WHOLE:]) + _WHOLE
        steps = len(drawn_from)
        after = slice(_WHOLE, self._listed)
        inside = 0
        if steps:
            strata = Strata(self._size[after], self._drawn[after], self._hits[after])
            among = strata.drawn > 0
            found = int(strata.hits.sum())
            inside = total_at_most(strata, delta / 2, among) - found
        # Which stratum is the last depends on what was seen: each has its own share.
        share = delta / 4 * 0.5 ** (steps + 1)
        first = _WHOLE + steps
        if first >= len(self._size):
            return float(inside)
        ladder = Ladder(self._size, self._drawn, self._hits)
        tail = tail_at_most(ladder, first, share)
        if not np.isinf(tail):
            return inside + tail
        ranking = self._ranking
        seen = (ranking.whole, int(ranking.hit.sum()))
        rest = max(0, ranking.unread - ranking.whole - int(self._drawn[after].sum()))
        return rest_at_most(ranking.before, seen, rest, delta / 8)  # at two looks
