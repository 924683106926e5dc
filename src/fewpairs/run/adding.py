"""Adding: new items join those of an approximation, and what was paid for is kept.

Pairs of old items are not read again, and no more of them are: the budget is for pairs
with new items. Everything that is known is fitted anew. Random pairs of old items, read
by the runs before, and random pairs with new items stand for their parts of the larger
matrix in proportion (`fewpairs.matrix.earlier`), for the guard and for the certificate.
"""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from fewpairs.errors import InputError
from fewpairs.ledger.larger import larger_ledger
from fewpairs.ledger.opening import identity_of
from fewpairs.ledger.subject import FingerprintOnce
from fewpairs.matrix.budget import Budget, GivenBudget
from fewpairs.matrix.earlier import enlarged, mark, marked
from fewpairs.matrix.entries import Entries
from fewpairs.methods import Method
from fewpairs.methods.auto.spending import GUARD, RANDOM
from fewpairs.progress import Progress, as_progress
from fewpairs.reading.query_memory import Scores
from fewpairs.reading.run_entries import ReadSoFar
from fewpairs.result.approximation import Approximation
from fewpairs.result.certificate import HELD_OUT, HeldOut
from fewpairs.run.arguments import told_of_prior
from fewpairs.run.grown import Grown
from fewpairs.run.run import Run
from fewpairs.similarity.base import Scorer
from fewpairs.similarity.binding import bind
from fewpairs.similarity.items import Items
from fewpairs.similarity.larger_priors import larger_prior

__all__ = ["add"]

_CALL = "Approximation.add"


def add(
    approx: Approximation,
    new_items: Any,
    *,
    budget: GivenBudget,
    prior: Any,
    progress: bool | Progress,
) -> Approximation:
    """Let new items join an approximation; see ``Approximation.add``."""
    shown = as_progress(progress, _CALL)
    run = _run_of(approx)
    new = run.reader.checked(new_items, _CALL)
    items = _joined(run.items, new)
    scorer = bind(items, run.recipe, _CALL)
    _check_old_stay(run.scorer, scorer)
    allowed = Budget.of(budget, f"{_CALL}: budget")
    larger = replace(
        run,
        scorer=scorer,
        items=items,
        method=_method(run, scorer, items, new, prior),
        progress=shown,
        dropped=len(items) - scorer.n,
        identity=FingerprintOnce(partial(identity_of, run.recipe, items)),
        reading=ReadSoFar(_entries(approx, run, new, scorer.n), run.reader.symmetric),
    )
    if run.store is not None:
        larger = replace(larger, store=larger_ledger(run.store, larger.identity()[1]))
    searched = sum(len(scores[0]) for _, scores in _searched(run, new, scorer.n))
    return _spend(approx, run, larger, allowed, searched * run.reader.calls)


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
    if approx.known.sides is not None:
        msg = (
            f"{_CALL}: this approximation is of two sets, and positions of the right "
            "items would change. Call fewpairs.approximate with the larger sets, and "
            "the items of both as one list where what was paid for has to be kept."
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


def _joined(items: Items | None, new: Items) -> Items:
    """Return old items and new ones, as an array where both are."""
    if isinstance(items, np.ndarray) and isinstance(new, np.ndarray):
        joined: Items = np.concatenate([items, new])
        return joined
    return [*(items if items is not None else ()), *new]


def _check_old_stay(old: Scorer, scorer: Scorer) -> None:
    """Refuse a similarity that drops other items now, or all new ones."""
    before = np.arange(old.n) if old.kept is None else old.kept
    now = np.arange(scorer.n) if scorer.kept is None else scorer.kept
    if not np.array_equal(now[: old.n], before):
        msg = f"{_CALL}: beside new items, others of the fitted ones are dropped."
        raise InputError(msg)
    if scorer.n == old.n:
        msg = f"{_CALL}: all new items are dropped; there is nothing to add."
        raise InputError(msg)


def _method(run: Run, scorer: Scorer, items: Items, new: Items, given: Any) -> Method:
    """Return the method with its prior, which knows the new items too."""
    prior = getattr(run.method, "prior", None)
    if prior is not None:
        made = larger_prior(prior, given, items, new, _CALL, kept=scorer.kept)
        return replace(run.method, prior=made)  # type: ignore[type-var]
    if given is not None:
        msg = (
            f"{_CALL}: prior is given for the new items, and the fit used none. Leave "
            "it out."
        )
        raise InputError(msg)
    if not run.own_prior:
        return run.method
    return told_of_prior(
        run.method,
        "auto",
        run.recipe,
        scorer=scorer,
        items=items,
        everything=False,
        call=_CALL,
    )


def _entries(approx: Approximation, run: Run, new: Items, n: int) -> Entries:
    """Return what is known, with the random pairs set aside that no fit has seen."""
    known = run.reader.known
    aside = {GUARD: marked(known, GUARD)}
    if isinstance(approx.evidence, HeldOut):
        aside[HELD_OUT] = approx.evidence.i, approx.evidence.j
    out = enlarged(known, n, aside)
    for position, (at, values) in _searched(run, new, n):
        out.add_pairs(np.full(len(at), position), at, values)
    return out


def _searched(run: Run, new: Items, n: int) -> list[tuple[int, Scores]]:
    """Return what searches have paid for of the new items, by their positions."""
    memory = run.reader.queries
    memory.look()
    if n - run.scorer.n != len(new):  # some are dropped
        return []
    known = [memory.known(name) for name in memory.names(new)]
    return [
        (run.scorer.n + t, scores) for t, scores in enumerate(known) if len(scores[0])
    ]


def _spend(
    approx: Approximation, run: Run, larger: Run, budget: Budget, searched: int
) -> Approximation:
    """Split the budget, and spend it; ``searched``: what searches have paid for."""
    reader = run.reader
    paid = approx.bill.plus_answers(
        reader.evaluations + searched, reader.charged + searched, reader.money
    )
    grown = Grown(
        larger.method,
        approx.landmarks,
        larger.reader.known,
        larger.cost(symmetric=reader.symmetric),
        run.cost(symmetric=reader.symmetric),
    )
    # Of the first run: what items were added for since is more than an item needs.
    per_item = run.per_item or 2 * paid.charged / run.scorer.n
    split, whole = grown.split(budget, per_item)
    if not len(whole):
        _call_random(reader.known, larger.reader.known)
    whole_or_none = whole if len(whole) else None
    larger = replace(larger, whole=whole_or_none, per_item=per_item)
    larger.check_memory(split, _CALL)
    kept = replace(paid, kept=paid.evaluations, old_items=run.scorer.n)
    return larger.go_on(Budget.of_evaluations(split.evaluations), split, kept)


def _call_random(known: Entries, larger: Entries) -> None:
    """Have columns that are no landmarks' any more learned from as random pairs."""
    for lines in known.columns:
        i, j = (
            np.tile(np.arange(known.n), len(lines.indices)),
            np.repeat(lines.indices, known.n),
        )
        there = (i != j) & larger.lookup(i, j)[0]
        fresh = np.setdiff1d(
            larger.keys(i[there], j[there]), larger.keys(*marked(larger, RANDOM))
        )
        mark(larger, RANDOM, *larger.ends(fresh))
