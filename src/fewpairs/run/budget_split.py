"""Pricing: what a budget buys, landmarks and held-out pairs, before any is paid for."""

import warnings
from bisect import bisect_right
from typing import NamedTuple

from fewpairs import memory
from fewpairs.errors import BudgetError, FewpairsWarning, InputError
from fewpairs.matrix.budget import Budget
from fewpairs.matrix.cost import Cost
from fewpairs.matrix.symmetry import pairs_to_check
from fewpairs.methods import Method
from fewpairs.result.certificate import pairs_for
from fewpairs.similarity.base import Similarity

__all__ = ["BudgetSplit", "check_memory", "foresee", "split_budget", "warn_of_few"]


class BudgetSplit(NamedTuple):
    """A method whose landmarks are fixed, and the pairs held out beside it."""

    method: Method
    held_out: int
    evaluations: int


def split_budget(
    method: Method, similarity: Similarity, cost: Cost, budget: Budget
) -> BudgetSplit:
    """Split a budget between the method and the certificate, or raise.

    Where landmarks follow from the budget, a tenth is held out first; where they are
    given, the certificate takes what they leave, up to a tenth. The split depends on
    the budget alone, not on what a ledger has paid for already: a run that goes on
    after an error gives the result of one that never failed.
    """
    calls = cost.calls
    limit = budget.limit(cost)
    if limit is None:
        method = method.resolve(cost, None)
        price = method.price(cost)
        unread = max(0, cost.everything() - price) // calls
        held_out = min(pairs_for(price, calls), unread)
        return BudgetSplit(method, held_out, price + held_out * calls)
    check = 2 * pairs_to_check(similarity, cost.n, limit)
    left = limit if budget.is_everything(cost) else limit - check
    everything = method.everything(cost)
    if everything is not None and everything.price(cost) <= left:
        method.resolve(cost, left)  # refuses an asymmetric matrix by the method's name
        return BudgetSplit(everything, 0, check + everything.price(cost))
    wanted = pairs_for(left, calls)
    try:
        method = method.resolve(cost, left - wanted * calls)
    except BudgetError:  # the fit comes first
        method = _afforded(method, similarity, cost, left)
    price = method.price(cost)
    unread = max(0, cost.everything() - price) // calls
    held_out = min(wanted, (left - price) // calls, unread)
    return BudgetSplit(method, held_out, check + price + held_out * calls)


def _afforded(method: Method, similarity: Similarity, cost: Cost, left: int) -> Method:
    """Resolve a method, or say which budget would do."""
    try:
        return method.resolve(cost, left)
    except BudgetError as error:
        total = error.needed + 2 * pairs_to_check(similarity, cost.n, None)
        msg = (
            f"{error} Raise budget= to {total:,} evaluations ({_share(total, cost)}) "
            "or more, or use fewer landmarks where the method has any."
        )
        raise BudgetError(msg, needed=total, allowed=left) from None


def _share(evaluations: int, cost: Cost) -> str:
    share = cost.share(evaluations)
    if share >= 1:
        return "budget=1.0"
    return f"{share:.3g} of the pairs, {cost.per_item(evaluations):.3g} per item"


def warn_of_few(call: str, budget: Budget, cost: Cost) -> None:
    """Say what a budget below one pair per item buys."""
    limit = budget.limit(cost)
    if limit is None or limit >= cost.everything() or cost.per_item(limit) >= 1:
        return
    pairs = limit // cost.each
    items, ends = (cost.n, 2) if cost.split is None else (cost.split, 1)
    msg = (
        f"{call}: a budget of {limit:,} evaluations is {cost.per_item(limit):.2g} "
        f"pairs per item: at least {items - ends * pairs:,} of {items:,} items are "
        "compared with none. It buys the mean and, with a prior, how far to believe "
        'it; near neighbors are then those of the prior. budget="1/item" is '
        f"{items // ends * cost.each:,} evaluations."
    )
    warnings.warn(msg, FewpairsWarning, stacklevel=3)


def check_memory(
    call: str, split: BudgetSplit, cost: Cost, *, itemsize: int, on_disk: bool
) -> None:
    """Refuse a run whose arrays cannot be held, before anything is paid for.

    s landmarks' columns and the factors made of them are 2·n·s numbers, on disk where
    the ledger is; their core, its eigenvectors and its inverse 3·s² in double
    precision.
    """
    n = cost.n
    lines = getattr(split.method, "count", -(-split.evaluations // n))
    # Of two sets, what lies across is read by the lines of the smaller one.
    most = n if cost.split is None else 2 * min(cost.shape)
    lines = most if split.evaluations >= cost.everything() else min(most, lines)

    def size(s: int) -> int:
        return (0 if on_disk else 2 * itemsize * n * s) + 24 * s * s

    free = memory.available_memory()
    if free is None or size(lines) <= free:
        return
    fits = max(1, bisect_right(range(n + 1), free, key=size) - 1)
    price = cost.lines(fits)
    memory.check_fits(
        call,
        size(lines),
        f"{lines:,} columns of the {n:,} × {n:,} matrix and what is made of them",
        f"Pass budget={price} or less ({_share(price, cost)}): {fits:,} columns fit. "
        "All pairs are read without being held by fewpairs.neighbors and "
        "fewpairs.duplicates.",
    )


def foresee(
    method: Method, similarity: Similarity, n: int, budget: Budget, *, symmetrize: bool
) -> BudgetSplit:
    """Return what a run will be, or raise, before anything is paid for.

    An undeclared symmetry is taken for granted here.
    """
    if similarity.symmetric is None and not symmetrize and method.needs_symmetric:
        msg = (
            f"{type(method).__name__} needs a symmetric matrix, "
            f"and it is not known whether {similarity.name} is symmetric. Declare "
            "symmetric=True, or use symmetrize=True."
        )
        raise InputError(msg)
    cost = Cost.of(similarity, n, symmetrize=symmetrize)
    return split_budget(method, similarity, cost, budget)
