"""Auto: the default. It looks first, and spends the budget where it pays."""

import math
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from fewpairs.checks import (
    check_choice,
    check_instance,
    check_number,
    check_whole,
    refuse,
)
from fewpairs.errors import BudgetError, InputError
from fewpairs.matrix.cost import Cost
from fewpairs.matrix.fresh import Fresh
from fewpairs.methods.auto.across import AcrossStage
from fewpairs.methods.auto.few import FewStage
from fewpairs.methods.auto.guarding import FEWEST_LANDMARKS, guarded, mean_of
from fewpairs.methods.auto.low_rank import LowRankStage
from fewpairs.methods.auto.refinement import refine
from fewpairs.methods.auto.spending import Spending
from fewpairs.methods.auto.student_rounds import refine_with_student
from fewpairs.methods.base import Method
from fewpairs.methods.landmarks import Sampling, Uniform
from fewpairs.methods.regularized import Regularized
from fewpairs.methods.weighing import agrees
from fewpairs.methods.whole import Whole
from fewpairs.model.guard import Guard
from fewpairs.model.model import Model
from fewpairs.reading.oracle import Oracle
from fewpairs.similarity.priors import Prior
from fewpairs.types import Indices

__all__ = ["Auto"]

Purpose = Literal["balanced", "neighbors", "entries"]
# Share of the budget that refinement may take, without a student and with one. The
# first is larger by the factor below up to so many pairs per item, and falls to what it
# is at the next number: columns tell less of the most similar than single pairs do.
_MORE_REFINED, _UP_TO, _DOWN_TO = 1.3, 150.0, 180.0
_REFINED = {"balanced": (0.5, 0.6), "neighbors": (0.65, 0.7), "entries": (0.4, 0.3)}
_PILOT = 0.25  # share of the budget that landmarks get before anything is decided
_PILOT_LANDMARKS = 8  # that it should buy at least
# Pairs per item, and share of all pairs, up to which scattered pairs come before
# landmarks with training, usually and with a prior of texts; and the share without
# training, where there are more and more columns beside them.
_FEW, _FEW_OF_TEXTS, _BESIDE_COLUMNS = (110.0, 0.06), (250.0, 0.09), 0.35
_MANY = 1_000  # items
_SPIKES = 150.0  # pairs per item, from which on it matters whether there are spikes
_FEW_GROWN = 0.6  # of n, the same of a matrix that has grown: pairs per new item
# Pairs; random ones that tell what a prior says, of many items and of fewer.
_WORTH_ASKING, _ASKED_OF_MANY, _ASKED = 4_000, 600, 150
_FEWEST_ACROSS = 20  # pairs of two sets
# Of a budget for new items, what their entries there may take, alone and beside others.
_AT_LANDMARKS, _BESIDE_FEW = 0.7, 0.15
_UNCHANGED = 0.01  # share of the pairs whose reading leaves the others as they were
_SECONDS, _SECONDS_ITEMS = 110.0, 20_000  # of training, and items from which on more
_IN_RANGE = 1e-15, 1e15  # largest values that single precision can square safely


@dataclass(frozen=True)
class Auto(Method):
    """The default: prior, row effects, damped core, student, refinement, guard.

    With a prior and fewer than some 110 evaluations per item and 6 % of the pairs
    (untrained 35 % of the pairs; trained with a prior of texts 250 and 9 %), or
    too few for landmarks (`methods.auto.few`):

    1. Random pairs, some three per item and a tenth of the budget, fit the prior's
       curve, the items' effects and a bilinear form. Without training there are more
       where the items' effects call for them, and a few landmarks' columns where these
       are found to explain much of the rest; from 124 pairs per item on, many, and
       these alone where the prior is in their way.
    2. In rounds, a student (where evaluations are slow, or ``student=True``) or a
       correction in closed form learns from all that was read, and says which pairs to
       read next: mostly those of which it is in doubt whether they belong to an item's
       ten most similar (below 4 per item without a student, those that look most
       similar), best of every item first; the prior alone where that was right more
       often than a correction. It answers in the end.
    3. Held-out random pairs say in which region the student is right.

    With more of them:

    1. A quarter of the budget buys landmarks' columns (the pilot). Leaving out
       landmarks tells whether the prior and row effects help, and the damping.
    2. Where evaluations are slow (or ``student=True``), a student, a small network,
       learns from all pairs paid for, some of them random ones. Otherwise the budget
       buys more landmarks.
    3. Refinement reads what looks most similar, in rounds: with a prior by the
       correction that few evaluations have, or by a ranking, whichever orders new pairs
       better. It ends early where it finds nothing new. Beside a student, a tenth of it
       goes by a prior that was found to help.

    In the end a guard compares the result with random pairs that no fit has seen,
    shrinks it as far as they do not confirm it, and returns the prior's curve or their
    mean if nothing else helps.

    Evaluations: as many as the budget allows, at least a few hundred.

    Parameters
    ----------
    student
        ``True``, ``False``, or ``"auto"``: where evaluating takes longer than training.
    purpose
        What the budget is for: exact values of near ``"neighbors"``, good ``"entries"``
        all over, or ``"balanced"``. Of two sets the first and the last are the same:
        exact values of left items' neighbors.
    student_seconds
        Training stops after so many seconds in all; by default after 110, of more than
        20,000 items as many more. Below that the result depends on the seed alone.
    sampling
        How landmarks are drawn.

    Examples
    --------
    >>> import numpy as np, fewpairs as fp
    >>> X = np.random.default_rng(0).standard_normal((300, 5))
    >>> K = np.tanh(X @ X.T)
    >>> approx = fp.approximate(None, K, method=fp.Auto(purpose="entries"), budget=0.2)
    >>> approx.certificate.r2 > 0.8
    True
    """

    student: bool | Literal["auto"] = "auto"
    purpose: Purpose = "balanced"
    student_seconds: float | None = None
    sampling: Sampling = field(default_factory=Uniform)
    prior: Prior | None = field(default=None, repr=False)
    allowance: int | None = field(default=None, repr=False)

    needs_symmetric: ClassVar[bool] = True
    takes_prior: ClassVar[bool] = True
    wants_prior: ClassVar[bool] = True
    takes_two_sets: ClassVar[bool] = True
    takes_more_items: ClassVar[bool] = True

    def __post_init__(self) -> None:
        call = "fewpairs.Auto"
        if not isinstance(self.student, bool) and not (
            isinstance(self.student, str) and self.student == "auto"
        ):
            raise refuse(call, "student", self.student, "True, False or 'auto'")
        check_choice(call, "purpose", self.purpose, tuple(_REFINED))
        check_number(call, "student_seconds", self.student_seconds, above=0, none=True)
        cure = "fewpairs.Uniform() or fewpairs.KMeansMedoids(embeddings)"
        check_instance(call, "sampling", self.sampling, Sampling, cure)
        cure = "it to fewpairs.approximate(prior=...)"
        check_instance(call, "prior", self.prior, Prior, cure, none=True)
        check_whole(call, "allowance", self.allowance, least=0, none=True)

    def price(self, cost: Cost) -> int:
        """Return the most evaluations that ``fit`` makes."""
        needed = self.least(cost)
        return needed if self.allowance is None else self.allowance

    def least(self, cost: Cost) -> int:
        """Return the fewest evaluations that are worth anything.

        The mean of N random pairs misses that of the U others by z·σ·√(1/N + 1/U),
        which lowers R² on them by z²·(1/N + 1/U). 3.2 standard deviations
        shall not make it fall below −0.05; where there are too few pairs for that, a
        third of them is asked for.
        """
        pairs, most = cost.pairs, 0.05 / 3.2**2
        # N·(P − N) ≥ P / most, the smaller root.
        square = pairs**2 - 4 * pairs / most
        number = (pairs - math.sqrt(square)) / 2 if square > 0 else pairs
        if cost.split is not None:  # a few queries are asked what is near, not all
            number = min(number, max(cost.split, _FEWEST_ACROSS))
        return math.ceil(min(number, pairs / 3)) * cost.calls

    def taking(self, cost: Cost, allowance: int) -> Self:  # noqa: ARG002
        """Take the allowance, however small: what was read tells enough."""
        return replace(self, allowance=allowance)

    def within(self, seconds: float, n: int) -> Self:
        """Return the same, whose student trains for so many seconds at most."""
        return replace(self, student_seconds=min(seconds, self._seconds(n)))

    def resolve(self, cost: Cost, allowance: int | None) -> Self:
        """Take the whole allowance."""
        self._check_symmetric(cost)
        if allowance is None:
            if self.allowance is not None:
                return self
            msg = (
                "fewpairs.Auto: needs a budget; pass a share of the pairs or a number."
            )
            raise InputError(msg)
        needed = self.least(cost)
        if needed > allowance:
            msg = (
                f"Auto needs {needed:,} evaluations for {cost.n:,} items, fewer say "
                f"nothing; the budget leaves {allowance:,} to it."
            )
            raise BudgetError(msg, needed=needed, allowed=allowance)
        return replace(self, allowance=allowance)

    def everything(self, cost: Cost) -> Method | None:
        """Return what to do when all pairs can be read: nothing is left to predict."""
        if cost.split is not None:
            return Whole()
        return Regularized(landmarks=cost.n, mu=0.0, centering="none")

    def scattered(self, cost: Cost) -> float:
        """Return the share that are single pairs: all of few, else the refinement."""
        if cost.split is not None:
            return 1.0
        per_item = cost.per_item(self.price(cost))
        few = per_item < self._few_limit(cost.n, trains=True)
        too_few = cost.lines(min(FEWEST_LANDMARKS, cost.n)) > self.price(cost)
        return 1.0 if few or too_few else _REFINED[self.purpose][0]

    def fit(self, oracle: Oracle, rng: np.random.Generator) -> Model:
        """Spend the allowance in the order of the class's description."""
        rng, draw_rng, student_rng = rng.spawn(3)
        budget = self.price(oracle.cost)
        spending = Spending(oracle, budget, self.sampling, rng, draw_rng)
        n, cost = oracle.n, oracle.cost
        prior, confirmed = self.prior, self.prior is not None
        if cost.split is not None:
            return AcrossStage(
                spending,
                lambda: self._student_pays(spending),
                self._seconds(n),
                student_rng,
                least=self.least(cost),
                purpose=self.purpose,
            ).fit(prior, _in_range)
        if self._few(cost, spending):
            stage = FewStage(spending, prior, self.purpose)
            done = self._fit_few(stage, student_rng)
            if done is not None:
                return done
            # Beyond the usual limit it was asked for more than to say something.
            beyond = stage.per_item >= self._few_limit(n, trains=True)
            prior, confirmed = stage.prior, beyond and stage.prior is not None
        fair = cost.lines(min(_PILOT_LANDMARKS, n))
        spending.buy_landmarks(max(_PILOT * budget, fair))
        work = LowRankStage.weighing(spending, prior)
        prior = work.prior
        if confirmed and prior is not None:
            confirmed = agrees(prior, spending.columns, spending.landmarks)
        if not _in_range(spending.columns):
            spending.buy_landmarks(spending.left)
            model = work.low_rank(proposing=False)
            why = "values too large or small for refinement"
            said = f"{why}; {work.described}"
            return replace(model, guard=Guard(), words=said).lean()
        learns = self._student_pays(spending)
        refined = _REFINED[self.purpose][learns] * budget
        if learns:
            model, words = refine_with_student(
                work, work.low_rank(), self._seconds(n), student_rng
            )
        else:
            known = prior is not None and (prior.asked or work.says_much)
            right = confirmed and known  # else candidates are less likely so
            refined *= self._more_refined(spending) if right else 0.8
            refined *= work.refinement_pays()
            spending.buy_landmarks(spending.left - refined)
            model = work.low_rank()
            model, words = refine(work, model, int(min(refined, spending.left)))
        return guarded(spending, model, work.described, words, prior=work.prior)

    def _fit_few(self, stage: FewStage, rng: np.random.Generator) -> Model | None:
        """Spend it on scattered pairs; ``None``: landmarks come first."""
        spending, oracle = stage.spending, stage.spending.oracle
        n, cost = oracle.n, oracle.cost
        # They stay in reach, for a prior that says nothing.
        beyond = spending.left - cost.lines(min(FEWEST_LANDMARKS, n))
        most = beyond if beyond >= 0 else spending.left
        if stage.per_item >= self._few_limit(n, trains=True, grown=spending.paid):
            # Most likely landmarks come first.
            most = min(most, (_ASKED if n < _MANY else _ASKED_OF_MANY) * cost.calls)
        confirmed = stage.look(most, alone=beyond < 0)
        prior = stage.prior  # of several, as what was read weighs them
        if prior is not None and not (confirmed or prior.asked or beyond < 0):
            prior = None
        confirmed = confirmed and (beyond < 0 or not stage.is_spiky(_SPIKES))
        in_range = _in_range(stage.random()[2])
        stage.prior = prior
        if stage.per_item >= self._few_limit(n, trains=True, grown=spending.paid):
            trains = confirmed and self._student_pays(spending)
            confirmed = confirmed and not (trains or stage.columns_alone())
        if in_range and (confirmed or beyond < 0):
            learns = confirmed and self._student_pays(spending)
            stage.prior = prior if confirmed else None
            if confirmed:
                spending.release()
            made = stage.fit(learns, self._seconds(n), rng, self.least(cost))
            same = stage.chosen < _UNCHANGED * cost.pairs
            random = stage.uniform()
            return guarded(
                spending,
                *made,
                random=random if same else None,
                prior=prior,
                tops=stage.foretold,
                lead=stage.lead,
            )
        if beyond < 0:
            stage.draw(spending.left)
            return mean_of(spending, stage.random()[2], "values of no usual size")
        return None

    def _few(self, cost: Cost, spending: Spending) -> bool:
        """Tell whether scattered pairs are likely a better buy than landmarks.

        They are with few evaluations per item and a prior, and where there are not
        enough for landmarks. A run that grows goes on as it began.
        """
        lands = self.student is True
        fewer = lands or spending.n < _MANY
        if fewer and len(spending.landmarks) >= _PILOT_LANDMARKS:
            return False
        per_item = spending.per_item(spending.budget / spending.calls)
        few = per_item < self._few_limit(spending.n, trains=lands, grown=spending.paid)
        if self.prior is not None and not self.prior.asked:
            # Finding out whether it says something must be a small part of the budget.
            enough = spending.budget + spending.paid >= _WORTH_ASKING * spending.calls
            few = few and enough
        return few or cost.lines(min(FEWEST_LANDMARKS, spending.n)) > spending.left

    def _few_limit(self, n: int, *, trains: bool, grown: int = 0) -> float:
        """Return the pairs per item up to which scattered pairs may come first.

        ``grown``: what was paid for before items were added: few for all are a small
        share of the pairs with new items.
        """
        if self.prior is None:
            return 0.0
        limits = [_FEW if self.prior.lexical is None else _FEW_OF_TEXTS]
        if grown:
            return max(_FEW_GROWN * n, *(most for most, _ in limits), _SPIKES)
        limits += [] if trains else [(math.inf, _BESIDE_COLUMNS)]
        return max(min(most, share * n) for most, share in limits)

    def for_new_items(
        self, landmarks: Indices, fresh: Fresh, cost: Cost, allowance: int
    ) -> tuple[Method, Indices]:
        """Take the allowance; keep as many landmarks as a part of it pays for.

        None where scattered pairs come first. Of two sets, as many of either side.
        """
        if cost.split is not None:
            most = int(_AT_LANDMARKS * allowance)
            whole = fresh.afforded(landmarks, cost, most)
            paid = fresh.pairs_at(whole, cost)
            return replace(self, allowance=allowance - paid), whole
        each = fresh.items * cost.calls
        limit = self._few_limit(cost.n, trains=False, grown=1)
        if self.prior is not None and not self.prior.asked:
            limit = min(limit, _FEW_OF_TEXTS[0])  # it may say nothing of new items
        few = 2 * allowance / each < limit
        number = int((_BESIDE_FEW if few else _AT_LANDMARKS) * allowance / each)
        if few and len(landmarks) >= min(_PILOT_LANDMARKS, number + 1):
            number = 0  # they were bought for another way
        if not few and number < FEWEST_LANDMARKS:
            number = 0
        whole = landmarks[:number]
        return replace(self, allowance=allowance - len(whole) * each), whole

    def _more_refined(self, spending: Spending) -> float:
        """Return how many times the usual share refinement gets without a student."""
        if self.purpose != "balanced":
            return 1.0
        per_item = spending.per_item(spending.budget / spending.calls)
        share = (_DOWN_TO - per_item) / (_DOWN_TO - _UP_TO)
        return 1 + (_MORE_REFINED - 1) * min(max(share, 0.0), 1.0)

    def _student_pays(self, spending: Spending) -> bool:
        if self.student != "auto":
            return bool(self.student)
        oracle = spending.oracle
        each = oracle.seconds / max(1, oracle.evaluations)
        all_of_it = self.price(oracle.cost) + spending.paid
        slow = each * all_of_it > self._seconds(oracle.n)
        return bool(oracle.decide("student", lambda: slow))

    def _seconds(self, n: int) -> float:
        """Return how long training may take."""
        if self.student_seconds is not None:
            return self.student_seconds
        return _SECONDS * max(1.0, n / _SECONDS_ITEMS)


def _in_range(values: NDArray[Any]) -> bool:
    """Tell whether squares of the values can be handled in single precision."""
    largest = float(np.abs(values).max(initial=0.0))
    return largest == 0 or _IN_RANGE[0] < largest < _IN_RANGE[1]
