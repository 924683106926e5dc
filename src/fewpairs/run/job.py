"""Job: items and a similarity, read in full where that is quicker."""

import contextlib
import inspect
import logging
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.answers.all_pairs import AllPairs
from fewpairs.answers.sides import Side
from fewpairs.answers.way import Way, choose_way
from fewpairs.checks import check_flag
from fewpairs.execution import PortableScorer, assemble, check_executor
from fewpairs.fingerprint import fingerprint
from fewpairs.ledger.ledger import Ledger
from fewpairs.ledger.opening import as_ledger, identity_of
from fewpairs.ledger.subject import Identity
from fewpairs.matrix.budget import DEFAULT_BUDGET, Budget
from fewpairs.matrix.limits import Limits
from fewpairs.matrix.tiles import Tile
from fewpairs.progress import Progress, as_progress
from fewpairs.reading.metric_proof import metric_proof
from fewpairs.reading.opening import open_oracle
from fewpairs.reading.oracle import Oracle
from fewpairs.reading.timing import (
    TILES,
    keep_tiles,
    time_pairs,
    time_tiles,
)
from fewpairs.result.approximation import Approximation
from fewpairs.run.approximate import approximate
from fewpairs.run.arguments import check_seed
from fewpairs.run.cascade import is_paid
from fewpairs.run.compared import Compared
from fewpairs.run.expectation import approximating_seconds, exact_seconds
from fewpairs.run.sizing import check_price, size_up
from fewpairs.similarity.base import Scorer, Similarity
from fewpairs.similarity.given_priors import as_prior
from fewpairs.similarity.items import Items

__all__ = ["AUTO", "OPTIONS", "PRIOR", "Job"]

AUTO = "auto"
PRIOR: Any = (approximate.__kwdefaults__ or {})["prior"]
_WHOLE = 0.85  # of what money or time buys by a pilot, that all pairs may take
_ANSWER = 0.9  # of what is left of them, that an answer is planned to read
_SAMPLED = 80_000  # pairs that are timed one by one, at most

_log = logging.getLogger(__name__)


@dataclass
class Job:
    """What is asked of all pairs of some items, checked, with the similarity bound.

    Attributes
    ----------
    ready
        Tiles that the timed sample has read.
    evaluations
        Calls of the similarity before an approximation was begun.
    """

    call: str
    recipe: Similarity
    scorer: Scorer
    items: Items | None
    budget: Budget | None  # None: the clock decides
    seed: int
    ledger: Ledger
    executor: Any
    progress: Progress
    identity: Callable[[], Identity]
    given: dict[str, Any]
    sides: tuple[Side, Side]
    options: dict[str, Any]
    ready: dict[Tile, NDArray[Any]] = field(default_factory=dict)
    evaluations: int = 0
    bought: Budget | None = None  # what money or time buys

    @classmethod
    def of(
        cls,
        call: str,
        compared: Compared,
        *,
        budget: Any,
        prior: Any,
        seed: int,
        store: Any,
        executor: Any,
        progress: Any,
        trust: bool,
    ) -> "Job":
        """Check everything that can be checked."""
        check_flag(call, "trust", trust)
        is_auto = isinstance(budget, str) and budget.strip().lower() == AUTO
        allowed = None if is_auto else Budget.of(budget, f"{call}: budget")
        limits = None if allowed is None else allowed.begin()
        check_executor(executor, call)
        ledger = as_ledger(store, call)
        recipe, scorer, items = compared.recipe, compared.scorer, compared.items
        prior = prior if prior is PRIOR else compared.prior(prior)
        if allowed is not None:
            check_price(allowed, scorer, recipe, call)
            allowed = replace(allowed, limits=limits)
        if prior is not PRIOR and not is_paid(
            prior
        ):  # wrong ones are refused, whichever way is taken
            left = getattr(recipe, "given", None)  # of two sets
            as_prior(prior, items, scorer.n, call, kept=scorer.kept, given=left)
        return cls(
            call=call,
            recipe=recipe,
            scorer=scorer,
            items=items,
            sides=compared.sides,
            budget=allowed,
            seed=check_seed(seed, call),
            ledger=Ledger() if ledger is None else ledger,
            executor=executor,
            progress=as_progress(progress, call),
            identity=partial(identity_of, recipe, compared.known),
            given=compared.given,
            options={"prior": prior, "trust": trust, "executor": executor},
        )

    @property
    def limits(self) -> Limits | None:
        """Limits of money and time; ``None``: there are none."""
        return None if self.budget is None else self.budget.limits

    @property
    def n(self) -> int:
        """Number of items."""
        return self.scorer.n

    @contextlib.contextmanager
    def opened(self) -> Iterator[Oracle]:
        """Read, with the ledger to oneself."""
        workers = assemble(
            self.executor, PortableScorer(self.scorer, self.recipe, self.items)
        )
        rng, *_ = np.random.default_rng(self.seed).spawn(3)
        trusted = self.options["trust"] or self.ledger.trust
        try:
            with self.ledger.session():
                self.scorer.prepare(lambda what: self.progress.start(what, None))
                oracle = open_oracle(
                    self.scorer,
                    self.recipe,
                    budget=self.budget,
                    ledger=self.ledger,
                    progress=self.progress,
                    rng=rng,
                    identity=self.identity,
                    workers=workers,
                    recheck=not trusted,
                    limits=self.limits,
                )
                try:
                    yield oracle
                finally:
                    self.evaluations = oracle.evaluations
                    self.ready.clear()
        finally:
            workers.close()
            self.progress.finish()

    def choose(self, oracle: Oracle, sweep: AllPairs) -> Way:
        """Say which way to go; one that was gone before is gone on with."""
        given = "auto" if self.budget is None else self.budget.given
        key = fingerprint([self.call, sweep.name, given, self.seed])
        facts = {"method": self.call, "budget": given, "expected": sweep.left}
        record = self.ledger.start(key, facts)
        if self.budget is not None and self.limits is not None:
            made, paid = oracle.evaluations, oracle.account.money
            self.limits.count(record.evaluations - made, record.money - paid)
            rng = np.random.default_rng([self.seed, oracle.n, 5])
            self.bought = size_up(oracle, self.budget, rng)
        found = oracle.decide("way", lambda: asdict(self._way(oracle, sweep)))
        way = Way(**found)
        _log.info("%s: %s", self.call, way)
        return way

    def sweep(self, oracle: Oracle, sweep: AllPairs) -> None:
        """Go through all pairs."""
        if self.recipe.metric and sweep.least is not None and oracle.cost.calls == 1:
            rng = np.random.default_rng([self.seed, oracle.n, 3])
            proof = metric_proof(oracle, self.recipe, rng)
            if proof is not None:
                oracle.prove(proof)
        self.progress.start("all pairs", sweep.left)
        sweep.run(self.ready)
        self.ledger.finish()

    def approximate(self, budget: Any = None) -> Approximation:
        """Approximate; what the sample has read is not paid for again."""
        allowed = self.budget or Budget.of(DEFAULT_BUDGET, "budget")
        if budget is not None:
            allowed = replace(Budget.of(budget, "budget"), limits=self.limits)
        return approximate(
            **self.given,
            budget=allowed,
            seed=self.seed,
            store=self.ledger,
            progress=self.progress,
            **self.options,
        )

    def limit(self, oracle: Oracle) -> int:
        """Return the evaluations that an approximation may make, and its answer."""
        allowed = self.bought or self.budget or Budget.of(DEFAULT_BUDGET, "budget")
        limit = allowed.limit(oracle.cost)
        return oracle.cost.everything() if limit is None else limit

    def left(self, approx: Approximation, limit: int) -> int:
        """Return the evaluations that are left after an approximation for its answer.

        What money and time still buy, where these are limited: the answer is read
        within them, too.
        """
        most = max(0, limit - approx.bill.charged)
        if self.limits is None:
            return most
        self.limits.kept = self.limits.computing = 0.0
        approx.reader(self.call).limits = self.limits
        return min(most, int(_ANSWER * (self.limits.fits() or 0)))

    def _way(self, oracle: Oracle, sweep: AllPairs) -> Way:
        if self.bought is not None and self.budget is not None:
            whole = _WHOLE * (self.bought.evaluations or 0) >= sweep.left
            share = "all pairs" if whole else "fewer than all pairs"
            return Way(whole, f"the budget, {self.budget.given}, buys {share}")
        if self.budget is not None:
            whole = oracle.remaining is None or oracle.remaining >= sweep.left
            share = "all pairs" if whole else "fewer than all pairs"
            return Way(whole, f"the budget, {self.budget.given}, is {share}")
        self.progress.start("timing a sample", None)
        rng = np.random.default_rng([self.seed, oracle.n])
        tiles = oracle.tiles.sample(TILES, rng)
        most = min(_SAMPLED, max(1, sweep.left // 10))
        pair = time_pairs(oracle, most, rng, within=tiles[-1] if tiles else None)
        rates, self.ready = time_tiles(
            oracle, pair, tiles, k=sweep.k, least=sweep.least
        )
        way = choose_way(
            exact_seconds(rates, sweep.left),
            approximating_seconds(oracle.cost, rates),
            sweep.left,
        )
        if not way.exact:
            keep_tiles(oracle.known, self.ready, sweep.least)
            self.ready = {}
        return way


# What all jobs take, beside what is compared and what is asked.
OPTIONS = tuple(list(inspect.signature(Job.of).parameters)[2:])
