"""Linking by an approximation of two sets: it proposes, the similarity decides."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fewpairs.answers.evaluated import Pairs
from fewpairs.answers.matches import Matches
from fewpairs.answers.matching import find_matches, first_right, read_pairs
from fewpairs.answers.neighbors import check_k
from fewpairs.answers.sides import sides_of
from fewpairs.checks import check_flag, check_number, check_whole
from fewpairs.errors import InputError
from fewpairs.progress import Progress, Silence, as_progress
from fewpairs.result.approximation import Approximation
from fewpairs.types import Indices

__all__ = ["CANDIDATES", "check_asked", "check_sizes", "link", "match"]

CANDIDATES = 10  # of every row, among which one to one is assigned
_MORE = 8  # candidates that wait to take the place of those that disappoint
_ROUNDS = 6


def match(
    approx: Approximation,
    *,
    threshold: float | None = None,
    k: int | None = None,
    one_to_one: bool = False,
    evaluations: int | None = None,
    progress: bool | Progress = False,
) -> Matches:
    """Return which rows of two sets belong together; see ``Approximation.match``."""
    call = "Approximation.match"
    check_asked(call, threshold, k, one_to_one=one_to_one)
    check_whole(call, "evaluations", evaluations, none=True)
    if approx.known.sides is None:
        msg = (
            f"{call}: the approximation is of one set of {approx.shape[0]:,} items. "
            "Its pairs above a threshold are .duplicates(threshold); for two sets pass "
            "others= to fewpairs.approximate."
        )
        raise InputError(msg)
    check_sizes(call, approx.shape, threshold, k, one_to_one=one_to_one)
    return link(
        approx,
        threshold=threshold,
        k=k,
        one_to_one=one_to_one,
        most=evaluations,
        progress=as_progress(progress, call),
    )


def link(
    approx: Approximation,
    *,
    threshold: float | None,
    k: int | None,
    one_to_one: bool,
    most: int | None = None,
    also: tuple[Indices, Indices] | None = None,
    progress: Progress | None = None,
) -> Matches:
    """Return matches of an approximation of two sets, each evaluated.

    Parameters
    ----------
    threshold, k, one_to_one
        As in `fewpairs.match`.
    most
        Evaluations at most, for the candidates that are predicted highest.
    also
        Pairs that are candidates whatever is predicted, on the axis of all items.
    progress
        Told of every chunk that is read.
    """
    if threshold is not None:
        with np.errstate(over="ignore"):  # in single precision 1e300 is infinite
            found = find_matches(
                approx, threshold, most=most, also=also, cut=True, progress=progress
            )
        return found.assigned(found.pairs, found.others) if one_to_one else found
    depth = CANDIDATES if k is None else k
    looking = _Looking(approx, most, progress or Silence())
    best, after = looking.nearest(depth, "items", extra=not one_to_one)
    made = Matches(*Pairs.none(), threshold=None, sides=sides_of(approx), k=k)
    if one_to_one:
        # What right rows like best is taken where it is known: left ones are to be
        # matched, and there may be many more right ones.
        own = min(depth, approx.shape[0])
        more, _ = looking.nearest(own, "others", extra=False, rounds=0)
        both = best.plus(more.turned())
        keys = both.left * approx.shape[1] + both.right
        made = made.assigned(both.at(np.unique(keys, return_index=True)[1]), after)
    else:
        made = made.with_pairs(best, after)
    return replace(made, evaluations=looking.spent, checked=looking.checked)


class _Looking:
    """Evaluates what an approximation puts first, until the first are evaluated."""

    def __init__(
        self, approx: Approximation, most: int | None, progress: Progress
    ) -> None:
        self._approx, self._most, self._progress = approx, most, progress
        # Calls of the similarity; candidates; calls, those of a ledger included, by
        # which the limit goes: a run that goes on then answers the same.
        self.spent = self.checked = self._charged = 0

    def nearest(
        self, depth: int, of: str, *, extra: bool, rounds: int = _ROUNDS
    ) -> tuple[Pairs, Pairs]:
        """Return the best evaluated of every row, and those that come after.

        A row's candidates are the best by what is answered. Those among the first
        ``depth`` (with ``extra`` one more, which tells the margin) that were not read
        are evaluated; where they turn out lower, the next take their place.
        """
        approx = self._approx
        rows, there = approx.shape if of == "items" else approx.shape[::-1]
        wanted = min(there, depth + extra)
        found = approx.neighbors(min(there, wanted + _MORE), of=of)
        partner = np.array(found.indices)
        value = found.similarities.astype(np.float64)
        own = np.repeat(np.arange(rows), partner.shape[1]).reshape(partner.shape)
        read = self._known(own, partner, of)
        for _ in range(rounds):
            place = _places(value)
            chosen = self._allowed((place < wanted) & ~read, place, value)
            if not len(chosen[0]):
                break
            value[chosen] = self._evaluate(own[chosen], partner[chosen], of)
            read[chosen] = True
        value[~read] = -np.inf
        pairs = Pairs(own[read], partner[read], value[read])
        best = _places(value)[read] < depth
        return pairs.at(best), pairs.at(~best)

    def _known(self, own: Indices, partner: Indices, of: str) -> NDArray[np.bool_]:
        i, j = self._axis(own.ravel(), partner.ravel(), of)
        return self._approx.known.lookup(i, j)[0].reshape(own.shape)

    def _axis(self, own: Indices, partner: Indices, of: str) -> tuple[Indices, Indices]:
        """Return positions on the axis of all items, left ones first."""
        first = first_right(self._approx)
        return (own, partner + first) if of == "items" else (partner, own + first)

    def _allowed(
        self,
        wanted: NDArray[np.bool_],
        place: Indices,
        value: NDArray[np.float64],
    ) -> tuple[Indices, Indices]:
        """Return which candidates may be evaluated: the best of every row first."""
        row, column = np.nonzero(wanted)
        if self._most is None or not len(row):
            return row, column
        calls = self._approx.reader("match").calls
        left = max(0, self._most - self._charged) // calls
        if len(row) > left:
            best = np.lexsort((-value[row, column], place[row, column]))[:left]
            row, column = row[best], column[best]
        return row, column

    def _evaluate(self, own: Indices, partner: Indices, of: str) -> NDArray[np.float64]:
        i, j = self._axis(own, partner, of)
        reader = self._approx.reader("match")
        before, charged = reader.evaluations, reader.charged
        values = read_pairs(self._approx, i, j, self._progress)
        self.spent += reader.evaluations - before
        self._charged += reader.charged - charged
        self.checked += len(i)
        return values


def _places(value: NDArray[np.float64]) -> Indices:
    """Return which place, from 0 on, every entry has in its row."""
    order = np.argsort(-value, axis=1, kind="stable")
    place = np.empty_like(order)
    np.put_along_axis(place, order, np.arange(value.shape[1])[None, :], axis=1)
    return place


def check_asked(call: str, threshold: object, k: object, *, one_to_one: object) -> None:
    """Refuse what asks for two things at once, or for nothing."""
    check_number(call, "threshold", threshold, none=True)
    check_whole(call, "k", k, least=1, none=True)
    check_flag(call, "one_to_one", one_to_one)
    if threshold is not None and k is not None:
        msg = (
            f"{call}: got threshold={threshold:g} and k={k}; pass one of them. "
            ".rethreshold(t) of the k best leaves those that reach t."
        )
        raise InputError(msg)
    if threshold is None and k is None and not one_to_one:
        msg = (
            f"{call}: got neither threshold nor k. Pass threshold= for all pairs at "
            "least so similar, k= for the k best of every left row, or "
            "one_to_one=True."
        )
        raise InputError(msg)


def check_sizes(
    call: str,
    shape: tuple[int, int],
    threshold: float | None,
    k: int | None,
    *,
    one_to_one: bool,
) -> None:
    """Refuse what two sets of these sizes cannot have."""
    m, n = shape
    if k is not None:
        check_k(k, n, call, "right rows")
    if threshold is None and one_to_one and m > n:
        msg = (
            f"{call}: one_to_one with {m:,} left rows and {n:,} right ones: at least "
            f"{m - n:,} would stay without a partner, whatever they are like. Pass a "
            "threshold, below which rows stay unmatched, or exchange the sides."
        )
        raise InputError(msg)
