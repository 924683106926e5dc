"""Few evaluations per item: random pairs, then rounds of what looks most similar."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fewpairs.matrix.earlier import mark
from fewpairs.methods.auto.borderline import worth_reading
from fewpairs.methods.auto.candidates import Candidates
from fewpairs.methods.auto.confirming import confirms, tops_of, tops_stand_out
from fewpairs.methods.auto.correcting import CorrectionScorer
from fewpairs.methods.auto.expansion import expand
from fewpairs.methods.auto.first_look import CLOSER, FEWEST, FirstLook, buy_landmarks
from fewpairs.methods.auto.first_places import FirstPlaces, best_of
from fewpairs.methods.auto.hubs import read_hubs
from fewpairs.methods.auto.item_features import beside, item_features
from fewpairs.methods.auto.left_columns import columns_to_buy
from fewpairs.methods.auto.pair_regression import PairRegression
from fewpairs.methods.auto.prior_curve import mended
from fewpairs.methods.auto.proposals import propose, searching
from fewpairs.methods.auto.read import Read
from fewpairs.methods.auto.shares import random_share
from fewpairs.methods.auto.spending import RANDOM, Spending
from fewpairs.methods.auto.trained_scorer import TrainedScorer
from fewpairs.methods.weighing import says_much, weighed, worth
from fewpairs.model.blend import Blend
from fewpairs.model.model import Model
from fewpairs.model.pair_inputs import PairInputs
from fewpairs.model.training_pairs import TrainingPairs
from fewpairs.similarity.priors import Prior
from fewpairs.types import Indices

__all__ = ["FewStage", "random_share"]

_HELD, _MOST_HELD = 0.08, 2_000  # of the random pairs, to tell where a student is right
# Share of the budget, and random pairs at least, that tell what the prior is worth and
# how long evaluations take; fewer than the last tell nothing.
_TIMED, _LOOKED, _TOLD = 0.02, 300, 60
# Share of the budget for a prior that nobody asked for, of one set and of two.
_UNASKED, _UNASKED_ACROSS = 0.03, 0.1
# Shares of the first round, and of the others, by the prior alone; the second where
# nothing but neighbors counts.
_BY_PRIOR, _LESS_BY_PRIOR = (0.3, 0.1), (0.1, 0.0)
# The same where it explains much; half as many random pairs, or so many, will do.
_BY_GOOD_PRIOR, _ENOUGH = (0.5, 0.5), 400
# Share of the others that is read where a student is in doubt, by purpose.
_DOUBTFUL = {"balanced": 0.9, "neighbors": 0.9, "entries": 0.75, "across": 0.9}
_DOUBTFUL["across, entries"] = _DOUBTFUL["entries"]
# Share of a round of two sets for what may be the first of its left item.
_AHEAD = 0.5
_GROWN = 1 / 3  # of a usual share of random pairs, where earlier runs have drawn some
_HOPS = 6  # neighbors whose neighbors are proposed
_OWN = 12  # directions of the embeddings that every item has weights for


class _Scorer(Protocol):
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


class FewStage:
    """Spends a budget of few evaluations per item.

    1. Random pairs fit the prior's curve, the items' effects and a bilinear form
       (`PairRegression`); without training as many as the effects call for, and with a
       few landmarks where these explain much of the rest (`FirstLook`). Of two sets,
       right items that look near to most left ones are read more often (`hubs`).
    2. Rounds: a scorer learns from all that was read, candidates come from the model,
       the prior and neighbors of neighbors, and some are read, best of every item
       first; of two sets half of them where they may be the first of their left item
       (`Candidates.choose_ahead`). The scorer is a student where training pays; then
       most of what is read are pairs of which it is in doubt
       (`fewpairs.methods.auto.borderline`). Else it is a correction of the model, in
       closed form (`Correcting`).
    3. Held-out random pairs say in which region the student answers.
    """

    def __init__(self, spending: Spending, prior: Prior | None, purpose: str) -> None:
        self.spending, self.prior, self.purpose = spending, prior, purpose
        self._drawn = [spending.earlier_random()]
        self._by_prior = _LESS_BY_PRIOR if purpose == "neighbors" else _BY_PRIOR
        none = np.empty(0, dtype=np.int64)
        self._tested = none, none  # pairs that told whether landmarks pay
        self.chosen = 0  # pairs read by what looked most similar
        self._across = spending.oracle.cost.split is not None
        self.first_places = FirstPlaces()  # of two sets
        self._foretold: list[tuple[NDArray[Any], NDArray[Any]]] = []

    @property
    def per_item(self) -> float:
        """Pairs per item that the whole budget buys."""
        return self.spending.per_item(self.spending.budget / self.spending.calls)

    def look(self, most: int) -> bool:
        """Buy some random pairs, and tell whether they confirm the prior.

        By an F-test of a cubic of the prior and sums of the items' features, against
        the mean; else by whether the pairs that it puts first lie above them. They also
        tell how long evaluations take. ``most``: evaluations; where they are too few to
        tell although there were more, the prior is not confirmed.
        """
        spending = self.spending
        # One that nobody asked for must not cost much where it says nothing.
        asked = self.prior is None or self.prior.asked
        across = self._across
        share = 0.25 if asked else (_UNASKED_ACROSS if across else _UNASKED)
        fewest = min(_LOOKED * spending.calls, int(share * spending.budget))
        self.draw(min(most, max(int(_TIMED * spending.budget), fewest)))
        i, j, values = self.random()
        self.prior = weighed(self.prior, i, j, values)
        if self.prior is None or len(values) < _TOLD:
            return self.prior is not None and asked and most >= spending.left
        if confirms(self.prior, i, j, values, spending.rng):
            return True
        return (asked or across) and tops_stand_out(
            tops_of(self.prior, spending)[2], values
        )

    @property
    def says_much(self) -> bool:
        """Whether the prior explains a good part of the random pairs."""
        return self.prior is not None and says_much(self.prior, *self.random())

    def random(self) -> tuple[Indices, Indices, NDArray[Any]]:
        """Return the random pairs bought so far, and their values."""
        return _joined(self._drawn)

    def add(self, i: Indices, j: Indices, values: NDArray[Any]) -> None:
        """Count pairs of random items that were read otherwise as random ones."""
        self._drawn.append((i, j, values))

    def uniform(self) -> tuple[Indices, Indices, NDArray[Any]]:
        """Return random pairs that are a uniform sample of the whole matrix."""
        return self.spending.uniform() if self.spending.paid else self.random()

    @property
    def foretold(self) -> tuple[NDArray[Any], NDArray[Any]] | None:
        """What was said of pairs before they were read, and their values."""
        if not self._foretold:
            return None
        said, values = zip(*self._foretold, strict=True)
        return np.concatenate(said), np.concatenate(values)

    def draw(self, evaluations: int) -> None:
        """Buy random pairs for so many evaluations."""
        wanted = min(evaluations, self.spending.left)
        if wanted >= self.spending.calls:
            self._drawn.append(self.spending.random_pairs(wanted))

    def fit(
        self, learns: bool, seconds: float, rng: np.random.Generator, least: int = 0
    ) -> tuple[Model, str, list[str]]:
        """Spend what is left; return the model, what it is, and what was done.

        ``least``: evaluations of random pairs, the last ones among them, that tell a
        mean, should nothing better come of it.
        """
        spending, n = self.spending, self.spending.n
        before, *rest = (len(part[2]) * spending.calls for part in self._drawn)
        had = sum(rest)
        told = self.says_much
        share = random_share(self.purpose, self.per_item, told=told or not learns)
        if told and not learns and self.purpose != "across, entries":
            enough = _ENOUGH * spending.calls / (spending.left + had)
            share = max(share / 2, min(share, enough))
            self._by_prior = _BY_GOOD_PRIOR
        if before:
            share *= _GROWN  # those of earlier runs tell the curve and the bulk
        if self.prior is None:
            share = 1.0  # nothing proposes pairs
        least -= before + spending.reserve
        self.draw(max(int(share * (spending.left + had)), least) - had)
        if not learns:
            self._look_closer()
        i, j, values = spending.mixed(self.random())
        held = min(_MOST_HELD, int(_HELD * len(values))) if learns else 0
        # Not kept: its features take as much as the embeddings do.
        first = spending.oracle.cost.split or 0
        columns = None if learns or first else spending.columns
        regression = PairRegression(
            n, self.prior, spending.rng, first=first, landmarks=spending.landmarks
        )
        random = i[held:], j[held:], values[held:]
        model = regression.fit(*self._with_hubs(*random), columns)
        model = mended(model, random, spending)
        profiles = regression.profiles
        del regression
        read = Read(TrainingPairs(), self._known_before(model, i, j))
        read.uniform.add(model.inputs(*random[:2]), random[2])
        spending.oracle.note("learning what to read")
        trained = None
        if learns:
            trained = TrainedScorer.start(
                spending,
                self.purpose,
                self.prior,
                model,
                read,
                seconds=seconds,
                rng=rng,
            )
        features = beside(item_features(self.prior, _OWN, rng), profiles)
        own = CorrectionScorer(
            features,
            n,
            spending.rng,
            curve=model.curve,
            always=self._across,
            per_item=self.per_item,
        )
        count = self.chosen = self._rounds(model, read, trained or own)
        fitted = "row effects" if self.prior is None else "prior and row effects"
        described = f"{fitted} fitted to {len(values):,} random pairs"
        if profiles is not None:
            described += f" and {len(spending.landmarks)} landmarks"
        each = f"{spending.per_item(count):.3g} pairs per {spending.item}"
        words = [f"{each} read by what looked most similar"]
        words += filter(None, [worth(self.prior, i, j, values)])
        if trained is not None:
            model = replace(model, student=trained.student)
            blend = _blend(model, i[:held], j[:held], values[:held])
            model = replace(model, blend=blend)
            words.append(trained.words)
            # What is unread may well lie above what was read: the student was sure.
            return model, described, words
        return replace(model, correction=own.correction), described, words

    def _with_hubs(
        self, i: Indices, j: Indices, values: NDArray[Any]
    ) -> tuple[Indices, Indices, NDArray[Any]]:
        """Return random pairs, and more of what looks like hubs.

        Of two sets, unless whole lines were read; of one set, where it has grown: in
        one run it has random pairs enough.
        """
        spending, random = self.spending, (i, j, values)
        lines = len(spending.oracle.read.line_indices()) > 0
        across, grown = self._across, spending.paid > 0
        if self.prior is None or across == grown or (across and lines):
            return random
        return _joined([random, read_hubs(spending, self.prior, random)])

    def _look_closer(self) -> None:
        """Buy more random pairs, and landmarks, where those drawn call for them."""
        i, j, values = self.random()
        across = self.spending.oracle.cost.split is not None
        too_few = self.per_item < CLOSER or len(values) < FEWEST
        if self.prior is None or across or too_few or self.spending.paid:
            return
        look = FirstLook(self.prior, i, j, values, self.spending.rng)
        if self.purpose != "neighbors":
            self.draw(look.evaluations(self.spending, len(values)))
        if self._buy_columns():
            return
        self._tested = buy_landmarks(look, self.spending, self.per_item)
        mark(self.spending.oracle.read, RANDOM, *self._tested)

    def _buy_columns(self) -> bool:
        """Buy landmarks for a part of a large budget; tell whether it was one."""
        spending, cost = self.spending, self.spending.oracle.cost
        if self.purpose == "neighbors" or self.prior is None:
            return False
        of_texts = self.prior.lexical is not None
        number = columns_to_buy(self.per_item, of_texts=of_texts)
        have = cost.lines(len(spending.landmarks))
        spending.buy_landmarks(max(0, cost.lines(min(number, spending.n)) - have))
        return number > 0

    def _known_before(self, model: Model, i: Indices, j: Indices) -> TrainingPairs:
        """Return what an earlier run has read, which is not a uniform sample."""
        known = TrainingPairs()
        a, b, values = self.spending.oracle.read.uncovered()
        n = self.spending.n
        i, j = (np.concatenate(ends) for ends in zip((i, j), self._tested, strict=True))
        drawn = np.minimum(i, j) * n + np.maximum(i, j)
        off = (a != b) & ~np.isin(np.minimum(a, b) * n + np.maximum(a, b), drawn)
        known.add(model.inputs(a[off], b[off]), values[off])
        return known

    def _rounds(self, model: Model, read: Read, scorer: _Scorer) -> int:
        """Read what looks most similar, in rounds; return how many pairs."""
        spending = self.spending
        count, done = spending.left // spending.calls, 0
        known = spending.oracle.read
        error = 0.0  # of the scorer, where it answers in the end
        if not count or self.prior is None:
            return done
        spending.oracle.note("finding candidates")
        by = searching(spending.oracle)
        found = propose(model, known, self._depth(count), by=by)
        # What scores highest is known best: a student, which is in doubt elsewhere,
        # may begin there, a correction learns more where items take turns.
        found.mixed = not scorer.answers
        if isinstance(scorer, CorrectionScorer):
            scorer.place(found)
        found.rotates = self._across
        if self._across:
            done = self._firsts(found, read, count // 2)
        rounds = scorer.rounds
        for turn in range(rounds):
            scorer.learn(read, last=False, label=f"round {turn + 1} of {rounds}")
            wanted = (count - done) // (rounds - turn)
            every = turn % scorer.scores_all == 0
            found.score_anew(scorer.score, None if every else self._near(wanted))
            if scorer.expands and turn % scorer.expands == scorer.expands - 1:
                found = expand(found, model, known, scorer.score, _HOPS)
            ahead = int(_AHEAD * wanted) if self._across else 0
            orders = self._orders(found, wanted - ahead, turn, error)
            inputs = found.choose_by_several(known, orders, ahead)
            if not len(inputs):
                break
            best = best_of(known) if self._across else None
            inputs, values = spending.take(inputs)
            if not len(inputs):
                break
            said = scorer.score(inputs)
            self.first_places.count(turn, best, inputs, said, values)
            if scorer.answers:
                error = float(np.std(values - said))
            elif turn:  # before, nothing was learned from what looked similar
                self._foretold.append((said, values))
            done += len(inputs)
            read.chosen.add(inputs, values)
        del found  # of many items, as much as what is learned last needs
        scorer.learn(read, last=True, label="last round")
        return done

    def _firsts(self, found: Candidates, read: Read, most: int) -> int:
        """Read what the prior puts first of every item; return how many pairs."""
        spending = self.spending
        most = min(most, len(found.score))
        inputs = found.choose_by_several(spending.oracle.read, [(most, found.cheap)])
        inputs, values = spending.take(inputs)
        read.chosen.add(inputs, values)
        return len(inputs)

    def _orders(
        self, found: Candidates, wanted: int, turn: int, error: float
    ) -> list[tuple[int, NDArray[Any] | None]]:
        """Return how many pairs of a round to choose, by what.

        Some by the prior alone. Of the others, once it is known how far the scorer
        errs, most where it is in doubt whether they belong to an item's most similar,
        and some at the top, so that the very first are exact.
        """
        fewer = 0 if found.cheap is None else int(self._by_prior[min(turn, 1)] * wanted)
        doubtful = int(_DOUBTFUL[self.purpose] * (wanted - fewer)) if error > 0 else 0
        orders: list[tuple[int, NDArray[Any] | None]] = [(fewer, found.cheap)]
        if doubtful:
            worth = worth_reading(found, self.spending.oracle.read, error)
            orders.append((doubtful, worth))
        return [*orders, (wanted - fewer - doubtful, None)]

    def _depth(self, count: int) -> int:
        return max(48, min(3 * int(self.spending.per_item(count)) + 32, 256))

    def _near(self, wanted: int) -> int:
        return 4 * int(self.spending.per_item(wanted)) + 24


def _joined(
    parts: list[tuple[Indices, Indices, NDArray[Any]]],
) -> tuple[Indices, Indices, NDArray[Any]]:
    i, j, values = (np.concatenate(part) for part in zip(*parts, strict=True))
    return i, j, values


def _blend(model: Model, i: Indices, j: Indices, values: NDArray[Any]) -> Blend | None:
    if len(values) < 30 or model.student is None:
        return None
    inputs = model.inputs(i, j)
    return Blend.by(model.student.pairs(inputs), inputs.base, values)
