"""Candidates: for every item, the partners that may be among its most similar."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.kernels.linalg.blas_threads import in_threads
from fewpairs.kernels.linalg.selection import largest, largest_of_many
from fewpairs.matrix.entries import Entries
from fewpairs.methods.auto.best_values import best_values
from fewpairs.methods.auto.grown_turns import places_in_lists
from fewpairs.model.model import Model
from fewpairs.model.pair_inputs import PairInputs
from fewpairs.types import Indices

__all__ = ["Candidates", "ceilings", "find"]

_BLOCK = 1 << 19  # entries looked at at once
_SCORED = 1 << 16  # candidates scored at once
_NEW = 0.02  # share of new items below which old ones get no candidates of their own


@dataclass
class Candidates:
    """(n, m) arrays, a row per item; of two sets, per left item.

    Attributes
    ----------
    partner
        Positions of other items.
    score
        How similar they are taken to be; −∞ once a pair has been read.
    base, cheap
        What prior and low rank say, and the prior alone.
    near
        Each item's neighbors whose neighbors were looked at last, if they were.
    nearest, depth
        Each item's most similar by the prior, where an index or a GPU found them, and
        how many there are of an item beside them.
    by
        What found them: ``"cuda"`` where a GPU did, which then goes on.
    mixed
        Whether items take turns in an order that has nothing to do with their scores.
    rotates, taken
        Whether every choice goes on in that order where the last one ended, and how
        many pairs were chosen so far: few of them would be the first items' otherwise.
    """

    partner: NDArray[np.int32]
    score: NDArray[np.float32]
    base: NDArray[np.float32]
    cheap: NDArray[np.float32] | None
    near: NDArray[np.int32] | None = None
    nearest: NDArray[np.int32] | None = None
    depth: int = 0
    by: str | None = None
    mixed: bool = False
    rotates: bool = False
    taken: int = 0

    def forget(self) -> None:
        """Let go of what is said of every candidate; the prior's lists stay."""
        self.partner = np.empty((0, 1), dtype=np.int32)
        self.score = self.base = np.empty((0, 1), dtype=np.float32)
        self.cheap = None

    def choose(
        self,
        count: int,
        known: Entries,
        *,
        by: NDArray[Any] | None = None,
        mixed: bool | None = None,
        but: Sequence[PairInputs] = (),
    ) -> PairInputs:
        """Return ``count`` unread pairs: every item's best, then its second best.

        By score, or by another (n, m) array. Pairs once chosen are not offered again by
        their item; ``but``: not by their other item either. Fewer come where fewer are
        left. ``mixed``: how items take turns, if otherwise.
        """
        n, m = self.partner.shape
        score = self.score
        if by is not None:
            score = np.where(np.isfinite(self.score), by, -np.inf)
        found = np.empty(0, dtype=np.int64)
        places = np.empty(0, dtype=np.int64)  # in the raveled arrays
        before = [known.keys(part.i, part.j) for part in but]
        while len(found) < count:
            depth = min(m, int(2.2 * (count - len(found)) / n) + 2)
            top = _in_order(score, largest_of_many(score, depth))
            # By rank first: the best of every item, then the second best of every one;
            # among those of one rank by score, lest items be favored by their numbers.
            across = self._turns(np.take_along_axis(score, top, axis=1), mixed)
            item = across.T.ravel()
            place = item * m + np.take_along_axis(top, across, axis=0).T.ravel()
            live = np.isfinite(score.ravel()[place])
            item, place = item[live], place[live]
            if not len(item):
                break
            other = self.partner.ravel()[place].astype(np.int64)
            keys = known.keys(item, other)
            read = ~known.unread(item, other)
            if len(found) or before:
                read |= np.isin(keys, np.concatenate([found, *before]))
            unread = np.flatnonzero(~read)
            first, same = _first_of_equals(keys[unread])
            chosen = np.sort(first)[: count - len(found)]
            taken = np.zeros(len(first), dtype=bool)
            taken[same[chosen]] = True
            gone = np.concatenate([place[read], place[unread[taken[same]]]])
            found = np.concatenate([found, keys[unread[chosen]]])
            places = np.concatenate([places, place[unread[chosen]]])
            self.score.ravel()[gone] = -np.inf
            score.ravel()[gone] = -np.inf
        self.taken += len(found)
        return PairInputs(found // known.n, found % known.n, *self._said(places))

    def _choose_grown(
        self, known: Entries, orders: list[tuple[int, NDArray[Any] | None]]
    ) -> PairInputs:
        """Return unread pairs where a matrix has grown, whoever's turn it is.

        By the place in an item's list, as the scores or the prior alone have it; by
        another array, the largest.
        """
        n, m = known.n, self.partner.shape[1]
        taken = np.empty(0, dtype=np.int64)
        places = np.empty(0, dtype=np.int64)
        wanted = 0
        for count, by in orders:
            wanted += count
            at = self._in_grown_order(known, by)
            item, other = at // m, self.partner.ravel()[at].astype(np.int64)
            keys = np.minimum(item, other) * n + np.maximum(item, other)
            first = np.sort(np.unique(keys, return_index=True)[1])
            first = first[~np.isin(keys[first], taken)]
            unread = known.unread(item[first], other[first])
            first = first[unread][: wanted - len(taken)]
            taken = np.concatenate([taken, keys[first]])
            places = np.concatenate([places, at[first]])
            self.score.ravel()[at[first]] = -np.inf
        return PairInputs(taken // n, taken % n, *self._said(places))

    def _in_grown_order(self, known: Entries, by: NDArray[Any] | None) -> Indices:
        """Return the places of candidates, best first."""
        live = np.isfinite(self.score)
        if by is None:
            by = places_in_lists(self.score, known)
        elif by is self.cheap:
            shown = np.where(live, np.asarray(by), -np.inf)
            by = places_in_lists(shown, Entries(known.n, symmetric=True))
            # Of an old item's list new items are but a sample.
            items, others = known.seekers
            old, new = known.is_old(items), int(np.sum(~known.is_old(others)))
            by[old] = (by[old] - 0.5) * len(others) / max(1, new)
        at = np.flatnonzero(live & np.isfinite(by))
        return at[np.lexsort((-self.score.ravel()[at], -by.ravel()[at]))]

    def choose_by_both(
        self, count: int, known: Entries, *, by_prior: float
    ) -> PairInputs:
        """Return unread pairs, those of a share ``by_prior`` by the prior alone."""
        fewer = 0 if self.cheap is None else int(by_prior * count)
        orders = [(count - fewer, None), (fewer, self.cheap)]
        return self.choose_by_several(known, orders)

    def choose_ahead(self, count: int, known: Entries) -> PairInputs:
        """Return unread pairs that look most above the best one read of their item.

        One of every item before a second one of any. Where what looks best is below
        what was read, nothing is in doubt about the first place.
        """
        best = best_values(known, len(self.score), 1)
        some = np.isfinite(best)
        best = np.where(some, best, best[some].min() if some.any() else 0.0)
        return self.choose(count, known, by=self.score - best, mixed=False)

    def _turns(self, score: NDArray[Any], mixed: bool | None) -> NDArray[np.int64]:
        """Return in which order items take their turns, for every rank."""
        if not (self.mixed if mixed is None else mixed):
            return np.argsort(-score, axis=0)
        # Knuth's multiplicative hash: the same for every run.
        places = np.arange(len(score), dtype=np.int64) * 2_654_435_761 % (1 << 32)
        order = np.argsort(places)
        if self.rotates:
            order = np.roll(order, -(self.taken % len(order)))
        return np.broadcast_to(order[:, None], score.shape)

    def choose_by_several(
        self,
        known: Entries,
        orders: list[tuple[int, NDArray[Any] | None]],
        ahead: int = 0,
    ) -> PairInputs:
        """Return unread pairs: so many by each of several arrays, one after another.

        What one of them has no more of, the next one adds. ``ahead``: so many more that
        may be the first of their items (`choose_ahead`).
        """
        if known.earlier is not None and known.earlier.new_of(known)[1]:
            return self._choose_grown(known, [*orders, (ahead, None)])
        chosen = [self.choose_ahead(ahead, known)] if ahead else []
        short = ahead - sum(map(len, chosen))
        for count, by in orders:
            wanted = count + short
            chosen.append(self.choose(wanted, known, by=by, but=chosen))
            short = wanted - len(chosen[-1])
        return PairInputs.joined(chosen)

    def score_anew(
        self, scorer: Callable[[PairInputs], NDArray[Any]], depth: int | None = None
    ) -> None:
        """Score all candidates by what a scorer makes of them, or the best of each."""
        n, m = self.partner.shape
        flat = self.score.ravel()

        def rescore(start: int) -> None:
            rows = np.arange(start, min(start + step, n))[:, None]
            places = np.arange(m)
            if depth is not None and depth < m:
                places = largest(self.score[start : start + step], depth)
            part = (rows * m + places).ravel()
            part = part[np.isfinite(flat[part])]
            partner = self.partner.ravel()[part].astype(np.int64)
            flat[part] = scorer(PairInputs(part // m, partner, *self._said(part)))

        step = max(1, _SCORED // min(m, depth or m))
        in_threads(rescore, range(0, n, step))

    def _said(self, places: Indices) -> tuple[NDArray[Any], NDArray[Any] | None]:
        cheap = None if self.cheap is None else self.cheap.ravel()[places]
        return self.base.ravel()[places], cheap


def _first_of_equals(keys: Indices) -> tuple[Indices, Indices]:
    """Return the first place of every different key, and for all keys which it is.

    ``np.unique`` sorts stably for that, which takes three times as long.
    """
    order = np.argsort(keys)
    rising = keys[order]
    begins = np.ones(len(keys), dtype=bool)
    begins[1:] = rising[1:] != rising[:-1]
    same = np.empty(len(keys), dtype=np.int64)
    same[order] = np.cumsum(begins) - 1
    return np.minimum.reduceat(order, np.flatnonzero(begins)), same


def _in_order(score: NDArray[Any], top: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sort places in every row by falling score."""
    order = np.argsort(-np.take_along_axis(score, top, axis=1), kind="stable")
    return np.take_along_axis(top, order, axis=1)


def find(model: Model, known: Entries, most: int) -> Candidates:
    """Return every item's candidates by a model's predictions, and by its prior.

    Price: one pass of blockwise products of all rows with all columns; memory
    O(n · most). By the prior alone come half as many again: it knows near-duplicates
    that few landmarks say nothing of.
    """
    everything, others = known.seekers
    n, first = len(everything), int(others[0])
    there = len(others) - (first == 0)
    most = max(1, min(most, there))
    extra = 0 if model.prior is None else max(1, min(most // 2, there - most))
    out = Candidates(
        np.zeros((n, most + extra), dtype=np.int32),
        np.full((n, most + extra), -np.inf, dtype=np.float32),
        np.zeros((n, most + extra), dtype=np.float32),
        None if model.prior is None else np.zeros((n, most + extra), dtype=np.float32),
    )

    left = model.low_rank.left
    if left.dtype == np.float64:  # scores are kept in single precision
        single = replace(model.low_rank, left=left.astype(np.float32))
        model = replace(model, low_rank=single)

    def look(rows: Indices) -> None:
        inputs = model.block_inputs(rows, others)
        score = base = inputs.base.astype(np.float32, copy=False)
        cheap = inputs.cheap
        if model.student is not None:
            score = model.student.block(inputs._replace(base=base))
        bars = _bars(known, rows, score, cheap, most)
        # What is read is out of the question, so its inputs need not be kept.
        known.hide(score, rows, first)
        top = largest(score, most)
        if extra and cheap is not None:
            said = np.take_along_axis(cheap, top, axis=1)
            known.hide(cheap, rows, first)
            np.put_along_axis(cheap, top, -np.inf, axis=1)
            more = largest(cheap, extra)
            np.put_along_axis(cheap, top, said, axis=1)
            top = np.hstack([top, more])
        out.partner[rows] = top + first
        out.score[rows] = np.take_along_axis(score, top, axis=1)
        out.base[rows] = np.take_along_axis(base, top, axis=1)
        if cheap is not None and out.cheap is not None:
            out.cheap[rows] = np.take_along_axis(cheap, top, axis=1)
        if bars is not None:
            below = out.score[rows] < bars[0][:, None]
            if out.cheap is not None:
                below &= out.cheap[rows] < bars[1][:, None]
            out.score[rows] = np.where(below, -np.inf, out.score[rows])

    known.scattered()  # sorted before several threads look
    known.hide(np.zeros((1, len(others))), everything[:1], first)
    step = max(1, _BLOCK // len(others))
    looking = _looking(known, everything)
    chunks = [looking[at : at + step] for at in range(0, len(looking), step)]
    in_threads(look, chunks)
    return out


def _looking(known: Entries, items: Indices) -> Indices:
    """Return the items that get candidates: where a matrix has grown, not all do.

    Of one set, a few new items look for old ones themselves; of two sets, old left
    items look where right ones are new.
    """
    if known.earlier is None:
        return items
    fresh, partners = known.earlier.new_of(known)
    few = not partners if known.sides is not None else fresh < _NEW * len(items)
    return items[~known.is_old(items)] if few else items


def _bars(
    known: Entries,
    rows: Indices,
    score: NDArray[Any],
    cheap: NDArray[Any] | None,
    place: int,
) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """Return what new items must reach to be candidates of old ones, by either score.

    Such a place among those that are taken to be most similar to the old item. New
    items take any.
    """
    if not known.old:
        return None
    bars = [np.full(len(rows), -np.inf, dtype=np.float32) for _ in range(2)]
    old = known.is_old(rows)
    for bar, values in zip(bars, (score, cheap), strict=True):
        if values is not None and old.any():
            bar[old] = -np.partition(-values[old], place - 1, axis=1)[:, place - 1]
    return bars[0], bars[1]


def ceilings(
    n: int, i: Indices, j: Indices, values: NDArray[Any], share: float = 0.9
) -> NDArray[np.float32]:
    """Return, for every item, the level that ``share`` of its values keep below.

    Items with fewer than three values have none (+∞).
    """
    item = np.concatenate([i, j])
    both = np.concatenate([values, values])
    order = np.lexsort((both, item))
    item, both = item[order], both[order]
    start = np.searchsorted(item, np.arange(n))
    number = np.searchsorted(item, np.arange(n), side="right") - start
    out = np.full(n, np.inf, dtype=np.float32)
    enough = number >= 3
    at = start + np.maximum(np.ceil(share * number).astype(np.int64) - 1, 0)
    out[enough] = both[at[enough]]
    return out
