"""Cascade: a prior that is paid for, approximated before what it is a prior of."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from fewpairs.ledger.ledger import Ledger
from fewpairs.ledger.opening import part_of
from fewpairs.matrix.budget import DEFAULT_BUDGET, Budget
from fewpairs.matrix.limits import Limits
from fewpairs.progress import Progress
from fewpairs.result.approximation import Approximation
from fewpairs.result.bill import Bill
from fewpairs.similarity.answered import prior_of_answers
from fewpairs.similarity.base import Scorer, Similarity
from fewpairs.similarity.items import Items
from fewpairs.similarity.paid import Paid
from fewpairs.similarity.priors import Prior

__all__ = ["Cascade", "is_paid"]

_SHARE = 0.2  # of money or time that the cheaper one gets


def is_paid(prior: Any) -> bool:
    """Tell whether a prior, or one of several, is paid for."""
    several = prior if isinstance(prior, list) else [prior]
    return any(isinstance(one, Paid) for one in several)


class Cascade(NamedTuple):
    """What a paid prior is read with: items, ledger and limits of the run it is for."""

    approximate: Callable[..., Approximation]
    items: Items | None
    recipe: Similarity
    scorer: Scorer
    budget: Budget
    limits: Limits | None
    ledger: Ledger | None
    seed: int
    progress: Progress
    call: str

    def read(self, prior: Any) -> tuple[Any, Bill | None]:
        """Return a prior whose paid parts are read, and what they cost together."""
        if not is_paid(prior):
            return prior, None
        several = prior if isinstance(prior, list) else [prior]
        made: list[Any] = []
        bill: Bill | None = None
        for number, one in enumerate(several):
            if isinstance(one, Paid):
                approx = self._approximated(one, number)
                own = approx.bill
                bill = own if bill is None else bill.beside(own)
                one = self._as_prior(one, approx)  # noqa: PLW2901
            made.append(one)
        return (made if isinstance(prior, list) else made[0]), bill

    def _approximated(self, paid: Paid, number: int) -> Approximation:
        given = getattr(self.recipe, "given", None)
        items = self.items
        others = None
        if given is not None and items is not None:
            items, others = items[:given], items[given:]
        ledger = None
        if self.ledger is not None:
            ledger = part_of(self.ledger, f"prior/{number}" if number else "prior")
        before = _restarts(ledger)
        approx = self.approximate(
            items,
            paid.similarity,
            others=others,
            budget=self._allowed(paid),
            prior=paid.prior,
            seed=self.seed,
            store=ledger,
            progress=self.progress,
        )
        if self.limits is not None and self.limits.money is not None:
            self.limits.money -= max(approx.bill.money, _money(ledger, before))
        return approx

    def _allowed(self, paid: Paid) -> Budget:
        """Return the budget of the cheaper one, within that of both."""
        limits = self.limits
        if paid.budget is not None:
            allowed = Budget.of(paid.budget, "fewpairs.paid: budget")
        elif limits is None or (limits.money is not None and not self._costs(paid)):
            allowed = Budget.of(DEFAULT_BUDGET, "budget")
        elif limits.money is not None:
            allowed = Budget.of(f"${_SHARE * limits.money!r}", "budget")
        else:
            allowed = Budget.of(f"{_SHARE * (limits.seconds or 0.0)!r}s", "budget")
        if limits is None:
            return allowed
        left = None if limits.seconds is None else limits.seconds - limits.elapsed
        most = Limits(limits.money, left)
        if allowed.money is not None:
            most.money = min(allowed.money, limits.money or allowed.money)
        if allowed.seconds is not None:
            most.seconds = min(allowed.seconds, left or allowed.seconds)
        return replace(allowed, limits=most)

    def _costs(self, paid: Paid) -> bool:
        scorer = paid.similarity.bind([] if self.items is None else self.items[:1])
        return scorer.price > 0

    def _as_prior(self, paid: Paid, approx: Approximation) -> Prior:
        split = self.recipe.split
        name = f"{paid.similarity.name}, paid for"
        return prior_of_answers(approx, name, self.scorer.n, split, self.call)


def _restarts(ledger: Ledger | None) -> dict[str, int]:
    """Return how often every run of a ledger was begun again."""
    records = {} if ledger is None else ledger.records
    return {key: record.restarts for key, record in records.items()}


def _money(ledger: Ledger | None, before: dict[str, int]) -> float:
    """Return what the runs have cost that were begun since, or went on: all of it.

    What was paid before a kill has to count, so that the rest gets no more than it had.
    """
    records = [] if ledger is None else ledger.records.values()
    return sum(r.money for r in records if before.get(r.key) != r.restarts)
