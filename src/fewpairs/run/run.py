"""Run: everything that one approximation is made of, so that it can grow."""

import contextlib
import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from fewpairs.answers.sides import Side
from fewpairs.errors import BudgetError, InputError
from fewpairs.execution import PortableScorer, Workers, assemble
from fewpairs.fingerprint import fingerprint
from fewpairs.ledger.ledger import Ledger
from fewpairs.ledger.subject import Identity
from fewpairs.matrix.budget import Budget, GivenBudget
from fewpairs.matrix.cost import Cost
from fewpairs.matrix.limits import Limits
from fewpairs.methods import Method
from fewpairs.once import once
from fewpairs.progress import Progress, Silence
from fewpairs.reading.opening import open_oracle
from fewpairs.reading.oracle import Oracle
from fewpairs.reading.reader import Reader
from fewpairs.reading.run_entries import ReadSoFar
from fewpairs.result.approximation import Approximation
from fewpairs.result.bill import Bill
from fewpairs.result.certificate import (
    Certificate,
    HeldOut,
    exact_certificate,
    hold_out,
)
from fewpairs.run.budget_split import BudgetSplit, check_memory, split_budget
from fewpairs.run.sizing import by_bill, size_up
from fewpairs.run.stopping import (
    fit_within,
    grow_within,
    held_out_within,
    look_ahead,
)
from fewpairs.similarity.base import Scorer, Similarity
from fewpairs.similarity.binding import bind
from fewpairs.similarity.items import Items
from fewpairs.types import Indices

__all__ = ["Run"]

_log = logging.getLogger(__name__)
_PASSES = 6  # fits at most, where money or time buys more than was thought


@dataclass(frozen=True)
class Run:
    """Everything that one approximation is made of, so that it can grow."""

    recipe: Similarity
    scorer: Scorer
    method: Method
    seed: int
    symmetrize: bool
    store: Ledger | None
    progress: Progress
    identity: Callable[[], Identity]
    items: Items | None = None
    executor: Any = None
    dropped: int = 0
    reading: ReadSoFar | None = None  # of the run before
    trust: bool = False
    own_prior: bool = False  # texts get one of their own making
    whole: Indices | None = None  # landmarks whose columns new items have to complete
    # Evaluations that a new item gets unless told, and one of the second set.
    per_item: float | None = None
    per_other: float | None = None
    sides: tuple[Side, Side] | None = None  # how rows are called
    limits: Limits | None = None  # of money and time
    prior_bill: Bill | None = None  # of a prior that is paid for

    @property
    def _trusted(self) -> bool:
        return self.trust or self.store is None or self.store.trust

    @once
    def reader(self) -> Reader:
        """Exact values of its pairs, and of new items."""
        if self.reading is None:
            msg = "Run.reader: nothing has been read yet"
            raise AssertionError(msg)
        return Reader(
            self.recipe,
            self.scorer,
            self.items,
            self.reading,
            symmetrize=self.symmetrize,
            store=self.store,
            identity=self.identity,
        )

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what binding makes again: scorers hold modules and devices."""
        state = {**self.__dict__, "scorer": None, "executor": None, "limits": None}
        state["progress"] = Silence()
        if "reader" in state:
            state["reading"] = ReadSoFar(self.reader.known, self.reader.symmetric)
            del state["reader"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Bind the similarity to the items again."""
        scorer = bind(state["items"], state["recipe"], "fewpairs.approximate")
        self.__dict__.update(state, scorer=scorer)

    def from_nothing(self, budget: Budget, expected: "BudgetSplit") -> Approximation:
        """Approximate within a budget."""

        def plan(oracle: Oracle) -> BudgetSplit:
            allowed = budget
            if budget.is_scarce:
                rng = np.random.default_rng([self.seed, oracle.n, 5])
                allowed = size_up(oracle, budget, rng)
                self.progress.start("evaluating", allowed.evaluations)
            try:
                return split_budget(self.method, self.recipe, oracle.cost, allowed)
            except BudgetError as error:
                if budget.is_scarce:
                    error.args = (f"{budget.given} buys about that: {error}",)
                raise

        approx = self._fit(budget, plan, expected.evaluations)
        for _ in range(_PASSES if budget.is_scarce else 0):
            if self.limits is None or not self.limits.more:
                break
            more, self.limits.more = self.limits.more, 0
            before = approx.bill.charged
            approx = grow_within(self.limits, approx, before + more)
            if approx.bill.charged == before:
                break
        return approx

    def check_memory(self, split: BudgetSplit, call: str) -> None:
        """Refuse what cannot be held, before it is paid for."""
        on_disk = self.store is not None and self.store.durable
        size = self.scorer.dtype.itemsize
        check_memory(call, split, self.cost(), itemsize=size, on_disk=on_disk)

    def grow(self, approx: Approximation, budget: GivenBudget) -> Approximation:
        """Go on from what was read, up to a larger budget for all of it."""
        call = "Approximation.grow"
        allowed = Budget.of(budget, f"{call}: budget")
        if allowed.is_scarce:
            made, limits = by_bill(allowed, approx.bill, approx.bill.money, call)
            total = approx.bill.charged + (made.evaluations or 0)
            return replace(self, limits=limits).grow(approx, total)
        if self.reading is None or not allowed.is_limited:
            msg = (
                f"{call}: budget is {budget}. Pass a larger one than before, such as "
                '"100/item", 0.1 or 200_000.'
            )
            raise InputError(msg)
        cost = self.cost(symmetric=self.reading.symmetric)
        limit = allowed.limit(cost, on_top=approx.bill.for_symmetry) or 0
        reader = self.reader
        paid = approx.bill.plus_answers(
            reader.evaluations, reader.charged, reader.money
        )
        # Not what was paid for now: with a ledger that would depend on what it knew.
        left = limit - paid.charged
        if left < 1:
            msg = (
                f"{call}: a budget of {limit:,} evaluations is spent already, "
                f"{paid.charged:,} are paid for. Pass a larger one."
            )
            raise BudgetError(msg, needed=paid.charged + 1, allowed=limit)
        everything = self.method.everything(cost)
        if limit >= cost.everything() and everything is not None:
            split = BudgetSplit(everything, 0, left)
        else:
            # Lines that are known cost nothing again.
            known = cost.lines(len(self.reading.entries.line_indices()))
            again = known if self.method.reuses_columns else 0
            more = Budget.of_evaluations(left + again)
            try:
                split = split_budget(self.method, self.recipe, cost, more)
            except BudgetError:
                if self.limits is None:
                    raise
                split = BudgetSplit(self.method.taking(cost, left), 0, left)
        self.check_memory(split, call)
        split = split._replace(evaluations=left)
        return self.go_on(Budget.of_evaluations(left), split, paid)

    def go_on(self, budget: Budget, split: BudgetSplit, paid: Bill) -> Approximation:
        """Spend a budget as it was split, on top of what was read before."""
        return self._fit(budget, lambda _: split, split.evaluations, paid)

    def until(self, target: float, budget: Budget) -> Approximation:
        """Grow until the certificate's upper end is below a target."""
        cost = self.cost()
        most = budget.limit(cost)
        if most is None:
            most = cost.everything()
        size = most
        while size // 2 >= most // 16 and self._affordable(size // 2, cost):
            size //= 2
        first = Budget.of_evaluations(size)
        split = split_budget(self.method, self.recipe, cost, first)
        self.check_memory(split, "fewpairs.approximate")
        approx = self.from_nothing(first, split)
        while approx.certificate.interval[1] > target and size < most:
            size = min(2 * size, most)
            if size <= approx.bill.charged:
                continue
            try:
                approx = grow_within(self.limits, approx, size)
            except (BudgetError, InputError):  # too little is left, or memory ends
                break
            if self.limits is not None and self.limits.is_enough():
                break
        found = approx.certificate
        verdict = (
            f"target error {target:g} reached"
            if found.tells and found.interval[1] <= target
            else f"the budget ended before the target error {target:g} was reached"
        )
        model = replace(approx.model, words=f"{approx.method}; {verdict}")
        return replace(approx, model=model)

    def cost(self, *, symmetric: bool | None = None) -> Cost:
        """Return what reading the matrix takes, as far as its symmetry is known."""
        n, symmetrize = self.scorer.n, self.symmetrize
        return Cost.of(self.recipe, n, symmetrize=symmetrize, symmetric=symmetric)

    def _affordable(self, evaluations: int, cost: Cost) -> bool:
        try:
            allowed = Budget.of_evaluations(evaluations)
            split_budget(self.method, self.recipe, cost, allowed)
        except BudgetError:
            return False
        return True

    def _fit(
        self,
        budget: Budget,
        plan: "Callable[[Oracle], BudgetSplit]",
        expected: int,
        paid: Bill | None = None,
    ) -> Approximation:
        rng = np.random.default_rng(self.seed)
        symmetry_rng, fit_rng, certificate_rng = rng.spawn(3)
        before = self.reading
        if before is not None:
            # The earlier result keeps its own; randomness must be fresh.
            before = ReadSoFar(self.reader.known.copy(), before.symmetric)
            salt = before.entries.moments().number
            certificate_rng = np.random.default_rng([self.seed, salt])
        with self._workers() as workers, self._session() as ledger:
            self.scorer.prepare(lambda what: self.progress.start(what, None))
            started = time.perf_counter()
            n, name = self.scorer.n, self.recipe.name
            _log.info("%s: %d items, %d evaluations expected", name, n, expected)
            self.progress.start("evaluating", expected)
            oracle = open_oracle(
                self.scorer,
                self.recipe,
                budget=budget,
                symmetrize=self.symmetrize,
                ledger=ledger,
                progress=self.progress,
                rng=symmetry_rng,
                identity=self.identity,
                before=before,
                workers=workers,
                recheck=before is None and not self._trusted,
                limits=self.limits,
            )
            self._enter(budget, expected, oracle)
            checks = oracle.account.for_store
            for_symmetry = oracle.evaluations - checks
            split = plan(oracle)
            if self.whole is not None:
                oracle.columns(self.whole)
            model = fit_within(split.method, self.method, oracle, fit_rng)
            for_fit = oracle.evaluations - checks - for_symmetry
            evidence: Certificate | HeldOut
            if model.exact:
                known = oracle.read
                size = oracle.decide("held out", partial(_left_for, oracle, split))
                evidence = hold_out(
                    oracle, size, certificate_rng, bounds=self.recipe.bounds
                )
                look_ahead(oracle)
            else:  # a yardstick that has read everything, answering from its factors
                known = oracle.read.like()
                evidence = exact_certificate(oracle.read, model)
            if ledger is not None:
                ledger.finish()
        bill = Bill(
            similarity=_in_words(self.recipe, oracle.cost, dropped=self.dropped),
            evaluations=oracle.evaluations,
            for_fit=for_fit,
            for_certificate=oracle.evaluations - checks - for_fit - for_symmetry,
            for_symmetry=for_symmetry,
            for_store=checks,
            everything=oracle.cost.everything(),
            evaluating=oracle.seconds,
            computing=max(0.0, time.perf_counter() - started - oracle.seconds),
            charged=oracle.charged,
            money=oracle.account.money,
            prior=self.prior_bill,
        )
        _log.info(
            "%s: %d evaluations in %.3g s, %.3g s computing",
            name,
            bill.evaluations,
            bill.evaluating,
            bill.computing,
        )
        if paid is not None:
            bill = paid.plus(bill)
        source = None
        if model.exact:
            reading = oracle.reading()
            source = replace(self, reading=reading, whole=None, limits=None)
        return Approximation(model, known, evidence, bill, source)

    @contextlib.contextmanager
    def _session(self) -> Iterator[Ledger | None]:
        """Have the ledger to oneself, and the watchers told of the end."""
        try:
            if self.store is None:
                yield None
            else:
                with self.store.session() as ledger:
                    yield ledger
        finally:
            self.progress.finish()

    @contextlib.contextmanager
    def _workers(self) -> Iterator[Workers]:
        workers = assemble(
            self.executor, PortableScorer(self.scorer, self.recipe, self.items)
        )
        try:
            yield workers
        finally:
            workers.close()

    def _enter(self, budget: Budget, expected: int, oracle: Oracle) -> None:
        """Write down in the ledger what this run is asked for.

        Money that it has paid before it was killed counts.
        """
        if self.store is None:
            return
        prior = getattr(self.method, "prior", None)
        before = None if self.reading is None else self.reading.entries.moments().number
        asked = (repr(self.method), budget.given, self.seed, self.symmetrize, before)
        embeddings = None if prior is None else prior.vectors
        key = fingerprint([*asked, prior and prior.name, embeddings])
        facts = {
            "method": type(self.method).__name__,
            "budget": budget.given,
            "seed": self.seed,
            "expected": expected,
        }
        record = self.store.start(key, facts)
        if self.limits is not None:
            made, paid = oracle.evaluations, oracle.account.money
            self.limits.count(record.evaluations - made, record.money - paid)


def _left_for(oracle: Oracle, split: BudgetSplit) -> int:
    """Return how many pairs are held out: up to eight fewer than there should be.

    Where a store was checked and then had next to nothing of what the fit needed, the
    check is paid for here, so that the budget holds and the fit does not depend on it.
    """
    if oracle.limits is not None:
        return held_out_within(oracle, split.held_out)
    if oracle.remaining is None or not oracle.account.for_store:
        return split.held_out
    return min(split.held_out, oracle.remaining // oracle.cost.calls)


def _in_words(similarity: Similarity, cost: Cost, *, dropped: int) -> str:
    if cost.split is not None:
        kind = "of two sets"
    elif not cost.symmetric:
        kind = "asymmetric"
    else:
        kind = "symmetric" if cost.calls == 1 else "averaged over both orders"
    diagonal = ", diagonal known" if cost.free_diagonal else ""
    left_out = f", {dropped:,} items dropped" if dropped else ""
    remark = f"; {similarity.remark}" if similarity.remark else ""
    return f"{similarity.name}, {kind}{diagonal}{left_out}{remark}"
