"""Certifying: sampling what was not read, until a list is as complete as asked."""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fewpairs.answers.all_pairs import level_of
from fewpairs.answers.evaluated import Pairs
from fewpairs.answers.front import front_of, held_after, waiting_after
from fewpairs.answers.matches import Matches
from fewpairs.answers.recall import RecallCertificate, Target
from fewpairs.kernels.statistics.hypergeometric import draws_needed
from fewpairs.kernels.statistics.ordered import missing_at_any_time, missing_at_most
from fewpairs.kernels.statistics.sequential import Strata, total_at_most
from fewpairs.progress import Progress, Silence
from fewpairs.reading.reader import Reader
from fewpairs.result.approximation import Approximation
from fewpairs.result.certificate import HeldOut
from fewpairs.types import Indices

__all__ = ["EARLY", "certify"]

EARLY = 0.2  # part of δ for looks before the budget ends; the last one has the rest
_LOOKS = 25  # times that a sample is looked at, at least
_BATCH = 64  # draws between two looks, at least
_PROBED = 2_000  # draws that say which share of them proofs make free
_DRAWS = 4_000_000  # of a sample, at most
_NEXT = 20  # pairs to look at


def certify(
    approx: Approximation,
    found: Matches,
    target: Target,
    *,
    allowed: int = 0,
    sample: int = 0,
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
    allowed, sample
        Pairs that may be evaluated, and how many of them are for a sample: what is
        left goes to the next candidates first, as far as the recall takes that.
    seed
        Of the sample.
    progress
        Told of every batch.
    """
    sampling = _Sampling(approx, found, target, allowed, progress or Silence())
    rng = np.random.default_rng([seed, approx.known.n, 21])
    if target.recall is not None:
        sampling.run(min(sample, allowed), rng)
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
        self._front = front_of(approx, found, self._level)
        self._rest = self._unread()  # pairs that draws are from
        self._drawn = self._drawn_hits = self._allowed_draws = 0
        self._planned = len(self._front.hit)  # pairs to be read in order
        self._missing: float = math.inf  # under the assumption
        self._strict: int | None = None  # for any model
        self._price: int | None = None
        self._next = Pairs.none()

    # --- what there is -----------------------------------------------------------

    @property
    def _matches(self) -> int:
        return len(self._found) + self._hits

    def _unread(self) -> int:
        known = self._approx.known if self._reader is None else self._reader.known
        return known.pairs - known.moments().number

    def _recall(self, missing: float | None) -> float:
        """Return the least recall that a number of missing matches leaves."""
        if missing is None or not self._matches or math.isinf(missing):
            return 0.0
        return self._matches / (self._matches + missing)

    def _holds(self, missing: float | None) -> bool:
        recall = self._target.recall
        return recall is not None and self._recall(missing) >= recall

    # --- two statements ------------------------------------------------------------

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
        found = len(self._found) - self._found.known + self._hits
        return max(0, most - hits - found)

    def _for_any_model(self) -> int:
        """Return how many may be missing, by uniform draws."""
        strata = Strata.of([self._rest], [self._drawn], [self._drawn_hits])
        most = total_at_most(strata, self._target.delta) - self._drawn_hits
        return most if self._strict is None else min(most, self._strict)

    def _assumed(self, *, last: bool) -> float:
        """Return how many may be missing if matches do not become more frequent."""
        held, hits = held_after(self._approx, self._front.edge, self._level)
        drawn = held + self._drawn
        reads = self._front.reads(
            self._planned, self._rest + held, drawn, hits + self._drawn_hits
        )
        if not reads.front + reads.drawn:
            return math.inf
        delta = self._target.delta
        if self._target.recall is None:  # the only look
            return missing_at_most(reads, delta)
        if last and not self._target.guarantee:
            return missing_at_most(reads, (1 - EARLY) * delta)
        share = 1.0 if self._target.guarantee else EARLY
        planned = self._planned + held + self._allowed_draws
        return missing_at_any_time(reads, share * delta, planned)

    # --- sampling --------------------------------------------------------------------

    def run(self, sample: int, rng: np.random.Generator) -> None:
        """Read on where the recall takes it, then draw from all that is left."""
        reader = self._approx.reader("fewpairs: recall")
        known = reader.known
        i, j = known.sample_unknown(min(self._unread(), _PROBED), rng)
        share = max(1e-4, float(reader.may_reach(i, j, self._level).mean()))
        self._expect(self._unread(), share)
        more = 0 if self._target.guarantee else self._worthwhile(sample, share)
        self._planned = len(self._front.hit) + more
        waiting = waiting_after(
            self._approx,
            reader,
            self._front.edge,
            self._level,
            wanted=more + _NEXT,
            rng=rng,
        )
        self._excluded += waiting.excluded
        self._progress.start("sampling what was not read", self._left)
        try:
            ahead = waiting.part(0, more)
            if len(ahead.i):
                hit = self._read(reader, ahead.i, ahead.j)
                self._front = self._front.further(hit, float(ahead.predicted[-1]))
            self._draw_on(reader, share, rng)
        finally:
            self._progress.finish()
        self._next = waiting.unread(reader, _NEXT, self._shift)

    def _worthwhile(self, sample: int, share: float) -> int:
        """Return how many pairs to read in order before a sample is drawn."""
        recall, delta = self._target.recall or 1.0, EARLY * self._target.delta
        needed = draws_needed(self._unread(), self._matches, recall, delta)
        if needed is None:
            return 0
        counted = self._front.reads(len(self._front.hit), 0, 0, 0).front
        return int(np.clip(needed - counted - sample / share, 0, self._left - sample))

    def _draw_on(self, reader: Reader, share: float, rng: np.random.Generator) -> None:
        self._rest = self._unread()
        draws = math.ceil(1.1 * self._left / share) + _PROBED
        i, j = reader.known.sample_unknown(min(self._rest, _DRAWS, draws), rng)
        self._allowed_draws = len(i)
        # Looks are as close together as the price, in draws, asks for.
        needed = len(i) if self._price is None else math.ceil(self._price / share)
        batch = max(_BATCH, min(len(i), needed) // _LOOKS)
        while self._drawn < len(i) and self._left > 0:
            part = slice(self._drawn, self._drawn + batch)
            done, hits = self._draw(reader, i[part], j[part])
            self._drawn, self._drawn_hits = self._drawn + done, self._drawn_hits + hits
            self._strict = self._for_any_model()
            self._missing = self._assumed(last=False)
            asked = self._strict if self._target.guarantee else self._missing
            if self._holds(asked):
                return
            if done < len(i[part]):
                break
        if not self._target.guarantee:
            self._missing = self._assumed(last=True)

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

    # --- what comes of it ----------------------------------------------------------

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
        if self._target.recall is None:
            self._missing = self._assumed(last=True)
        if not self._drawn:
            self._strict = self._held_out()
        guaranteed, assumed = self._recall(self._strict), self._recall(self._missing)
        missing, asked = self._missing, self._target.recall
        reached = guaranteed if self._target.guarantee else assumed
        sampled = self._new.number
        calls = self._approx.reader("fewpairs: recall").calls if sampled else 1
        made = RecallCertificate(
            recall_at_least=assumed,
            guaranteed=guaranteed,
            confidence=1 - self._target.delta,
            found=self._matches,
            sampled=sampled * calls,
            excluded=self._excluded + self._found.excluded,
            certified=asked is not None and reached >= asked,
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
