"""Few evaluations per item: random pairs, then rounds of what looks most similar."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.kernels.linalg.blas_threads import single_threaded
from fewpairs.kernels.linalg.top_products import gpu
from fewpairs.matrix.earlier import mark
from fewpairs.methods.auto.confirming import confirms, tops_of, tops_stand_out
from fewpairs.methods.auto.correction_scorer import CorrectionScorer
from fewpairs.methods.auto.first_look import CLOSER, FEWEST, FirstLook, buy_landmarks
from fewpairs.methods.auto.hubs import read_hubs
from fewpairs.methods.auto.item_features import beside, item_features
from fewpairs.methods.auto.left_columns import columns_to_buy, do_without
from fewpairs.methods.auto.pair_regression import PairRegression
from fewpairs.methods.auto.prior_curve import mended
from fewpairs.methods.auto.proposals import searching
from fewpairs.methods.auto.read import Read
from fewpairs.methods.auto.reading_rounds import ReadingRounds
from fewpairs.methods.auto.shares import random_share, share_of_entries
from fewpairs.methods.auto.spending import RANDOM, Spending
from fewpairs.methods.auto.trained_scorer import TrainedScorer
from fewpairs.methods.residual import with_features
from fewpairs.methods.weighing import says_much, weighed, worth
from fewpairs.model.blend import Blend
from fewpairs.model.model import Model
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
# Where the prior explains much half as many random pairs will do, or so many per item
# and a share of the budget; but so many in all.
_FEW_EACH, _FEW_BESIDE, _ENOUGH = 1.5, 0.02, 400
# Rounds at least where a few pairs carry the variance: each learns much from the last.
_ROUNDS_OF_FEW = 5
# Share of the top that a student answers at least, and the pairs per item which were
# read for looking similar from which on it may answer all.
_LEAST_TOP, _SHOWN = 0.25, 4.0
_GROWN = 1 / 3  # of a usual share of random pairs, where earlier runs have drawn some
_SPIKY, _HEAVY = 0.55, 0.65  # of the variance
_DIRECTIONS = 96  # of the embeddings that have a weight for all items together
# Those that every item has weights of its own for: fewest and most; so many, and one
# more for so many pairs per item.
_OWN, _FIRST_OWN, _PAIRS_PER_OWN = (12, 48), 8.0, 2.0


class FewStage:
    """Spends a budget of few evaluations per item.

    1. Random pairs fit the prior's curve, the items' effects and a bilinear form
       (`PairRegression`); without training as many as the effects call for, and with a
       few landmarks where these explain much of the rest (`FirstLook`). Of two sets,
       right items that look near to most left ones are read more often (`hubs`).
    2. Rounds: a scorer learns from all that was read, candidates come from the model,
       the prior and neighbors of neighbors, and some are read, best of every item
       first (`ReadingRounds`). The scorer is a student where training pays, else a
       correction of the model, in closed form (`Correcting`).
    3. Held-out random pairs say in which region the student answers.
    """

    def __init__(self, spending: Spending, prior: Prior | None, purpose: str) -> None:
        self.spending, self.prior, self.purpose = spending, prior, purpose
        self._drawn = [spending.earlier_random()]
        none = np.empty(0, dtype=np.int64)
        self._tested = none, none  # pairs that told whether landmarks pay
        self.chosen = 0  # pairs read by what looked most similar
        self._across = spending.oracle.cost.split is not None
        self.rounds: ReadingRounds | None = None

    @property
    def per_item(self) -> float:
        """Pairs per item that the whole budget buys."""
        return self.spending.per_item(self.spending.budget / self.spending.calls)

    @single_threaded()
    def look(self, most: int, *, alone: bool = False) -> bool:
        """Buy some random pairs, and tell whether they confirm the prior.

        By an F-test of a cubic of the prior and sums of the items' features, against
        the mean; else by whether the pairs that it puts first lie above them. They also
        tell how long evaluations take. ``most``: evaluations; where they are too few to
        tell although there were more, the prior is not confirmed. ``alone``: whether
        there is nothing else that so few evaluations could buy.
        """
        spending = self.spending
        # One that nobody asked for must not cost much where it says nothing.
        asked = self.prior is None or self.prior.asked or alone
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

    def is_spiky(self, least: float) -> bool:
        """Tell whether one in twenty random pairs carries most of their variance.

        Then columns are bought to find out where spikes lie, not beside single pairs.
        Below so many pairs per item none are, whatever the values.
        """
        return self.per_item >= least and self._carried_by_few > _SPIKY

    @property
    def _heavy_tailed(self) -> bool:
        return self._carried_by_few > _HEAVY

    @property
    def _carried_by_few(self) -> float:
        """The share of the variance of random pairs that one in twenty carries."""
        values = np.asarray(self.random()[2], dtype=np.float64)
        squares = np.sort((values - values.mean()) ** 2)[::-1]
        few = float(squares[: max(1, len(squares) // 20)].sum())
        return few / (float(squares.sum()) or 1.0)

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
        if self.rounds is None or not self.rounds.foretold:
            return None
        said, values = zip(*self.rounds.foretold, strict=True)
        return np.concatenate(said), np.concatenate(values)

    @property
    def lead(self) -> float | None:
        """By how much what predicted chosen pairs ordered them better than the prior.

        In standard errors; ``None`` where a student did.
        """
        return None if self.rounds is None else self.rounds.lead

    def columns_alone(self) -> bool:
        """Buy columns where the budget is large; tell whether they do without a prior.

        What is of low rank by itself is had from columns alone, and a prior's curve
        would only add to that.
        """
        if self.spending.paid or self.prior is None or not self._buy_columns():
            return False
        return do_without(self.prior, self.spending)

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
        good_prior = self._draw_all(learns, least)
        i, j, values = spending.mixed(self.random())
        held = min(_MOST_HELD, int(_HELD * len(values))) if learns else 0
        # Not kept: its features take as much as the embeddings do.
        first = spending.oracle.cost.split or 0
        columns = None if learns or first else spending.columns
        there = self.prior is not None and searching(spending.oracle) == "cuda"
        regression = PairRegression(
            n,
            self.prior,
            spending.rng,
            first=first,
            landmarks=spending.landmarks,
            device=gpu() if there else None,
            good_prior=self.says_much and not self._across,
        )
        random = i[held:], j[held:], values[held:]
        with single_threaded():  # small products; what is large has its threads
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
        directions = _FIRST_OWN + self.per_item / _PAIRS_PER_OWN
        own_ones = item_features(self.prior, int(np.clip(directions, *_OWN)), rng)
        features, wide = beside(own_ones, profiles), None
        if not self._across:
            wide = beside(item_features(self.prior, _DIRECTIONS, rng), profiles)
        own = CorrectionScorer(
            features,
            n,
            spending.rng,
            curve=model.curve,
            always=self._across,
            per_item=self.per_item,
            directions=wide,
        )
        if self._heavy_tailed and not self._across and self.per_item >= CLOSER:
            own.rounds = max(own.rounds, _ROUNDS_OF_FEW)
        self.rounds = ReadingRounds(
            spending, self.purpose, self.per_item, good_prior=good_prior
        )
        if self.prior is not None:
            self.prior.forget_directions()
        count = self.chosen = self.rounds.run(model, read, trained or own, own)
        model = with_features(model)
        fitted = "row effects" if self.prior is None else "prior and row effects"
        described = f"{fitted} fitted to {len(values):,} random pairs"
        if profiles is not None:
            described += f" and {len(spending.landmarks)} landmarks"
        each = f"{spending.per_item(count):.3g} pairs per {spending.item}"
        words = [f"{each} read by what looked most similar"]
        words += filter(None, [worth(self.prior, i, j, values)])
        if trained is not None:
            if not self._across:
                own.learn(read, last=True, label="")
            model = replace(model, student=trained.student, correction=own.correction)
            most = self._student_at_most(count)
            blend = _blend(model, i[:held], j[:held], values[:held], most)
            model = replace(model, blend=blend)
            words.append(trained.words)
            # What is unread may well lie above what was read: the student was sure.
            return model, described, words
        return replace(model, correction=own.correction), described, words

    def _student_at_most(self, count: int) -> float:
        """Return how much of the top a student answers that was shown so many pairs.

        One that has seen next to nothing but random pairs knows little of the top; a
        prior that says little of random pairs may know more of it.
        """
        if self._across or self.says_much:
            return 1.0
        shown = self.spending.per_item(count) / _SHOWN
        return _LEAST_TOP + (1 - _LEAST_TOP) * min(1.0, shown)

    @single_threaded()
    def _draw_all(self, learns: bool, least: int) -> bool:
        """Buy as many random pairs as are worth it; tell whether the prior says much.

        Without training, so that little else is needed.
        """
        spending = self.spending
        before, *rest = (len(part[2]) * spending.calls for part in self._drawn)
        had = sum(rest)
        told = self.says_much
        closed = not learns and self.purpose == "entries"
        purpose = "balanced" if closed else self.purpose
        share = random_share(purpose, self.per_item, told=told or not learns)
        good_prior = told and not learns and self.purpose != "across, entries"
        if good_prior:
            enough = _ENOUGH * spending.calls / (spending.left + had)
            fewer = min(share / 2, _FEW_EACH / self.per_item + _FEW_BESIDE)
            share = max(fewer, min(share, enough))
        if before:
            share *= _GROWN  # those of earlier runs tell the curve and the bulk
        if self.prior is None:
            share = 1.0  # nothing proposes pairs
        least -= before + spending.reserve
        everything = spending.left + had
        self.draw(max(int(share * everything), least) - had)
        if not learns:
            self._look_closer(good_prior=good_prior)
        # Where a few pairs carry the variance, reading these tells most of it.
        if closed and not before and not self._heavy_tailed:
            share = share_of_entries(self.per_item)
            self.draw(int(share * everything) - (everything - spending.left))
        return good_prior

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

    def _look_closer(self, *, good_prior: bool) -> None:
        """Buy more random pairs, and landmarks, where those drawn call for them.

        Where the prior says much, the look must cost less: it seldom finds any.
        """
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
        only = self.purpose == "entries"
        self._tested = buy_landmarks(
            look, self.spending, self.per_item, entries=only, cheaply=good_prior
        )
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


def _joined(
    parts: list[tuple[Indices, Indices, NDArray[Any]]],
) -> tuple[Indices, Indices, NDArray[Any]]:
    i, j, values = (np.concatenate(part) for part in zip(*parts, strict=True))
    return i, j, values


def _blend(
    model: Model, i: Indices, j: Indices, values: NDArray[Any], most: float
) -> Blend | None:
    if len(values) < 30 or model.student is None:
        return None
    inputs, bent = model.inputs(i, j), model.correction
    base = inputs.base if bent is None else bent.pairs(inputs)
    return Blend.by(model.student.pairs(inputs), base, values, most=most)
