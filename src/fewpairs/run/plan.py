"""The plan: the bill before paying."""

import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from os import PathLike
from typing import Any

import numpy as np

from fewpairs.answers.way import Way, choose_way
from fewpairs.cards import card
from fewpairs.checks import check_flag
from fewpairs.ledger.ledger import Ledger
from fewpairs.ledger.opening import as_ledger, identity_of
from fewpairs.matrix.budget import DEFAULT_BUDGET, Budget, GivenBudget
from fewpairs.methods import Method, as_method
from fewpairs.reading.opening import open_oracle
from fewpairs.reading.oracle import Oracle
from fewpairs.reading.timing import TILES, Rates, time_pairs, time_tiles
from fewpairs.result.bill import duration
from fewpairs.run.arguments import check_seed, told_of_prior
from fewpairs.run.budget_split import foresee, split_budget
from fewpairs.run.expectation import (
    Expectation,
    approximating_seconds,
    exact_seconds,
    expect,
)
from fewpairs.run.given_sets import read_sets
from fewpairs.run.sizing import check_price, estimate
from fewpairs.similarity.binding import GivenSimilarity, as_similarity, bind
from fewpairs.similarity.given_priors import GivenPrior
from fewpairs.similarity.priors import Prior
from fewpairs.types import Column, Empty

__all__ = ["Plan", "plan"]

_MOST = 20_000  # pairs that are timed one by one
_QUICK = 80_000  # where they are quick
_NEIGHBORS = 10  # that a pass over all pairs is planned to keep of each item
_PRICED = 64  # pairs that tell what money buys
_FEWEST = 50  # pairs that tell what a prior explains, give or take a few per cent


@dataclass(frozen=True, repr=False)
class Plan:
    """What an approximation will cost, predicted from a timed sample.

    Attributes
    ----------
    n, others
        Items; of two sets those of the first, and of the second.
    evaluations, exact_evaluations
        Evaluations that the budget will buy, and that all pairs take.
    per_item
        Pairs per item that the budget will buy; of two sets, per item of the first.
    seconds, exact_seconds
        Predicted time inside the similarity for the budget, and of a pass over all
        pairs; binding included.
    sampled, seconds_each
        Evaluations made to find out, and what one of the budget's takes.
    rates
        What one takes in a block of many, and in a list of pairs.
    way
        Whether to read all pairs instead, and why: what :func:`fewpairs.neighbors` and
        :func:`fewpairs.duplicates` would do.
    method, memory
        What will be run, and the bytes that its result will hold.
    expectation
        What the default may reach, and how long it computes; ``None`` for other
        methods, of two sets, and where nothing is known.
    prior_r2
        The part of the differences of the sampled pairs that the prior explains;
        ``None`` where there is none, or too few were sampled to tell.
    ledger
        The pairs of the sample; pass it as ``store=`` and they are not paid for again.
        Whole blocks of a quick similarity are timed too, and not kept.

    Examples
    --------
    >>> import numpy as np, fewpairs as fp
    >>> vectors = np.random.default_rng(0).standard_normal((400, 16))
    >>> fp.plan(vectors, fp.Cosine(), budget=0.1, method="nystrom").method
    'Nystrom(landmarks=18, sampling=Uniform(), rcond=1e-10)'
    """

    n: int
    evaluations: int
    exact_evaluations: int
    per_item: float
    seconds: float
    exact_seconds: float
    sampled: int
    seconds_each: float
    method: str
    memory: int
    expectation: Expectation | None
    prior_r2: float | None
    rates: Rates
    way: Way
    by_default: bool  # the default is what will be run
    ledger: Ledger = field(compare=False)
    others: int | None = None

    def __repr__(self) -> str:
        return (
            f"<Plan: {self.evaluations:,} of {self.exact_evaluations:,} evaluations, "
            f"about {duration(self.seconds)}; {self.way}>"
        )

    def _repr_html_(self) -> str:
        return card(str(self))

    def __str__(self) -> str:
        share = self.evaluations / self.exact_evaluations
        lines = {
            "method": "auto, the default" if self.by_default else self.method,
            "budget": (
                f"{self.evaluations:,} evaluations ({share:.2%}, {self.per_item:.3g} "
                f"per item), {self.memory / 2**20:,.0f} MiB"
            ),
            "evaluating": f"about {duration(self.seconds)}",
            "all pairs": (
                f"{self.exact_evaluations:,} evaluations, "
                f"about {duration(self.exact_seconds)}"
            ),
            "measured": (
                f"{duration(self.seconds_each)} per evaluation, on {self.sampled:,} of "
                "them (kept in .ledger)"
            ),
        }
        if self.expectation is not None:
            lines["computing"] = f"about {self.expectation.computing_in_words}"
        lines["expect"] = self.outlook
        if self.prior_r2 is not None:
            lines["prior"] = (
                f"explains {self.prior_r2:.0%} of the differences of the sampled pairs"
            )
        lines["advice"] = str(self.way)
        order = "method", "budget", "evaluating", "computing", "expect", "prior"
        shown = [*(name for name in order if lines.get(name)), "all pairs", "advice"]
        shown.append("measured")
        body = [f"  {name:<11} {lines[name]}" for name in shown]
        of = "" if self.others is None else f" and {self.others:,} others"
        return "\n".join([f"fewpairs plan for {self.n:,} items{of}", *body])

    @property
    def outlook(self) -> str:
        """What to expect, in words; empty for methods that were not measured."""
        if self.evaluations >= self.exact_evaluations:
            return "everything is read: exact"
        if self.per_item < 1:
            return "less than a pair per item: the mean, or the prior's curve"
        return "" if self.expectation is None else str(self.expectation)

    def at(self, evaluations: int) -> "Plan":
        """Return the plan of another number of evaluations, by the same sample."""
        times = evaluations / self.evaluations
        per_item = self.per_item * times
        return replace(
            self,
            evaluations=evaluations,
            per_item=per_item,
            seconds=self.seconds + self.seconds_each * (evaluations - self.evaluations),
            memory=round(self.memory * times),
            expectation=_expected(self.n, per_item, self.by_default),
        )


def plan(
    items: Iterable[Any] | None,
    similarity: GivenSimilarity,
    budget: GivenBudget = DEFAULT_BUDGET,
    *,
    others: Iterable[Any] | None = None,
    column: Column = None,
    empty: Empty = "error",
    method: str | Method = "auto",
    seed: int = 0,
    symmetrize: bool = True,
    store: Ledger | str | PathLike[str] | None = None,
    prior: GivenPrior = "auto",
) -> Plan:
    """Predict the price of :func:`fewpairs.approximate` with the same arguments.

    Evaluates a sample of about half a second: pairs, more and more at once, a tenth of
    the budget at most (and the few that check an unproven symmetry); and, of a
    similarity that has blocks of its own, some tiles of all pairs, where that takes
    less than a second. The pairs come on top of the budget unless ``.ledger`` is passed
    on as ``store=``: then they are not paid for twice. With a ``store`` of its own,
    they are kept there. With a ``prior``, they tell what it explains.

    What to expect of the default is the range of what it reached on data sets of about
    this size, with a prior, at as many pairs per item: see
    :class:`~fewpairs.run.expectation.Expectation`.

    Examples
    --------
    >>> import fewpairs as fp
    >>> texts = [f"text number {t}" for t in range(500)]
    >>> plan = fp.plan(texts, fp.StringSimilarity("levenshtein"), budget=0.05)
    >>> plan.exact_evaluations
    124750
    >>> plan.seconds < plan.exact_seconds
    True
    >>> two = fp.plan(texts[:100], fp.StringSimilarity(), "20/item", others=texts[100:])
    >>> two.n, two.others, two.evaluations, two.exact_evaluations
    (100, 400, 2000, 40000)
    """
    call = "fewpairs.plan"
    chosen = as_method(method)
    allowed = Budget.of(budget, f"{call}: budget")
    symmetrize = check_flag(call, "symmetrize", symmetrize)
    seed = check_seed(seed, call)
    recipe = as_similarity(similarity, call)
    given = read_sets(items, others, recipe, call, column=column, empty=empty)
    recipe, listed_items, prior = given.recipe, given.items, given.prior(prior)
    started = time.perf_counter()
    scorer = bind(listed_items, recipe, call)
    recipe = recipe.bound_by(scorer)
    binding = time.perf_counter() - started
    two = recipe.split is not None
    by_default = chosen == as_method("auto") and not two
    check_price(allowed, scorer, recipe, call)
    guessed = estimate(allowed, scorer) if allowed.is_scarce else allowed
    foreseen = foresee(chosen, recipe, scorer.n, guessed, symmetrize=symmetrize)
    chosen = told_of_prior(
        chosen,
        prior,
        recipe,
        scorer=scorer,
        items=listed_items,
        everything=not allowed.is_scarce and type(foreseen.method) is not type(chosen),
        call=call,
    )
    # What cannot be held is not refused here: `memory` says how much it takes.
    scorer.prepare(lambda _: None)  # compiling is no part of what a pair takes

    # The same pairs check the symmetry as in the run itself: they are paid for once.
    rng, *_ = np.random.default_rng(seed).spawn(3)
    ledger = as_ledger(store, call) or Ledger()
    with ledger.session():
        oracle = open_oracle(
            scorer,
            recipe,
            symmetrize=symmetrize,
            ledger=ledger,
            rng=rng,
            identity=partial(identity_of, recipe, given.known),
            recheck=not ledger.trust,
        )
        ledger.start("plan", {"method": "a plan's sample"})
        if allowed.is_scarce:
            rates, allowed = _bought(allowed, oracle, rng)
            expected = split_budget(chosen, recipe, oracle.cost, allowed)
        else:
            expected = split_budget(chosen, recipe, oracle.cost, allowed)
            rates = _rates(oracle, min(_MOST, expected.evaluations // 10), rng)
        ledger.finish()
    everything = oracle.cost.everything()
    share = expected.method.scattered(oracle.cost)
    share += (1 - share) * expected.held_out * oracle.cost.calls / expected.evaluations
    each = share * rates.pair + (1 - share) * rates.tile
    exact = binding + exact_seconds(rates, everything)
    spent = Budget.of_evaluations(expected.evaluations)
    instead = approximating_seconds(oracle.cost, rates._replace(pair=each), spent)
    per_item = oracle.cost.per_item(expected.evaluations)
    lines = getattr(expected.method, "count", -(-expected.evaluations // scorer.n))
    m, n = oracle.cost.shape
    return Plan(
        n=m,
        others=n if two else None,
        evaluations=expected.evaluations,
        exact_evaluations=everything,
        per_item=min(per_item, n - (0.0 if two else 1.0)),
        seconds=binding + each * expected.evaluations,
        exact_seconds=exact,
        sampled=oracle.evaluations,
        seconds_each=each,
        method=repr(expected.method),
        memory=3 * scorer.n * lines * scorer.dtype.itemsize,
        expectation=_expected(n, per_item, by_default),
        prior_r2=_explained(oracle, getattr(chosen, "prior", None)),
        rates=rates,
        way=choose_way(exact, binding + instead, everything),
        by_default=by_default,
        ledger=ledger,
    )


def _bought(
    budget: Budget, oracle: Oracle, rng: np.random.Generator
) -> tuple[Rates, Budget]:
    """Return what evaluations take, and how many of them money or time buys.

    Of money, by a request that is large enough for whole calls of a service.
    """
    if budget.money is None:
        rates = _rates(oracle, _MOST, rng)
        number = (budget.seconds or 0.0) / max(1e-9, rates.pair)
    else:
        made, spent, took = oracle.evaluations, oracle.account.money, oracle.seconds
        oracle.pairs(*oracle.read.sample_unknown(_PRICED, rng))
        made = max(1, oracle.evaluations - made)
        pair = (oracle.seconds - took) / made
        rates = Rates(pair, pair, pair)
        number = budget.money * made / max(1e-12, oracle.account.money - spent)
    return rates, Budget.of_evaluations(max(1, int(number)))


def _expected(n: int, per_item: float, by_default: bool) -> Expectation | None:
    """Only of the default there are curves, and everything is exact."""
    return expect(n, per_item) if by_default and per_item < n - 1 else None


def _explained(oracle: Oracle, prior: Prior | None) -> float | None:
    """Return the squared correlation of the prior with the pairs of the sample."""
    if prior is None:
        return None
    i, j, values = oracle.read.uncovered()
    i, j, values = (x[i != j][:_MOST] for x in (i, j, values))
    cheap = prior.pairs(i, j).astype(np.float64)
    if len(values) < _FEWEST or np.ptp(values) == 0 or np.ptp(cheap) == 0:
        return None
    return float(np.corrcoef(values / np.abs(values).max(), cheap)[0, 1] ** 2)


def _rates(oracle: Oracle, most: int, rng: np.random.Generator) -> Rates:
    """Time pairs, and tiles where they are quicker.

    Pairs of a similarity that has blocks are so quick that calls would be timed, not
    evaluations: as many as are wanted are read, whatever the budget.
    """
    tiles = oracle.tiles.sample(TILES, rng)
    if not oracle.has_blocks or not tiles:
        pair = time_pairs(oracle, most, rng)
        return Rates(pair, pair, pair)
    pair = time_pairs(oracle, _QUICK, rng, within=tiles[-1])
    return time_tiles(oracle, pair, tiles, k=_NEIGHBORS)[0]
