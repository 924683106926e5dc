"""The verb: approximate a similarity matrix from a few of its pairs."""

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from typing import Any

import numpy as np

from fewpairs.checks import check_flag
from fewpairs.errors import BudgetError, InputError
from fewpairs.execution import PortableScorer, Workers, assemble, check_executor
from fewpairs.fingerprint import fingerprint
from fewpairs.ledger.ledger import Identity, Ledger
from fewpairs.ledger.opening import as_ledger, identity_of, known_by
from fewpairs.matrix.budget import Budget, GivenBudget
from fewpairs.matrix.cost import Cost
from fewpairs.matrix.entries import Entries
from fewpairs.methods import Method, as_method, with_prior
from fewpairs.once import once
from fewpairs.progress import Progress, Silence, Status, as_progress
from fewpairs.reading.opening import open_oracle
from fewpairs.reading.oracle import Oracle
from fewpairs.reading.reader import Reader
from fewpairs.reading.run_entries import Reading
from fewpairs.result.approximation import Approximation
from fewpairs.result.bill import Bill
from fewpairs.result.certificate import (
    Certificate,
    HeldOut,
    exact_certificate,
    hold_out,
)
from fewpairs.run.arguments import check_seed, check_target
from fewpairs.run.budget_split import (
    BudgetSplit,
    check_memory,
    foresee,
    split_budget,
)
from fewpairs.similarity.base import Scorer, Similarity
from fewpairs.similarity.binding import as_similarity, bind, listed
from fewpairs.similarity.items import Items
from fewpairs.similarity.priors import as_prior

__all__ = ["approximate"]


def approximate(
    items: Iterable[Any] | None,
    similarity: Any,
    *,
    column: str | None = None,
    method: str | Method = "auto",
    budget: GivenBudget = 0.05,
    seed: int = 0,
    symmetrize: bool = True,
    store: Ledger | str | PathLike[str] | None = None,
    progress: bool | Progress | Callable[[Status], object] = False,
    prior: Any = None,
    target_error: float | None = None,
    executor: Any = None,
) -> Approximation:
    """Approximate all pairwise similarities of ``items`` from a few of them.

    Parameters
    ----------
    items
        At least two items, in an order: a list, tuple or generator, a NumPy, Arrow or
        polars array, a pandas Series, a column of a data set. They become a list, by
        position. ``None`` where ``similarity`` is a matrix.
    similarity
        A :class:`~fewpairs.Similarity`, a function ``f(a, b) -> float``, or an n×n
        array (whose entries count as evaluations when they are read).
    column
        Where ``items`` is a table (pandas, polars, Arrow, a data set) or a list of
        dicts: the column that holds the items.
    method
        ``"auto"``, ``"nystrom"``, ``"sms"``, ``"skeleton"``, ``"sicur"``,
        ``"stacur"``, ``"regularized"``, ``"optimal"``, or an instance such as
        ``fp.SMSNystrom(landmarks=250)``. With a name, the landmarks follow from the
        budget.
    budget
        A hard limit. A float, or a text such as ``"5%"``, is a share of the n(n−1)/2
        distinct pairs (1.0 is everything: the diagonal too, and on top the up to eight
        mirror images that check an unproven symmetry), an int a number of evaluations,
        ``"50/item"`` 50 pairs per item, that is 25·n, ``None`` what a method with given
        landmarks needs. A declared diagonal is free. An asymmetric similarity takes two
        evaluations per pair.
    seed
        Same seed, same result.
    symmetrize
        Read an asymmetric similarity as ½(K + Kᵀ). ``False`` reads it as it is,
        for methods that can: skeleton, SiCUR, StaCUR and optimal.
    store
        Where what is paid for is kept: a folder, any URL that fsspec knows, or a
        :class:`~fewpairs.Ledger`. Entries that it holds already are free. In a folder
        they survive whatever happens to the process: call again, and what is missing
        is evaluated.
    progress
        ``True`` shows a bar; or a function that is called with a
        :class:`~fewpairs.progress.Status`; or an object with the methods of
        :class:`~fewpairs.progress.Progress`.
    prior
        A cheap similarity that says something about the expensive one: an (n, d) array
        of embeddings (their cosine), or a :class:`~fewpairs.Similarity`. Not counted;
        used if leaving out landmarks says that it helps. For ``"auto"`` and
        ``"regularized"``.
    target_error
        Start with a part of the budget and grow until the upper end of the
        certificate's interval is below this relative error, or the budget ends.
        ``approx.method`` says which.
    executor
        Who calls the similarity: ``None`` (here, one chunk after the other),
        ``"threads"``, ``"processes"`` or ``"gpus"`` (one process a GPU), with a number
        if you like (``"processes:4"``); any executor of :mod:`concurrent.futures`; a
        ``dask.distributed.Client``, or the address of a scheduler. The result is the
        same.

    Returns
    -------
    Approximation
        Answers every pair, row and block; ``print`` it for a receipt.

    Raises
    ------
    InputError, BudgetError
        Before anything is paid for.
    SimilarityError
        Where the similarity fails; what was paid for is in its ``.ledger``.
    StoreError
        Where ``store`` is damaged, full, read-only, in use or too new.

    Examples
    --------
    >>> import fewpairs as fp
    >>> texts = [f"{a} {b}" for a in ("red", "green", "blue") for b in range(100)]
    >>> approx = fp.approximate(texts, fp.StringSimilarity("levenshtein"), budget=0.2)
    >>> approx.evaluations <= 0.2 * 300 * 299 / 2
    True
    >>> approx.certificate.relative_error < 0.2
    True
    """
    call = "fewpairs.approximate"
    chosen = as_method(method)
    allowed = Budget.of(budget, f"{call}: budget")
    symmetrize = check_flag(call, "symmetrize", symmetrize)
    check_executor(executor, call)
    check_target(target_error, call)
    ledger = as_ledger(store, call)
    shown = as_progress(progress, call)
    recipe = as_similarity(similarity, call)
    listed_items = listed(items, column, call)
    scorer = bind(listed_items, recipe, call)
    bound = as_prior(prior, listed_items, scorer.n, call, kept=scorer.kept)
    chosen = with_prior(chosen, bound, call)
    run = Run(
        recipe=recipe,
        scorer=scorer,
        method=chosen,
        seed=check_seed(seed, call),
        symmetrize=symmetrize,
        store=ledger,
        progress=shown,
        items=listed_items,
        executor=executor,
        identity=partial(identity_of, recipe, known_by(items, listed_items)),
        dropped=_dropped(scorer, listed_items),
    )
    expected = foresee(chosen, recipe, scorer.n, allowed, symmetrize=symmetrize)
    if target_error is None:
        run.check_memory(expected, call)
        return run.from_nothing(allowed, expected)
    return run.until(target_error, allowed)


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
    reading: Reading | None = None  # of the run before

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
        state = {**self.__dict__, "scorer": None, "executor": None}
        state["progress"] = Silence()
        if "reader" in state:
            state["reading"] = Reading(self.reader.known, self.reader.symmetric)
            del state["reader"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Bind the similarity to the items again."""
        scorer = bind(state["items"], state["recipe"], "fewpairs.approximate")
        self.__dict__.update(state, scorer=scorer)

    def from_nothing(self, budget: Budget, expected: "BudgetSplit") -> Approximation:
        """Approximate within a budget."""

        def plan(oracle: Oracle) -> BudgetSplit:
            return split_budget(self.method, self.recipe, oracle.cost, budget)

        return self._fit(budget, plan, expected.evaluations)

    def check_memory(self, split: BudgetSplit, call: str) -> None:
        """Refuse what cannot be held, before it is paid for."""
        on_disk = self.store is not None and self.store.durable
        size = self.scorer.dtype.itemsize
        check_memory(call, split, self._cost(), itemsize=size, on_disk=on_disk)

    def grow(self, approx: Approximation, budget: GivenBudget) -> Approximation:
        """Go on from what was read, up to a larger budget for all of it."""
        call = "Approximation.grow"
        allowed = Budget.of(budget, f"{call}: budget")
        if self.reading is None or not allowed.is_limited:
            msg = f"{call}: budget is {budget}; pass a share of the pairs or a number."
            raise InputError(msg)
        cost = self._cost(symmetric=self.reading.symmetric)
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
            split = split_budget(self.method, self.recipe, cost, more)
        self.check_memory(split, call)
        return self._fit(Budget.of_evaluations(left), lambda _: split, left, paid)

    def until(self, target: float, budget: Budget) -> Approximation:
        """Grow until the certificate's upper end is below a target."""
        cost = self._cost()
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
                approx = approx.grow(size)
            except (BudgetError, InputError):  # too little is left, or memory ends
                break
        high = approx.certificate.interval[1]
        verdict = (
            f"target error {target:g} reached"
            if high <= target
            else f"the budget ended before the target error {target:g} was reached"
        )
        model = replace(approx.model, words=f"{approx.method}; {verdict}")
        return replace(approx, model=model)

    def _cost(self, *, symmetric: bool | None = None) -> Cost:
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
            before = Reading(self.reader.known.copy(), before.symmetric)
            salt = before.entries.moments().number
            certificate_rng = np.random.default_rng([self.seed, salt])
        with self._workers() as workers, self._session() as ledger:
            self.scorer.prepare(lambda what: self.progress.start(what, None))
            started = time.perf_counter()
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
            )
            self._enter(budget, expected)
            for_symmetry = oracle.evaluations
            split = plan(oracle)
            model = split.method.fit(oracle, fit_rng)
            for_fit = oracle.evaluations - for_symmetry
            evidence: Certificate | HeldOut
            if model.exact:
                known = oracle.read
                evidence = hold_out(oracle, split.held_out, certificate_rng)
            else:  # a yardstick that has read everything, answering from its factors
                known = Entries(oracle.n, symmetric=oracle.symmetric)
                evidence = exact_certificate(oracle.read, model)
            if ledger is not None:
                ledger.finish()
        bill = Bill(
            similarity=_in_words(self.recipe, oracle.cost, dropped=self.dropped),
            evaluations=oracle.evaluations,
            for_fit=for_fit,
            for_certificate=oracle.evaluations - for_fit - for_symmetry,
            for_symmetry=for_symmetry,
            everything=oracle.cost.everything(),
            evaluating=oracle.seconds,
            computing=max(0.0, time.perf_counter() - started - oracle.seconds),
            charged=oracle.charged,
            money=oracle.account.money,
        )
        if paid is not None:
            bill = paid.plus(bill)
        source = replace(self, reading=oracle.reading()) if model.exact else None
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

    def _enter(self, budget: Budget, expected: int) -> None:
        """Write down in the ledger what this run is asked for."""
        if self.store is None:
            return
        prior = getattr(self.method, "prior", None)
        before = None if self.reading is None else self.reading.entries.moments().number
        asked = (repr(self.method), budget.given, self.seed, self.symmetrize, before)
        embeddings = None if prior is None else prior.embeddings
        key = fingerprint([*asked, prior and prior.name, embeddings])
        facts = {
            "method": type(self.method).__name__,
            "budget": budget.given,
            "seed": self.seed,
            "expected": expected,
        }
        self.store.start(key, facts)


def _dropped(scorer: Scorer, items: Items | None) -> int:
    """Return how many items the similarity was asked to leave out."""
    return 0 if scorer.kept is None or items is None else len(items) - scorer.n


def _in_words(similarity: Similarity, cost: Cost, *, dropped: int) -> str:
    if not cost.symmetric:
        kind = "asymmetric"
    else:
        kind = "symmetric" if cost.calls == 1 else "averaged over both orders"
    diagonal = ", diagonal known" if cost.free_diagonal else ""
    left_out = f", {dropped:,} items dropped" if dropped else ""
    return f"{similarity.name}, {kind}{diagonal}{left_out}"
