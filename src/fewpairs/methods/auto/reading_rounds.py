"""Reading rounds: a scorer learns, candidates are scored, some of them are read."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

import numpy as np
from numpy.typing import NDArray

from fewpairs.methods.auto.borderline import NEIGHBORS
from fewpairs.methods.auto.correction_scorer import CorrectionScorer
from fewpairs.methods.auto.couples import ahead, hits_first
from fewpairs.methods.auto.errors_by_prior import ErrorsByPrior
from fewpairs.methods.auto.first_places import FirstPlaces, best_of
from fewpairs.methods.auto.proposals import searching
from fewpairs.methods.auto.read import Read
from fewpairs.methods.auto.round_steps import RoundSteps, steps_by
from fewpairs.methods.auto.spending import Spending
from fewpairs.methods.auto.tilting import tilt_told_by
from fewpairs.model.model import Model
from fewpairs.model.pair_inputs import PairInputs

if TYPE_CHECKING:
    from fewpairs.methods.auto.candidates_on_device import AnyCandidates

__all__ = ["ReadingRounds", "RoundScorer"]

# Shares of the first round, and of the others, by the prior alone; the second where
# nothing but neighbors counts, the third where the prior explains much.
_BY_PRIOR, _LESS_BY_PRIOR, _BY_GOOD_PRIOR = (0.3, 0.1), (0.1, 0.0), (0.5, 0.5)
# Share of the others that is read where a student is in doubt, by purpose.
_DOUBTFUL = {"balanced": 0.9, "neighbors": 0.9, "entries": 0.75, "across": 0.9}
_DOUBTFUL["across, entries"] = _DOUBTFUL["entries"]
# Without a student, pairs per item from which on most is read where it is in doubt who
# is among an item's most similar; the share of the last round that goes to those that
# likeliest are, as their values are worth something too; and the shares that go by the
# prior alone: a curve of it may be far off at its end, and sure of itself.
_DOUBTED, _SURE_AT_LAST, _IN_ANY_CASE = 4.0, 0.5, (0.15, 0.05)
# Share of a round of two sets for what may be the first of its left item.
_AHEAD = 0.5
_LATEST = 3  # rounds that tell how far a student errs
# Standard errors by which the prior alone has to put hits first more often than a
# correction does, to choose all that is read next; items that tell.
_SURE, _TELLING = 2.0, 1_000
_HOPS = 6  # neighbors whose neighbors are proposed

Orders = list[tuple[int, NDArray[Any] | None]]


class RoundScorer(Protocol):
    """What says which unread pairs look most similar.

    Attributes
    ----------
    answers
        Whether the model will answer as it scores.
    rounds
        How many there are.
    expands
        In every how many-th neighbors of neighbors are proposed; 0: never.
    scores_all
        In every how many-th all candidates are scored, not the best of each item alone.
    """

    answers: bool
    rounds: int
    expands: int
    scores_all: int

    def learn(self, training: Read, *, last: bool, label: str) -> None:
        """Learn from what was read."""

    @property
    def score(self) -> Callable[[PairInputs], NDArray[Any]]:
        """What says how similar pairs are taken to be."""


class ReadingRounds:
    """Reads what is in doubt, or looks most similar, round after round.

    Most of a round are pairs of which the scorer is in doubt whether they belong to an
    item's most similar (`fewpairs.methods.auto.borderline`); with a correction only
    from 4 pairs per item on, else what looks most similar. Of two sets half of a round
    goes where pairs may be the first of their left item (`Candidates.choose_ahead`).

    Parameters
    ----------
    spending
        What there is to spend.
    purpose
        What the budget is for.
    per_item
        Pairs per item that the whole budget buys.
    good_prior
        Whether the prior alone explains much.

    Attributes
    ----------
    first_places
        Of two sets, whether what was predicted to be first was.
    lead
        Standard errors by which a correction was ahead of the prior alone at putting
        first what turned out to be among an item's most similar; ``None`` where nobody
        compared them.
    foretold
        What a correction said of pairs before they were read, and their values.
    """

    def __init__(
        self, spending: Spending, purpose: str, per_item: float, *, good_prior: bool
    ) -> None:
        self._spending, self._purpose, self._per_item = spending, purpose, per_item
        self._by_prior = _LESS_BY_PRIOR if purpose == "neighbors" else _BY_PRIOR
        self._good_prior = good_prior
        if good_prior:
            self._by_prior = _BY_GOOD_PRIOR
        self._across = spending.oracle.cost.split is not None
        self.first_places = FirstPlaces()
        self.lead: float | None = None
        self.foretold: list[tuple[NDArray[Any], NDArray[Any]]] = []
        # The prior of pairs, and by how much they were missed when they were read.
        self._missed: list[tuple[NDArray[Any], NDArray[Any]]] = []
        self._tilt = 0.0, 0.0  # of `ErrorsByPrior`
        self._best: Any = None  # read of every item, of one set
        self._steps: RoundSteps

    def run(
        self,
        model: Model,
        read: Read,
        scorer: RoundScorer,
        correction: CorrectionScorer,
    ) -> int:
        """Read until nothing is left to spend; return how many pairs.

        ``correction``: the scorer, or what is fitted beside it in the end.
        """
        spending = self._spending
        count, done = spending.left // spending.calls, 0
        known = spending.oracle.read
        if not count or model.prior is None:
            return done
        spending.oracle.note("finding candidates")
        found = self._found(model, scorer, count)
        correction.place(found)
        if self._across:
            done = self._firsts(found, read, count // 2)
        rounds = scorer.rounds
        for turn in range(rounds):
            scorer.learn(read, last=False, label=f"round {turn + 1} of {rounds}")
            wanted = (count - done) // (rounds - turn)
            found = self._scored(found, model, scorer, turn, wanted)
            ahead = int(_AHEAD * wanted) if self._across else 0
            last = turn == rounds - 1
            orders = self._orders(
                found,
                wanted - ahead,
                turn,
                self._errors(read, scorer),
                trained=scorer.answers,
                last=last,
            )
            inputs = found.choose_by_several(known, orders, ahead)
            if not len(inputs):
                break
            best = best_of(known) if self._across else None
            if not (scorer.answers or self._across or spending.paid):
                self._best_read(found)
            inputs, values = spending.take(inputs)
            if not len(inputs):
                break
            said = self._steps.said(scorer.score, inputs)
            self.first_places.count(turn, best, inputs, said, values)
            if turn and not scorer.answers:  # before, it had learned of none like them
                self.foretold.append((said, values))
            self._missed.append((np.asarray(inputs.cheap), values - said))
            if self._best is not None:
                new = inputs.i, inputs.j, values
                self._best = self._steps.with_new(self._best, *new)
                if not scorer.answers:
                    self._compare(inputs, values, said, first=turn == 0)
            done += len(inputs)
            read.chosen.add(inputs, values)
        del found  # of many items, as much as what is learned last needs
        scorer.learn(read, last=True, label="last round")
        return done

    def _found(self, model: Model, scorer: RoundScorer, count: int) -> "AnyCandidates":
        """Return the first candidates."""
        oracle = self._spending.oracle
        by = searching(oracle)
        depth = self._depth(count)
        self._steps = steps_by(by, model, oracle.read, depth)
        found: AnyCandidates
        found = self._steps.propose(model, oracle.read, depth, by=by)
        # What scores highest is known best: a student, which is in doubt elsewhere,
        # may begin there, a correction learns more where items take turns.
        found.mixed = not scorer.answers
        found.rotates = self._across
        return found

    def _scored(
        self,
        found: "AnyCandidates",
        model: Model,
        scorer: RoundScorer,
        turn: int,
        wanted: int,
    ) -> "AnyCandidates":
        """Return candidates with their scores, and new ones where it is time."""
        known = self._spending.oracle.read
        bent, every = model, turn % scorer.scores_all == 0
        if isinstance(scorer, CorrectionScorer):
            bent = replace(model, correction=scorer.correction)
            # An index found them by prior and low rank: now it is known what counts.
            if turn == 1 and found.by is not None and scorer.correction is not None:
                found, every = self._found_anew(found, bent), True
        ranks = scorer.score
        if turn < 2 and self._begins_halfway(scorer):
            # Other scores than all later ones: none of them must be left.
            ranks, every = scorer.score if turn else scorer.halfway, True
        found.score_anew(ranks, None if every else self._near(wanted))
        if scorer.expands and turn % scorer.expands == scorer.expands - 1:
            found = self._steps.expand(found, bent, known, scorer.score, _HOPS)
        return found

    def _begins_halfway(self, scorer: RoundScorer) -> TypeGuard[CorrectionScorer]:
        """Tell whether the first round goes halfway to a prior that says much."""
        fits = isinstance(scorer, CorrectionScorer)
        return fits and self._good_prior and not self._across

    def _found_anew(self, before: "AnyCandidates", model: Model) -> "AnyCandidates":
        """Return other candidates, of which one reads as of those before."""
        known, depth = self._spending.oracle.read, before.depth
        before.forget()  # of many items they are a large part of what is in memory
        found: AnyCandidates
        propose = self._steps.propose
        found = propose(model, known, depth, by=before.by, before=before)
        found.mixed, found.rotates = before.mixed, before.rotates
        found.taken = before.taken
        return found

    def _firsts(self, found: "AnyCandidates", read: Read, most: int) -> int:
        """Read what the prior puts first of every item; return how many pairs."""
        spending = self._spending
        most = min(most, len(found.score))
        inputs = found.choose_by_several(spending.oracle.read, [(most, found.cheap)])
        inputs, values = spending.take(inputs)
        read.chosen.add(inputs, values)
        return len(inputs)

    def _errors(self, read: Read, scorer: RoundScorer) -> ErrorsByPrior | None:
        """Return how far a scorer errs; ``None``: it is not known, or does not matter.

        A student knows random pairs by heart, and errs otherwise from round to round.
        """
        if scorer.answers:
            latest = self._missed[-_LATEST:]
            return ErrorsByPrior.told_by(*zip(*latest, strict=True)) if latest else None
        few = self._per_item < _DOUBTED
        if self._across or few or self._spending.paid:
            return None
        random = read.uniform.inputs
        said = self._steps.said(scorer.score, random)
        now = np.asarray(random.cheap), read.uniform.values - said
        told = ErrorsByPrior.told_by(*zip(now, *self._missed, strict=True))
        return told._replace(tilt=self._tilt[0], middle=self._tilt[1])

    def _orders(
        self,
        found: "AnyCandidates",
        wanted: int,
        turn: int,
        errors: ErrorsByPrior | None,
        *,
        trained: bool,
        last: bool,
    ) -> Orders:
        """Return how many pairs of a round to choose, by what.

        Some by the prior alone. Of the others, once it is known how far a student errs,
        most where it is in doubt whether they belong to an item's most similar, and
        some at the top, so that the very first are exact. By a correction, where there
        are enough of them for doubts, these, and in the end what is sure; but all by
        the prior where that is ahead, and first what halfway to a good prior looks
        similar: nobody knows yet how far that is off where it matters.
        """
        if self.prior_leads and not trained:
            return [(wanted, found.cheap)]
        if turn == 0 and self._good_prior and not (trained or self._across):
            fewer = int(_IN_ANY_CASE[0] * wanted)
            return [(fewer, found.cheap), (wanted - fewer, None)]
        doubts = errors and self._steps.borderline(
            found, self._best_read(found), errors, sure=last and not trained
        )
        if doubts is not None and not trained:
            sure = int(_SURE_AT_LAST * wanted) if last else 0
            fewer = int(_IN_ANY_CASE[min(turn, 1)] * wanted)
            left = wanted - sure - fewer
            return [(fewer, found.cheap), (left, doubts.worth), (sure, doubts.chance)]
        fewer = 0 if found.cheap is None else int(self._by_prior[min(turn, 1)] * wanted)
        orders: Orders = [(fewer, found.cheap)]
        left = wanted - fewer
        if doubts is not None:
            doubtful = int(_DOUBTFUL[self._purpose] * left)
            orders.append((doubtful, doubts.worth))
            left -= doubtful
        return [*orders, (left, None)]

    @property
    def prior_leads(self) -> bool:
        """Whether the prior alone put hits first more often than a correction did."""
        return self.lead is not None and self.lead < -_SURE

    def _compare(
        self,
        inputs: PairInputs,
        values: NDArray[Any],
        said: NDArray[Any],
        *,
        first: bool,
    ) -> None:
        """Compare a correction with the prior alone, by pairs that neither had seen.

        The latest round that is sure of it tells who is ahead, the latest of all how
        much more the prior shall count.
        """
        if inputs.cheap is None:
            return
        tenth = self._steps.lowest(self._best)
        item = np.concatenate([inputs.i, inputs.j])
        at = np.flatnonzero(item % max(1, len(tenth) // _TELLING) == 0)
        item, pair = item[at], at % len(values)
        hit = values.astype(np.float32)[pair] >= tenth[item]
        lead = ahead(*(hits_first(item, hit, x[pair]) for x in (said, inputs.cheap)))
        if abs(lead) > _SURE or self.lead is None:
            self.lead = lead
        both = said[pair], np.asarray(inputs.cheap)[pair]
        tilt = tilt_told_by(item, *both, values[pair], first=first)
        self._tilt = tilt, float(np.mean(inputs.cheap))

    def _best_read(self, found: "AnyCandidates") -> Any:
        """Return the largest values that were read of every item so far."""
        if self._best is None:
            known = self._spending.oracle.read
            n = len(found.score)
            self._best = self._steps.best_values(known, n, NEIGHBORS)
        return self._best

    def _depth(self, count: int) -> int:
        return max(48, min(2 * int(self._spending.per_item(count)) + 32, 256))

    def _near(self, wanted: int) -> int:
        return 4 * int(self._spending.per_item(wanted)) + 24
