"""Certifying: sampling what was not read, until a list is as complete as asked."""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fewpairs.answers.all_pairs import level_of
from fewpairs.answers.evaluated import Pairs
from fewpairs.answers.ladder import Steps, UnreadRanking, rank
from fewpairs.answers.matches import Matches
from fewpairs.answers.recall import RecallCertificate, Target
from fewpairs.kernels.statistics.hypergeometric import draws_needed
from fewpairs.kernels.statistics.sequential import Strata, total_at_most
from fewpairs.progress import Progress, Silence
from fewpairs.reading.reader import Reader
from fewpairs.result.approximation import Approximation
from fewpairs.result.certificate import HeldOut
from fewpairs.types import Indices

__all__ = ["certify"]

_LOOKS = 25  # times that a sample is looked at, at least
_BATCH = 64  # draws between two looks, at least
_PROBED = 2_000  # draws that say which share of them proofs make free
_DRAWS = 4_000_000  # of a strict sample, at most
_NEXT = 20  # pairs to look at


def certify(
    approx: Approximation,
    found: Matches,
    target: Target,
    *,
    allowed: int = 0,
    seed: int = 0,
    progress: Progress | None = None,
) -> Matches:
    """Return a list with its certificate, and the matches that a sample has found.

    Evaluations: at most ``allowed`` pairs, none without a recall that is asked for;
    sampling stops once that holds.

    Parameters
    ----------
    approx
        Has proposed the list: pairs that it predicts highest were read, all of them.
    found
        The list, of pairs above a threshold.
    target
        What is asked for.
    allowed
        Pairs that may be evaluated.
    seed
        Of the sample.
    progress
        Told of every batch.
    """
    sampling = _Sampling(approx, found, target, allowed, progress or Silence())
    rng = np.random.default_rng([seed, approx.known.n, 21])
    if target.recall is None:
        return sampling.result()
    if target.guarantee:
        sampling.strictly(rng)
    else:
        sampling.by_steps(rng)
    return sampling.result()


class _Sampling:
    def __init__(
        self,
        approx: Approximation,
        found: Matches,
        target: Target,
        allowed: int,
        progress: Progress,
    ) -> None:
        self._approx, self._found, self._target = approx, found, target
        self._left, self._progress = allowed, progress
        self._reader: Reader | None = (
            None if approx.source is None else approx.source.reader
        )
        precision = np.dtype(float) if self._reader is None else self._reader.dtype
        self._level = level_of(float(found.threshold or 0.0), precision)
        sides = approx.known.sides
        self._shift = 0 if sides is None else sides.split
        self._new = Pairs.none()
        self._hits = self._excluded = 0
        self._missing: float = math.inf  # under the assumption
        # One statement is made of one sample: the best of two would fail more often.
        self._strict: int | None = None if target.guarantee else self._held_out()
        self._price: int | None = None
        self._next = Pairs.none()

    # --- what there is -----------------------------------------------------------

    @property
    def _matches(self) -> int:
        return len(self._found) + self._hits

    def _recall(self, missing: float | None) -> float:
        """Return the least recall that a number of missing matches leaves."""
        if missing is None or not self._matches or math.isinf(missing):
            return 0.0
        return self._matches / (self._matches + missing)

    def _held_out(self) -> int | None:
        """Return how many may be missing, by the pairs held out from the fit.

        They were drawn uniformly from all that was not read; candidates came after.
        """
        held = self._approx.evidence
        if not isinstance(held, HeldOut) or not len(held.i):
            return None
        hits = int((held.truth >= self._level).sum())
        size = self._approx.known.pairs - held.before.number
        strata = Strata.of([size], [len(held.i)], [hits])
        most = total_at_most(strata, self._target.delta)
        return max(0, most - hits - (len(self._found) - self._found.known))

    # --- for any model -----------------------------------------------------------

    def strictly(self, rng: np.random.Generator) -> None:
        """Draw uniformly from all unread pairs; proofs answer some of them."""
        reader = self._approx.reader("fewpairs: guarantee")
        known = reader.known
        size = known.pairs - known.moments().number
        i, j = known.sample_unknown(min(size, _PROBED), rng)
        share = max(1e-4, float(reader.may_reach(i, j, self._level).mean()))
        self._expect(size, share)
        draws = min(size, _DRAWS, math.ceil(1.1 * self._left / share) + _PROBED)
        i, j = known.sample_unknown(draws, rng)
        drawn = hits = 0
        most = size  # matches among all; the least of all looks holds, too
        # Looks are as close together as the price, in draws, asks for.
        needed = len(i) if self._price is None else math.ceil(self._price / share)
        batch = max(_BATCH, min(len(i), needed) // _LOOKS)
        self._progress.start("sampling what was not read", self._left)
        try:
            while drawn < len(i):
                part = slice(drawn, drawn + batch)
                done, found = self._draw(reader, i[part], j[part])
                drawn, hits = drawn + done, hits + found
                strata = Strata.of([size], [drawn], [hits])
                most = min(most, total_at_most(strata, self._target.delta))
                self._strict = most - hits
                if self._holds(self._strict) or done < len(i[part]):
                    break
        finally:
            self._progress.finish()

    def _draw(self, reader: Reader, i: Indices, j: Indices) -> tuple[int, int]:
        """Take draws as far as they can be paid for; return how many, and the hits."""
        possible = reader.may_reach(i, j, self._level)
        paid = np.cumsum(possible)
        done = int(np.searchsorted(paid, self._left, side="right"))
        some = np.flatnonzero(possible[:done])
        self._excluded += done - len(some)
        return done, int(self._read(reader, i[some], j[some]).sum())

    def _expect(self, size: int, share: float) -> None:
        """Say what the strict statement takes, before it is begun."""
        recall, delta = self._target.recall, self._target.delta
        needed = draws_needed(size, self._matches, recall or 1.0, delta)
        self._price = None if needed is None else math.ceil(needed * share)
        note = getattr(self._progress, "note", None)
        if note is not None and self._price is not None:
            note(f"a guarantee takes about {self._price:,} evaluations")

    # --- under the assumption ------------------------------------------------------

    def by_steps(self, rng: np.random.Generator) -> None:
        """Draw from the strata below what was read, the likeliest first."""
        reader = self._approx.reader("fewpairs: recall")
        before = (self._found.checked, self._found.known)
        ranking = rank(self._approx, reader, self._level, before, rng)
        known = reader.known
        self._expect(known.pairs - known.moments().number, 1.0)
        if ranking is None:
            return
        self._excluded += ranking.excluded
        # What a fit has read itself says nothing of how rare matches become: candidates
        # that it has not seen do.
        if ranking.whole < self._left:
            ranking = self._read_on(reader, ranking, self._left // 2)
        steps = Steps(ranking, rng)
        if not steps.telling(self._target.delta):  # too few matches to go by
            ranking = self._read_on(reader, ranking, self._left)
            steps = Steps(ranking, rng)
        taken: list[Indices] = []
        if steps.useful:
            self._missing = steps.missing_at_most(self._target.delta)
            self._progress.start("sampling what was not read", self._left)
            try:
                taken = self._climb(reader, ranking, steps)
            finally:
                self._progress.finish()
        gone = np.concatenate([np.empty(0, dtype=np.int64), *taken])
        self._next = ranking.next_pairs(gone, _NEXT, self._shift)

    def _read_on(
        self, reader: Reader, ranking: UnreadRanking, count: int
    ) -> UnreadRanking:
        """Read the next pairs in the order of their predictions."""
        more = slice(ranking.whole, ranking.whole + count)
        return ranking.read_on(self._read(reader, ranking.i[more], ranking.j[more]))

    def _climb(
        self, reader: Reader, ranking: UnreadRanking, steps: Steps
    ) -> list[Indices]:
        taken = []
        batch = max(_BATCH, self._left // _LOOKS)
        while not self._holds(self._missing) and self._left > 0:
            places = steps.next(min(batch, self._left))
            if not len(places):
                break
            steps.take(self._read(reader, ranking.i[places], ranking.j[places]))
            taken.append(places)
            self._missing = steps.missing_at_most(self._target.delta)
        return taken

    # --- what comes of it ----------------------------------------------------------

    def _holds(self, missing: float | None) -> bool:
        recall = self._target.recall
        return recall is not None and self._recall(missing) >= recall

    def _read(self, reader: Reader, i: Indices, j: Indices) -> NDArray[np.bool_]:
        """Evaluate pairs and keep them; return which of them match."""
        values = reader.pairs(i, j) if len(i) else np.empty(0)
        hit = np.asarray(values >= self._level)
        values = np.where(hit, np.maximum(values, self._found.threshold or 0.0), values)
        self._new = self._new.plus(Pairs(i, j - self._shift, values))
        self._hits += int(hit.sum())
        self._left -= len(i)
        self._progress.advance(len(i))
        return hit

    def result(self) -> Matches:
        """Return the list, with what was found since, and its certificate."""
        guaranteed = self._recall(self._strict)
        missing, asked = self._missing, self._target.recall
        if self._target.guarantee or asked is None:
            missing = math.inf if self._strict is None else self._strict
        assumed = self._recall(missing)
        sampled = self._new.number
        calls = self._approx.reader("fewpairs: recall").calls if sampled else 1
        made = RecallCertificate(
            recall_at_least=assumed,
            guaranteed=guaranteed,
            confidence=1 - self._target.delta,
            found=self._matches,
            sampled=sampled * calls,
            excluded=self._excluded + self._found.excluded,
            certified=asked is not None and assumed >= asked,
            missing_at_most=None if math.isinf(missing) else math.floor(missing),
            missing_for_any_model=self._strict,
            price=self._price,
            target=self._target,
            next_pairs=self._next,
        )
        high = self._new.similarity >= (self._found.threshold or 0.0)
        joined = self._found.with_pairs(
            self._found.pairs.plus(self._new.at(high)),
            self._found.others.plus(self._new.at(~high)),
        )
        return replace(
            joined,
            certificate=made,
            checked=self._found.checked + sampled,
            evaluations=self._found.evaluations + sampled * calls,
        )
