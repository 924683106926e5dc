"""Front: pairs that a fit did not read, in the order of its predictions."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewpairs.answers.above import pairs_above
from fewpairs.answers.candidates import is_large
from fewpairs.answers.evaluated import Pairs
from fewpairs.answers.matches import Matches
from fewpairs.kernels.statistics.ordered import Reads, counted_from
from fewpairs.reading.reader import Reader
from fewpairs.result.approximation import Approximation
from fewpairs.result.certificate import HeldOut
from fewpairs.types import Indices

__all__ = ["Front", "Waiting", "front_of", "held_after", "waiting_after"]

_SEEN = 20_000  # predictions that say from where on pairs are ranked
_SPARE = 1_000  # pairs that are ranked beyond those that may be read
_MOST = 4_000_000  # pairs that are ranked


class Front(NamedTuple):
    """Pairs predicted highest, all of them read after the fit.

    Attributes
    ----------
    hit
        Which of them match, those predicted highest first.
    edge
        Every pair that is predicted at or above it was read.
    """

    hit: NDArray[np.bool_]
    edge: float

    def further(self, hit: NDArray[np.bool_], edge: float) -> "Front":
        """Return the same with the next pairs in order."""
        return Front(np.concatenate([self.hit, hit]), edge)

    def reads(self, planned: int, rest: int, drawn: int, hits: int) -> Reads:
        """Return what counts of it, beside a sample of the rest."""
        start = counted_from(self.hit, planned)
        inside = self.hit[start:]
        return Reads(len(inside), int(inside.sum()), rest, drawn, hits)


def front_of(approx: Approximation, found: Matches, level: float) -> Front:
    """Return the candidates of a list as pairs that were read in order."""
    both = found.pairs.plus(found.others)
    shift = 0 if approx.known.sides is None else approx.known.sides.split
    i, j = both.left, both.right + shift
    new = ~approx.known.lookup(i, j)[0]
    predicted = np.asarray(approx.pairs(both.left[new], both.right[new]), np.float64)
    order = np.lexsort((j[new], i[new], -predicted))
    order = order[predicted[order] >= found.edge]
    return Front((both.similarity[new] >= level)[order], found.edge)


def held_after(approx: Approximation, edge: float, level: float) -> tuple[int, int]:
    """Return how many held-out pairs lie below an edge, and how many of them match.

    They were drawn uniformly from all that the fit did not read: these are a sample of
    what is predicted lower. Where candidates come from an index, a pair above the edge
    may not be among them: no held-out pair is sorted by it then.
    """
    held = approx.evidence
    one_set = approx.known.sides is None
    if not isinstance(held, HeldOut) or (one_set and is_large(approx.known.n)):
        return 0, 0
    below = approx.model.pairs(held.i, held.j) < edge
    return int(below.sum()), int((held.truth[below] >= level).sum())


class Waiting(NamedTuple):
    """Pairs that were not read and may match, those predicted highest first.

    Attributes
    ----------
    i, j, predicted
        Positions on the axis of all items, and predictions.
    excluded
        Pairs left out because they provably do not match.
    """

    i: Indices
    j: Indices
    predicted: NDArray[np.float64]
    excluded: int

    def part(self, start: int, count: int) -> "Waiting":
        """Return some of them."""
        some = slice(start, start + count)
        return Waiting(self.i[some], self.j[some], self.predicted[some], 0)

    def unread(self, reader: Reader, count: int, first_right: int) -> Pairs:
        """Return those that are still unread, with their predictions."""
        there = np.flatnonzero(~reader.known.lookup(self.i, self.j)[0])[:count]
        return Pairs(self.i[there], self.j[there] - first_right, self.predicted[there])


def waiting_after(
    approx: Approximation,
    reader: Reader,
    edge: float,
    level: float,
    *,
    wanted: int,
    rng: np.random.Generator,
) -> Waiting:
    """Rank the next unread pairs below an edge.

    Parameters
    ----------
    approx, reader
        Predicts; knows what was read since.
    edge, level
        Pairs predicted from there on were read; from where on a pair matches.
    wanted
        How many, about.
    rng
        Draws the pairs that say where so many begin.
    """
    known, sides = reader.known, approx.known.sides
    shift = 0 if sides is None else sides.split
    unread = known.pairs - known.moments().number
    i, j = known.sample_unknown(min(unread, _SEEN), rng)
    seen = np.asarray(approx.pairs(i, j - shift), dtype=np.float64)
    share = min(_MOST, 2 * wanted + _SPARE) / max(1, unread)
    start = -np.inf if share > 0.5 else float(np.quantile(seen, 1 - share))
    i, j = pairs_above(approx, start)
    new = ~known.lookup(i, j)[0]
    i, j = i[new], j[new]
    predicted = np.asarray(approx.pairs(i, j - shift), dtype=np.float64)
    below = predicted < edge
    i, j, predicted = i[below], j[below], predicted[below]
    order = np.lexsort((j, i, -predicted))
    i, j, predicted = i[order], j[order], predicted[order]
    possible = reader.may_reach(i, j, level)
    kept = np.flatnonzero(possible)
    return Waiting(i[kept], j[kept], predicted[kept], int((~possible).sum()))
