"""Opening an oracle: the symmetry is found out first, and everything put together."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewpairs.errors import SimilarityError, StoreError
from fewpairs.execution import PortableScorer, Serial, Workers
from fewpairs.ledger.ledger import Ledger
from fewpairs.ledger.recheck import choose, refuse_others, size_of
from fewpairs.ledger.subject import Identity
from fewpairs.matrix.budget import Budget
from fewpairs.matrix.cost import Cost
from fewpairs.matrix.limits import Limits
from fewpairs.matrix.symmetry import BothOrders, compare, draw_pairs, pairs_to_check
from fewpairs.progress import Progress, Silence
from fewpairs.reading.account import Account
from fewpairs.reading.evaluator import Evaluator
from fewpairs.reading.oracle import Oracle
from fewpairs.reading.run_entries import ReadSoFar, RunEntries
from fewpairs.similarity.base import Scorer, Similarity
from fewpairs.types import Indices

__all__ = ["open_oracle"]


class _Found(NamedTuple):
    """Whether a similarity is symmetric, and the pairs that say so."""

    symmetric: bool
    checked: tuple[Indices, Indices] | None = None
    sample: BothOrders | None = None


def open_oracle(
    scorer: Scorer,
    similarity: Similarity,
    *,
    budget: Budget | None = None,
    symmetrize: bool = True,
    ledger: Ledger | None = None,
    progress: Progress | None = None,
    rng: np.random.Generator | None = None,
    identity: Callable[[], Identity] | None = None,
    before: ReadSoFar | None = None,
    workers: Workers | None = None,
    lock: AbstractContextManager[Any] | None = None,
    recheck: bool = False,
    limits: Limits | None = None,
) -> Oracle:
    """Find out whether a similarity is symmetric, and return its oracle.

    Evaluations: two for each of up to eight pairs, where the symmetry is not proven;
    with ``recheck``, up to eight entries that the ledger holds.

    Parameters
    ----------
    scorer, similarity
        The similarity, bound to its items, and its declared facts.
    budget
        The most that may be spent.
    symmetrize
        Whether an asymmetric similarity is read as ½(K + Kᵀ).
    ledger
        Where evaluations are kept; one that holds some already makes them free.
    progress
        Told of every finished chunk.
    rng
        Draws the pairs on which an unproven symmetry is checked.
    identity
        Fingerprints the similarity and the items, where a ledger has to know.
    before
        What an earlier run read and found: this one goes on from there.
    workers
        Those who call the similarity; by default it is called here, chunk by chunk.
    lock
        Held while a request is answered; by default the ledger's own.
    recheck
        Whether a few values that the ledger holds are evaluated again, to see that they
        are this similarity's.
    limits
        Of money and time, where there are any.
    """
    n, budget = scorer.n, budget or Budget()
    own_ledger = Ledger() if ledger is None else ledger
    scorer.keep_answers(own_ledger.answers)
    scorer.watch(getattr(progress, "note", len))  # watchers need not listen to it
    account = Account(own_ledger, progress or Silence())
    workers = workers or Serial(PortableScorer(scorer, similarity, None))
    evaluator = Evaluator(workers, scorer, account.count)
    account.limits = evaluator.limits = limits

    taken = Cost.of(similarity, n, symmetrize=symmetrize, symmetric=True)
    on_top = 2 * pairs_to_check(similarity, n, None)
    account.limit = budget.limit(taken, on_top=on_top)
    found = (
        _find_symmetry(
            similarity,
            n,
            account,
            evaluator,
            ledger=own_ledger,
            rng=rng,
            identity=identity,
        )
        if before is None
        else _Found(before.symmetric)
    )
    cost = Cost.of(similarity, n, symmetrize=symmetrize, symmetric=found.symmetric)
    account.limit = budget.limit(cost, on_top=account.evaluations)
    used_before = own_ledger.entries is not None
    known = own_ledger.open(
        n,
        similarity=similarity.name,
        symmetric=found.symmetric,
        symmetrized=cost.calls == 2,
        diagonal=similarity.diagonal,
        identity=identity,
        sample=found.sample and found.sample.entries(symmetric=cost.symmetric),
        split=cost.split,
    )
    size = size_of(similarity, account.limit, cost.calls) if recheck else 0
    if size:
        if used_before and not own_ledger.served.knows(similarity):
            _recheck(similarity, choose(known, size), account, evaluator, own_ledger)
        own_ledger.served.remember(similarity)
    if before is not None and ledger is None:
        own_ledger.entries = known = before.entries
    read = known
    if before is not None:
        read = before.entries
    elif ledger is not None:
        read = known.like(similarity.diagonal)
    oracle = Oracle(
        cost,
        RunEntries(read, known),
        account,
        evaluator=evaluator,
        dtype=scorer.dtype,
        ledger=own_ledger,
        progress=progress or Silence(),
        lock=lock or own_ledger.lock,
        proof=scorer if scorer.prunes else None,
    )
    if found.checked is not None:  # they have been paid for
        i, j = found.checked
        oracle.pairs(*((i, j) if cost.symmetric else (np.r_[i, j], np.r_[j, i])))
        account.charged = 2 * len(i)
    return oracle


def _find_symmetry(
    similarity: Similarity,
    n: int,
    account: Account,
    evaluator: Evaluator,
    *,
    ledger: Ledger,
    rng: np.random.Generator | None,
    identity: Callable[[], Identity] | None,
) -> _Found:
    """Take what is proven, or what the ledger says, or compare both orders."""
    size = pairs_to_check(similarity, n, account.limit)
    if not size:
        return _Found(bool(similarity.symmetric))
    i, j = draw_pairs(n, size, rng or np.random.default_rng(0))
    if ledger.symmetric is not None:  # found and paid for by another run
        return _Found(ledger.symmetric, (i, j))
    account.afford(2 * size)
    first, second = np.column_stack([i, j]).ravel(), np.column_stack([j, i]).ravel()
    values = _answered(evaluator, first, second, ledger, identity)
    sample = BothOrders(i, j, values[::2], values[1::2])
    return _Found(compare(similarity, sample), (i, j), sample)


def _answered(
    evaluator: Evaluator,
    a: Indices,
    b: Indices,
    ledger: Ledger,
    identity: Callable[[], Identity] | None,
) -> NDArray[Any]:
    """Evaluate pairs in the order that is given, but for those answered before.

    A ledger cannot enter them until the symmetry is known; what was answered before an
    error waits in it for the next run on the same items.
    """
    keys = list(zip(a.tolist(), b.tolist(), strict=True))
    before = {}
    if ledger.waiting is not None and identity is not None:
        whose, answers = ledger.waiting
        before = answers if whose == identity() else {}
    missing = np.array([t for t, key in enumerate(keys) if key not in before], int)
    if not len(missing):
        return np.array([before[key] for key in keys])
    outcome = evaluator.score(a[missing], b[missing])
    values = outcome.values
    if before:
        values = np.array([before.get(key, np.nan) for key in keys])
        values[missing] = outcome.values
    if outcome.error is not None:
        answered = zip(keys, values.tolist(), strict=True)
        if identity is not None:
            kept = {key: value for key, value in answered if np.isfinite(value)}
            ledger.waiting = identity(), kept
        _raise(outcome.error, ledger)
    ledger.waiting = None
    return values


def _recheck(
    similarity: Similarity,
    held: tuple[Indices, Indices, NDArray[np.float64]],
    account: Account,
    evaluator: Evaluator,
    ledger: Ledger,
) -> None:
    """Refuse a ledger whose values are another function's.

    Within the budget: what a run finds in its ledger, it need not pay for. Not charged,
    so that no result depends on it.
    """
    i, j, stored = held
    if not len(i):
        return
    before = account.evaluations
    outcome = evaluator.score(i, j, both=ledger.averages)
    account.for_store = account.evaluations - before
    _raise(outcome.error, ledger)
    where = "this ledger" if ledger.path is None else f"the ledger {ledger.path}"
    try:
        refuse_others(similarity, where, (i, j), stored, outcome.values)
    except StoreError as error:
        _raise(error, ledger)


def _raise(error: BaseException | None, ledger: Ledger) -> None:
    if isinstance(error, (SimilarityError, StoreError)):
        error.ledger = ledger
    if error is not None:
        raise error
