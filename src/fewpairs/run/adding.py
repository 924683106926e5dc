"""Adding: new items join those of an approximation, and what was paid for is kept.

Pairs of old items are not read again, and no more of them are: the budget is for pairs
with new items. Everything that is known is fitted anew. Random pairs of old items, read
by the runs before, and random pairs with new items stand for their parts of the larger
matrix in proportion (`fewpairs.matrix.earlier`), for the guard and for the certificate.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from fewpairs.errors import InputError
from fewpairs.matrix.budget import Budget, GivenBudget
from fewpairs.matrix.earlier import enlarged, mark, marked, moved
from fewpairs.matrix.entries import Entries
from fewpairs.methods.auto.spending import GUARD, RANDOM
from fewpairs.progress import Progress, as_progress
from fewpairs.reading.query_memory import Scores
from fewpairs.reading.run_entries import ReadSoFar
from fewpairs.result.approximation import Approximation
from fewpairs.result.certificate import HELD_OUT, HeldOut
from fewpairs.run.grown import Grown
from fewpairs.run.joining import Joining
from fewpairs.run.run import Run
from fewpairs.run.sizing import by_bill
from fewpairs.similarity.items import Items

__all__ = ["add"]

_CALL = "Approximation.add"


def add(
    approx: Approximation,
    new_items: Any,
    *,
    others: Any,
    budget: GivenBudget,
    prior: Any,
    progress: bool | Progress,
) -> Approximation:
    """Let new items join an approximation; see ``Approximation.add``."""
    shown = as_progress(progress, _CALL)
    run = _run_of(approx)
    new, more = _new(run, new_items, others)
    allowed = Budget.of(budget, f"{_CALL}: budget")
    joining = Joining.of(run, new, more)
    searched = _searched(joining, new)
    larger = replace(
        joining.larger(prior),
        progress=shown,
        reading=ReadSoFar(_entries(approx, joining, searched), run.reader.symmetric),
        sides=None,
    )
    known = sum(len(scores[0]) for _, scores in searched)
    return _spend(approx, run, larger, allowed, known * run.reader.calls)


def _new(run: Run, new_items: Any, others: Any) -> tuple[Items, Items]:
    """Return new items, and those of the second of two sets."""
    reader, two = run.reader, run.recipe.split is not None
    if others is not None and not two:
        msg = (
            f"{_CALL}: others is given, and this approximation is of one set. Pass all "
            "new items as new_items."
        )
        raise InputError(msg)
    if new_items is None and others is None:
        what = "new_items, others or both" if two else "new_items"
        msg = f"{_CALL}: there is nothing to add. Pass {what}."
        raise InputError(msg)
    new = () if new_items is None else reader.checked(new_items, _CALL)
    more = () if others is None else reader.checked(others, _CALL, others=True)
    return new, more


def _run_of(approx: Approximation) -> Run:
    """Return what an approximation was made of, where items can be added to it."""
    reader = approx.reader("add")
    similarity = reader.similarity
    if similarity.by_position:
        msg = (
            f"{_CALL}: {similarity.name} came with what it knows of the {reader.n:,} "
            "fitted items, and knows no others. Call fewpairs.approximate with the "
            "larger one; or pass the items themselves and a function of two of them."
        )
        raise InputError(msg)
    if similarity.contextual:
        msg = (
            f"{_CALL}: a value of {similarity.name} depends on all items, so new ones "
            "would change those that were paid for. Call fewpairs.approximate again."
        )
        raise InputError(msg)
    if not approx.known.symmetric:
        msg = (
            f"{_CALL}: the matrix was read as it is, and is not symmetric. Items can "
            "be added where symmetrize=True."
        )
        raise InputError(msg)
    run = approx.source
    if not isinstance(run, Run):
        msg = f"{_CALL}: {type(run).__name__} is no run"
        raise AssertionError(msg)
    if not run.method.takes_more_items:
        msg = (
            f"{_CALL}: {type(run.method).__name__} reads pairs of old items anew for "
            "every matrix. Use method='auto', 'nystrom', 'regularized', 'sicur', "
            "'stacur' or 'skeleton', or call fewpairs.approximate again."
        )
        raise InputError(msg)
    return run


def _entries(
    approx: Approximation, joining: Joining, searched: list[tuple[int, Scores]]
) -> Entries:
    """Return what is known, with the random pairs set aside that no fit has seen."""
    known = joining.run.reader.known
    aside = {GUARD: marked(known, GUARD)}
    if isinstance(approx.evidence, HeldOut):
        aside[HELD_OUT] = approx.evidence.i, approx.evidence.j
    split = joining.recipe.split
    out = enlarged(known, joining.scorer.n, aside, split)
    before = joining.run.recipe.split
    for position, (at, values) in searched:
        out.add_pairs(np.full(len(at), position), moved(at, before, split), values)
    return out


def _searched(joining: Joining, new: Items) -> list[tuple[int, Scores]]:
    """Return what searches have paid for of the new items, by their positions.

    Of two sets, queries are left items.
    """
    run = joining.run
    memory = run.reader.queries
    memory.look()
    if joining.dropped:
        return []
    first = run.recipe.split or run.scorer.n
    known = [memory.known(name) for name in memory.names(new)]
    return [(first + t, scores) for t, scores in enumerate(known) if len(scores[0])]


def _spend(
    approx: Approximation, run: Run, larger: Run, budget: Budget, searched: int
) -> Approximation:
    """Split the budget, and spend it; ``searched``: what searches have paid for."""
    reader = run.reader
    paid = approx.bill.plus_answers(
        reader.evaluations + searched, reader.charged + searched, reader.money
    )
    before = run.cost(symmetric=reader.symmetric)
    cost = larger.cost(symmetric=reader.symmetric)
    landmarks = moved(approx.landmarks, before.split, cost.split)
    grown = Grown(larger.method, landmarks, larger.reader.known, cost, before)
    # Of the first run: what items were added for since is more than an item needs.
    ends = 2 if before.split is None else 1
    per_item = run.per_item or ends * paid.charged / before.shape[0]
    per_other = run.per_other or ends * paid.charged / before.shape[1]
    budget, limits = by_bill(budget, paid, 0.0, _CALL)
    split, whole = grown.split(budget, (per_item, per_other))
    if not len(whole):
        _call_random(reader.known, larger.reader.known)
    larger = replace(
        larger,
        whole=whole if len(whole) else None,
        per_item=per_item,
        per_other=None if before.split is None else per_other,
        limits=limits,
    )
    larger.check_memory(split, _CALL)
    kept = replace(
        paid,
        kept=paid.evaluations,
        old_items=before.shape[0],
        old_others=0 if before.split is None else before.shape[1],
    )
    return larger.go_on(Budget.of_evaluations(split.evaluations), split, kept)


def _call_random(known: Entries, larger: Entries) -> None:
    """Have columns that are no landmarks' any more learned from as random pairs."""
    for lines in known.columns:
        i, j = (
            np.tile(np.arange(known.n), len(lines.indices)),
            np.repeat(lines.indices, known.n),
        )
        apart = i != j
        if known.sides is not None:
            apart &= ~known.sides.within(i, j)
        i, j = (moved(ends[apart], known.split, larger.split) for ends in (i, j))
        there = larger.lookup(i, j)[0]
        fresh = np.setdiff1d(
            larger.keys(i[there], j[there]), larger.keys(*marked(larger, RANDOM))
        )
        mark(larger, RANDOM, *larger.ends(fresh))
