"""Jobs in one call: neighbors and duplicates, of all pairs where that is quicker."""

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np

from fewpairs.answers.all_pairs import AllPairs
from fewpairs.answers.certifying import certify
from fewpairs.answers.equal import count_equal, equal_pairs
from fewpairs.answers.matches import Matches
from fewpairs.answers.matching import exact_matches, find_matches
from fewpairs.answers.neighbor_lists import Neighbors
from fewpairs.answers.neighbor_recall import check_recall
from fewpairs.answers.neighbors import check_k
from fewpairs.answers.recall import Target, check_target
from fewpairs.answers.way import Way
from fewpairs.checks import check_number
from fewpairs.errors import BudgetError, InputError, SpentError
from fewpairs.ledger.ledger import Ledger
from fewpairs.matrix.budget import GivenBudget
from fewpairs.progress import Progress, Status
from fewpairs.reading.oracle import Oracle
from fewpairs.result.approximation import Approximation
from fewpairs.run.compared import one_set
from fewpairs.run.job import AUTO, OPTIONS, PRIOR, Job
from fewpairs.similarity.base import Scorer, Similarity
from fewpairs.similarity.binding import GivenSimilarity
from fewpairs.similarity.given_priors import GivenPrior
from fewpairs.types import Column, Empty, Ids

__all__ = [
    "MOST_EQUAL",
    "approximated",
    "band_of",
    "check_affordable",
    "check_threshold",
    "duplicates",
    "kept_for_sample",
    "neighbors",
    "options",
]

MOST_EQUAL = 1_000_000  # pairs of equal texts
_BAND = 0.05  # of a similarity's range
# Shares of a budget for checking candidates; and where a recall is asked for, for these
# and a sample of the rest together, and for the sample: more where it is all there is.
_CANDIDATES, _CERTIFIED = 0.25, 0.4
_SAMPLE, _STRICT_SAMPLE = 0.05, 0.2


def neighbors(
    items: Iterable[Any] | None,
    similarity: GivenSimilarity,
    k: int = 10,
    *,
    column: Column = None,
    ids: Ids = None,
    empty: Empty = "error",
    budget: GivenBudget = AUTO,
    prior: GivenPrior = PRIOR,
    seed: int = 0,
    store: Ledger | str | PathLike[str] | None = None,
    executor: Any = None,
    progress: bool | Progress | Callable[[Status], object] = False,
    trust: bool = False,
    recall: str | None = None,
    delta: float = 0.05,
) -> Neighbors:
    """Return every item's k most similar others.

    With ``budget="auto"`` a sample of about half a second is timed first. All pairs are
    read where that takes less than a minute, or less than approximating them; else they
    are approximated at 50 pairs per item. ``.way`` says which, and why. All pairs are
    read tile by tile, in memory of order n·k, and nothing is missed.

    Parameters
    ----------
    items, similarity, column, ids, empty, prior, seed, executor, progress, trust
        As in :func:`fewpairs.approximate`. The prior is used, and made, where pairs are
        approximated.
    k
        How many others of each item.
    budget
        ``"auto"``, or a budget of :func:`fewpairs.approximate`: all pairs are read
        where it covers them, else they are approximated within it.
    store
        As in :func:`fewpairs.approximate`. A pass over all pairs writes down from time
        to time how far it has come: called again after a kill, it goes on from there
        and comes to the same answer.
    recall
        ``"rows"`` or ``"candidates"``, as in :meth:`fewpairs.Approximation.neighbors`:
        a fifth of the budget is for ``.recall_interval``, the mean recall over all
        items.
    delta
        How often that interval may fail.

    Returns
    -------
    Neighbors
        ``(indices, similarities)``, two (n, k) arrays, the most similar first; of equal
        ones, those at lower positions.

    Examples
    --------
    >>> import fewpairs as fp
    >>> texts = ["red cat", "green dog", "red cats", "a green dog"]
    >>> found = fp.neighbors(texts, fp.StringSimilarity("ratio"), k=1)
    >>> found.indices.ravel().tolist(), found.way.exact, found.evaluations
    ([2, 3, 0, 1], True, 6)
    """
    call, given = "fewpairs.neighbors", locals()
    job = Job.of(
        call,
        one_set(items, similarity, call, column=column, ids=ids, empty=empty),
        **options(given),
    )
    k = check_k(k, job.n - 1, call, "others")
    check_recall(call, recall, delta, evaluations=1, of="items")
    with job.opened() as oracle:
        sweep = AllPairs(oracle, job.ledger.passes, job.scorer.dtype, k=k)
        way = job.choose(oracle, sweep)
        if way.exact:
            job.sweep(oracle, sweep)
            return Neighbors(
                *sweep.neighbors(),
                recall=1.0,
                recall_interval=(1.0, 1.0),
                evaluations=oracle.evaluations,
                way=way,
                moments=sweep.moments(),
                sides=job.sides,
            )
        limit = job.limit(oracle)
        kept = 0 if recall is None else _kept_for_rows(call, limit, oracle)
    approx = job.approximate(limit - kept if kept else None)
    kept = min(kept, job.left(approx, limit)) if kept else 0
    asked = recall if kept else None  # money may have come to its end
    found = approx.neighbors(k, recall=asked, evaluations=kept, delta=delta, seed=seed)
    return Neighbors(
        found.indices,
        found.similarities,
        recall=found.recall,
        recall_interval=found.recall_interval,
        evaluations=job.evaluations + approx.evaluations + found.evaluations,
        way=way,
        sides=job.sides,
    )


def duplicates(
    items: Iterable[Any] | None,
    similarity: GivenSimilarity,
    threshold: float,
    *,
    column: Column = None,
    ids: Ids = None,
    empty: Empty = "error",
    budget: GivenBudget = AUTO,
    prior: GivenPrior = PRIOR,
    seed: int = 0,
    store: Ledger | str | PathLike[str] | None = None,
    executor: Any = None,
    progress: bool | Progress | Callable[[Status], object] = False,
    trust: bool = False,
    recall: float | None = None,
    delta: float = 0.05,
    guarantee: bool = False,
) -> Matches:
    """Return the pairs whose similarity is at least a threshold, each evaluated.

    All pairs are read, or approximated, as in :func:`fewpairs.neighbors`; ``.way`` says
    which, and why. Where they are approximated, a quarter of the budget is kept for the
    pairs that are predicted near the threshold or above, and ``.missed`` says what is
    known of those that were not found. All pairs are read in memory of the order of the
    result; similarities that can stop early below the threshold do
    (``Scorer.block_above``).

    Parameters
    ----------
    items, similarity, column, ids, empty, budget, prior, seed, store, executor
        As in :func:`fewpairs.neighbors`; ``progress`` and ``trust`` too.
    threshold
        Of the similarity.
    recall, delta, guarantee
        The share of all such pairs that the list has to hold, with confidence 1 −
        delta: after the candidates more pairs are read until ``.certificate`` says so,
        or the budget ends. With ``guarantee`` that has to hold for any model; see
        the page *How much is missing* for what it takes.

    Returns
    -------
    Matches
        ``left``, ``right`` and ``similarity``, the most similar first.

    Examples
    --------
    >>> import fewpairs as fp
    >>> texts = ["red cat", "green dog", "red cats", "a green dog"]
    >>> found = fp.duplicates(texts, fp.StringSimilarity("ratio"), threshold=0.85)
    >>> list(zip(found.left.tolist(), found.right.tolist()))
    [(0, 2), (1, 3)]
    """
    call, given = "fewpairs.duplicates", locals()
    check_number(call, "threshold", threshold)
    target = check_target(call, recall, delta, guarantee)
    job = Job.of(
        call,
        one_set(items, similarity, call, column=column, ids=ids, empty=empty),
        **options(given),
    )
    check_affordable(job, target)
    check_threshold(threshold, job.recipe, f"{call}: threshold")
    with job.opened() as oracle:
        sweep = AllPairs(
            oracle,
            job.ledger.passes,
            job.scorer.dtype,
            threshold=threshold,
            band=band_of(job.recipe, job.scorer),
            moments=False,
        )
        way = job.choose(oracle, sweep)
        if way.exact:
            job.sweep(oracle, sweep)
            paid = oracle.evaluations
            return exact_matches(sweep, threshold, way, sides=job.sides, paid=paid)
        limit = job.limit(oracle)
    found = _approximated(job, threshold, way, limit, target)
    return replace(found, sides=job.sides)


def _kept_for_rows(call: str, limit: int, oracle: Oracle) -> int:
    """Return how much of a budget is for a recall: a fifth, and two rows at least."""
    two_rows = 2 * oracle.n * oracle.cost.calls
    if 2 * two_rows > limit:
        msg = (
            f"{call}: a recall takes two rows at least, {two_rows:,} evaluations, more "
            f"than half of the budget of {limit:,}. Pass a larger budget, or no recall."
        )
        raise InputError(msg)
    return max(two_rows, math.floor(limit * _STRICT_SAMPLE))


def options(given: dict[str, Any]) -> dict[str, Any]:
    """Return those of a job's arguments that all jobs have."""
    return {name: given[name] for name in OPTIONS}


def band_of(similarity: Similarity, scorer: Scorer) -> float:
    """Return how far below a threshold pairs are looked at, to be shown."""
    if similarity.bounds is None:  # not at all, where that spares reading them
        return 0.0 if scorer.prunes or similarity.metric else float(np.inf)
    low, high = similarity.bounds
    return _BAND * (high - low)


def _approximated(
    job: Job, threshold: float, way: Way, limit: int, target: Target
) -> Matches:
    """Spend three quarters on an approximation, the rest on what it proposes.

    Where a recall is asked for, three fifths, and a twentieth is for a sample.
    """
    approx = approximated(job, limit, target)
    calls = approx.reader("duplicates").calls
    most = job.left(approx, limit) // calls
    sample = kept_for_sample(limit // calls, most, target)
    # Equal texts are candidates whatever is predicted, unless they are most of all.
    few = job.scorer.kept is None and count_equal(job.items) <= MOST_EQUAL
    found = find_matches(
        approx,
        threshold,
        most=most - sample,
        also=equal_pairs(job.items) if few else None,
        cut=True,
        progress=job.progress,
    )
    found = certify(
        approx,
        found,
        target,
        allowed=most - found.checked,
        sample=sample,
        seed=job.seed,
        progress=job.progress,
    )
    paid = job.evaluations + approx.evaluations + found.evaluations
    return replace(found, evaluations=paid, way=way)


def _beside(limit: int, share: float) -> int:
    """Return what a budget leaves beside a share of it."""
    return max(1, limit - math.floor(limit * share))


def approximated(job: Job, limit: int, target: Target) -> Approximation:
    """Approximate for what a budget leaves beside checking candidates.

    Where that is too little, say what would be enough.
    """
    share = _CANDIDATES if target.recall is None else _CERTIFIED
    part = _beside(limit, share)
    try:
        return job.approximate(part)
    except SpentError:
        raise
    except BudgetError as error:
        if error.needed <= part:
            raise
        total = math.ceil(error.needed / (1 - share))
        total -= _beside(total - 1, share) >= error.needed  # what is rounded
        msg = (
            f"{job.call}: of {limit:,} evaluations {part:,} are for an approximation, "
            f"the others for what it proposes; it needs {error.needed:,}. Raise "
            f"budget= to {total:,} evaluations or more."
        )
        raise BudgetError(msg, needed=total, allowed=limit) from None


def kept_for_sample(limit: int, most: int, target: Target) -> int:
    """Return how many of the pairs that may still be read are for a sample."""
    if target.recall is None:
        return 0
    share = _STRICT_SAMPLE if target.guarantee else _SAMPLE
    return min(most, math.floor(limit * share))


def check_affordable(job: Job, target: Target) -> None:
    """Refuse to spend money on a recall without a limit."""
    if target.recall is not None and job.budget is None and job.scorer.price > 0:
        msg = (
            f"{job.call}: recall={target.recall:g} of {job.recipe.name}, which costs "
            'money, without a budget. Pass one, such as budget="$5": it is never '
            "exceeded, whatever the recall comes to."
        )
        raise InputError(msg)


def check_threshold(threshold: float, similarity: Similarity, name: str) -> None:
    """Refuse a threshold that no similarity reaches, or that every one does."""
    if similarity.bounds is None:
        return
    low, high = similarity.bounds
    if low <= threshold <= high:
        return
    percent = threshold / 100
    hint = f"Did you mean {percent:g}?" if low < percent <= high else "Pass one inside."
    msg = (
        f"{name} is {threshold:g}, and {similarity.name} lies between {low:g} and "
        f"{high:g}. {hint}"
    )
    raise InputError(msg)
