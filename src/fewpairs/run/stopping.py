"""Stopping: what a run does where money or time ends sooner, or later, than thought."""

import copy
from dataclasses import replace
from typing import Any

import numpy as np

from fewpairs.errors import BudgetError, SpentError
from fewpairs.matrix.limits import Limits
from fewpairs.methods import Method
from fewpairs.model.model import Model
from fewpairs.reading.oracle import Oracle
from fewpairs.result.approximation import Approximation

__all__ = ["fit_within", "grow_within", "held_out_within", "look_ahead"]

_SMALLER = 0.85  # of what a fit was to take, where it could not be paid for
_TRIES = 12
_MORE = 3  # times as many pairs as planned that may be held out
_LITTLE = 400  # pairs that no other fit is worth


def fit_within(
    method: Method, smaller: Method, oracle: Oracle, rng: np.random.Generator
) -> Model:
    """Fit; where money or time ends before, with fewer evaluations, most of them paid.

    The default stops by itself and goes on with what it has. Methods with landmarks
    take fewer of them; ``smaller`` is the method before its landmarks were fixed.
    """
    allowance, last = method.price(oracle.cost), None
    for attempt in range(_TRIES):
        charged, paid = oracle.charged, oracle.evaluations
        try:
            return method.fit(oracle, copy.deepcopy(rng))
        except SpentError as error:
            if oracle.limits is None or attempt == _TRIES - 1:
                raise
            last = error
        # Most of it is asked for again, and was paid for here.
        oracle.account.charged = charged + oracle.evaluations - paid
        oracle.limits.kept = 0.0
        allowance = int(_SMALLER * allowance)
        try:
            method = smaller.resolve(oracle.cost, allowance)
        except BudgetError:
            raise last from None
    raise AssertionError  # a loop that returns or raises


def grow_within(
    limits: Limits | None, approx: Approximation, evaluations: int
) -> Approximation:
    """Grow within limits; what could not be used for a larger result is billed."""
    source: Any = approx.source
    if limits is None or source is None:
        return approx.grow(evaluations)
    made, paid = limits.evaluations, limits.paid
    try:
        grown: Approximation = replace(source, limits=limits).grow(approx, evaluations)
    except BudgetError:
        made, paid = limits.evaluations - made, limits.paid - paid
        return replace(approx, bill=approx.bill.plus_answers(made, made, paid))
    return grown


def held_out_within(oracle: Oracle, planned: int) -> int:
    """Return how many pairs to hold out: what is left, about as many as planned."""
    limits = oracle.limits
    if limits is None:
        return planned
    limits.kept = limits.computing = 0.0
    most = [m for m in (limits.fits(), oracle.remaining) if m is not None]
    pairs = min([m // oracle.cost.calls for m in most], default=planned)
    # What is too little for another fit is held out as a whole.
    return pairs if pairs - planned < _LITTLE else min(_MORE * planned, pairs)


def look_ahead(oracle: Oracle) -> None:
    """Decide how many more evaluations are worth another fit, where much is left."""
    limits = oracle.limits
    if limits is None:
        return

    def choose() -> int:
        known = oracle.read.moments().number * oracle.cost.calls
        unread = oracle.cost.everything() - known
        limits.computing = max(0.0, limits.elapsed - limits.waited)
        if limits.is_enough() or unread < 1:
            return 0
        return min(limits.fits() or 0, unread)

    limits.more = int(oracle.decide("more", choose))
