"""Sizing: how many evaluations money and time buy, by a pilot's measurements."""

import math
from typing import Any

import numpy as np

from fewpairs.errors import BudgetError, InputError, SpentError
from fewpairs.matrix.budget import Budget
from fewpairs.matrix.limits import Limits
from fewpairs.reading.oracle import Oracle
from fewpairs.result.bill import Bill
from fewpairs.run.expectation import expect
from fewpairs.similarity.base import Scorer, Similarity

__all__ = ["TRAINING", "by_bill", "check_price", "estimate", "size_up"]

TRAINING = 0.2  # share of the time that a student may be trained for
_FIRST, _GROWTH = 8, 4  # pairs of the pilot's first request, and times more in each
_PILOT, _MOST = 0.02, 512  # share of what may be spent, and pairs, that tell enough
_CALLS = 200  # that a run is cut into at least, where a call cannot be stopped
_KEPT = 0.04  # share that a fit leaves to what comes last
_CAREFUL = 0.95  # of what a budget buys by the prices of an earlier bill
_COMPUTING = 0.25  # share of the time that is left to computing at most


def check_price(
    budget: Budget, scorer: Scorer, similarity: Similarity, call: str
) -> None:
    """Refuse a budget in money where nobody says what an evaluation costs."""
    if budget.money is not None and not scorer.price > 0:
        msg = (
            f"{call}: budget is {budget.given!r}, and {similarity.name} has no price. "
            "Pass price=(input, output) to fewpairs.Judge, cost_per_call= to "
            "fewpairs.from_async, or set Scorer.price; or pass another kind of budget, "
            'such as "50/item" or "20min".'
        )
        raise InputError(msg)


def estimate(budget: Budget, scorer: Scorer) -> Budget:
    """Return evaluations that money may buy, far more rather than less; of time any.

    What is too little for a method by this is refused before anything is paid for.
    """
    if budget.money is None or not scorer.price > 0:
        return Budget.of_evaluations(1 << 62)
    return Budget.of_evaluations(max(1, math.ceil(8 * budget.money / scorer.price)))


def by_bill(
    budget: Budget, bill: Bill, spent: float, call: str
) -> tuple[Budget, Limits | None]:
    """Return what a budget buys by the prices of a bill, and its limits from now on.

    ``spent`` is the money that is in it already; time is for what comes now.
    """
    if not budget.is_scarce:
        return budget, budget.limits
    made, left = max(1, bill.evaluations), None
    each, left_of = bill.evaluating / made, budget.seconds or 0.0
    if budget.money is not None:
        left = left_of = budget.money - spent
        each = bill.money / made
        if left <= 0 or each <= 0:
            paid = f"{spent:,.2f} are paid already; pass a larger one"
            free = "nothing has cost money so far; pass another kind of budget"
            msg = f"{call}: budget is {budget.given}, and {paid if each else free}."
            raise BudgetError(msg, needed=1, allowed=0)
    number = int(_CAREFUL * left_of / max(1e-9, each))
    return Budget.of_evaluations(max(1, number)), Limits(left, budget.seconds)


def size_up(oracle: Oracle, budget: Budget, rng: np.random.Generator) -> Budget:
    """Read random pairs, more and more at once, until they tell what one takes.

    Returns the evaluations that fit into what is left. A run that goes on reads as
    many, and comes to the same number.

    Evaluations: some 2 % of the budget, and at most 680.
    """
    limits = oracle.limits
    if limits is None:
        return budget
    asked: list[int] = []

    def choose() -> dict[str, Any]:
        _pilot(oracle, limits, rng, asked)
        limits.computing = _computing(oracle, limits)
        found = limits.fits()
        number = oracle.cost.everything() if found is None else found
        return {"pilot": asked, "evaluations": number, "computing": limits.computing}

    try:
        found = oracle.decide("size", choose)
    except SpentError as error:
        raise _too_little(budget, oracle, error) from error
    for size in found["pilot"][len(asked) :]:
        _read(oracle, size, rng)
    number = int(found["evaluations"])
    if number < 1:
        raise _too_little(budget, oracle, None)
    limits.chunk = max(1, number // _CALLS)
    limits.kept, limits.computing = _KEPT, float(found["computing"])
    limits.mark()
    return Budget.of_evaluations(number)


def _pilot(
    oracle: Oracle, limits: Limits, rng: np.random.Generator, asked: list[int]
) -> None:
    """Read more and more at once; ``asked`` becomes how many."""
    size = _FIRST
    while size >= 1 and _read(oracle, size, rng):
        asked.append(size)
        if limits.used >= _PILOT or sum(asked) >= _MOST:
            return
        most = limits.fits()
        size = min(_GROWTH * size, _MOST, _MOST if most is None else int(_PILOT * most))
        limits.mark()


def _computing(oracle: Oracle, limits: Limits) -> float:
    """Return the seconds that computing may take, by what it took elsewhere."""
    if limits.seconds is None:
        return 0.0
    number = min(limits.fits() or 0, oracle.cost.everything())
    expected = expect(oracle.n, oracle.cost.per_item(max(1, number)))
    if expected is None:
        return 0.0
    return min(_COMPUTING * limits.seconds, expected.computing[1])


def _read(oracle: Oracle, size: int, rng: np.random.Generator) -> bool:
    i, j = oracle.read.sample_unknown(max(1, size // oracle.cost.calls), rng)
    if len(i):
        oracle.pairs(i, j)
    return len(i) > 0


def _too_little(
    budget: Budget, oracle: Oracle, error: SpentError | None
) -> BudgetError:
    paid = oracle.evaluations
    msg = (
        f"fewpairs.approximate: a budget of {budget.given} ended after {paid:,} "
        f"evaluation{'' if paid == 1 else 's'}, before anything could be learned of "
        "them. Raise budget=; with a store= they are not paid for again."
    )
    told = SpentError(msg, needed=paid + 1, allowed=paid)
    told.ledger = None if error is None else error.ledger
    return told
