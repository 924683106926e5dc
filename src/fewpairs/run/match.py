"""match: which rows of two tables belong together."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np

from fewpairs.answers.all_pairs import AllPairs
from fewpairs.answers.certifying import certify
from fewpairs.answers.linking import CANDIDATES, check_asked, check_sizes, link
from fewpairs.answers.links import exact_links
from fewpairs.answers.matches import Matches
from fewpairs.answers.recall import check_target
from fewpairs.errors import InputError
from fewpairs.ledger.ledger import Ledger
from fewpairs.matrix.budget import GivenBudget
from fewpairs.progress import Progress, Status
from fewpairs.reading.oracle import Oracle
from fewpairs.run.compared import ColumnsOfTwo, two_sides
from fewpairs.run.job import AUTO, PRIOR, Job
from fewpairs.run.jobs import (
    MOST_EQUAL,
    approximated,
    band_of,
    check_affordable,
    check_threshold,
    kept_for_sample,
    options,
)
from fewpairs.similarity.binding import GivenSimilarity
from fewpairs.similarity.given_priors import GivenPrior
from fewpairs.similarity.items import Items
from fewpairs.types import Column, Empty, Ids, Indices

__all__ = ["match"]


def match(
    left: Iterable[Any] | None,
    right: Iterable[Any] | None,
    similarity: GivenSimilarity,
    *,
    threshold: float | None = None,
    k: int | None = None,
    one_to_one: bool = False,
    column: Column = None,
    left_column: Column = None,
    right_column: Column = None,
    left_id: Ids = None,
    right_id: Ids = None,
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
    """Return which rows of two lists or tables belong together, each pair evaluated.

    Pass ``threshold`` for all pairs at least so similar, or ``k`` for the k most
    similar right rows of every left row; with ``one_to_one`` neither is needed. Only a
    left and a right row are ever compared. All pairs are read, or approximated, as in
    :func:`fewpairs.neighbors`; ``.way`` says which, and why.

    Parameters
    ----------
    left, right
        Lists, columns of pandas, polars or Arrow, or tables with ``column``. ``None``
        where ``similarity`` is an m×n array.
    similarity
        As in :func:`fewpairs.approximate`; a function is called as ``f(left, right)``.
    threshold
        Of the similarity.
    k
        How many right rows of every left row. With ``one_to_one``, how many candidates
        every row has.
    one_to_one
        Let no row come twice: of the candidates, the assignment whose similarities sum
        to most is taken, see `fewpairs.answers.assignment.assign`. Without a threshold
        every left row gets a partner, as far as candidates go: the ``k`` best (10 if
        not given) of every row on both sides.
    column, left_column, right_column
        Where ``left`` and ``right`` are tables or rows that are dicts: which column is
        compared, in both or in one; or a function that makes an item of a row.
    left_id, right_id
        The columns that name the rows in the result, or a name per row; a pandas index
        if not given, else positions. Names must not repeat.
    empty
        What becomes of missing texts, see :func:`fewpairs.approximate`.
    budget, prior, seed, store, executor, progress, trust
        As in :func:`fewpairs.neighbors`; ``"50/item"`` is 50 pairs per left row.

    recall, delta, guarantee
        As in :func:`fewpairs.duplicates`, of pairs above a threshold.

    Returns
    -------
    Matches
        ``left``, ``right`` and ``similarity``, the most similar first; ``unmatched``
        rows of both sides; ``to_pandas()`` with the input's columns.

    Examples
    --------
    >>> import fewpairs as fp
    >>> messy, clean = ["Jon Smiht", "A. Lovelace"], ["Ada Lovelace", "John Smith"]
    >>> found = fp.match(messy, clean, fp.StringSimilarity("ratio"), k=1)
    >>> list(zip(found.left.tolist(), found.right.tolist()))
    [(1, 0), (0, 1)]
    """
    call, given = "fewpairs.match", locals()
    check_asked(call, threshold, k, one_to_one=one_to_one)
    target = check_target(call, recall, delta, guarantee)
    if recall is not None and (threshold is None or one_to_one):
        msg = (
            f"{call}: recall={recall:g} says how many of all pairs above a threshold "
            "are found; pass threshold=, without k and one_to_one."
        )
        raise InputError(msg)
    how = ColumnsOfTwo(column, left_column, right_column, left_id, right_id)
    job = Job.of(
        call,
        two_sides(left, right, similarity, how, call, empty=empty),
        **options(given),
    )
    check_affordable(job, target)
    m, n = (side.n for side in job.sides)
    check_sizes(call, (m, n), threshold, k, one_to_one=one_to_one)
    if threshold is not None:
        check_threshold(threshold, job.recipe, f"{call}: threshold")
    with job.opened() as oracle:
        sweep = _sweep(job, oracle, threshold, _depth(k, n, one_to_one=one_to_one))
        way = job.choose(oracle, sweep)
        if way.exact:
            job.sweep(oracle, sweep)
            return exact_links(
                sweep,
                way,
                sides=job.sides,
                threshold=threshold,
                k=k,
                one_to_one=one_to_one,
                paid=oracle.evaluations,
            )
        limit = job.limit(oracle)
    approx = approximated(job, limit, target)
    most = job.left(approx, limit)
    sample = kept_for_sample(limit, most, target)
    found = link(
        approx,
        threshold=threshold,
        k=k,
        one_to_one=one_to_one,
        most=most - sample,
        also=_equal(job.items, m) if job.scorer.kept is None else None,
        progress=job.progress,
    )
    if threshold is not None and not one_to_one:
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
    return replace(found, evaluations=paid, way=way, sides=job.sides)


def _depth(k: int | None, n: int, *, one_to_one: bool) -> int:
    """Return how many of every row are kept; one more tells the margin."""
    if one_to_one:
        return min(n, CANDIDATES if k is None else k)
    return min(n, (k or 1) + 1)


def _sweep(job: Job, oracle: Oracle, threshold: float | None, depth: int) -> AllPairs:
    records, dtype = job.ledger.passes, job.scorer.dtype
    if threshold is None:
        return AllPairs(oracle, records, dtype, k=depth, moments=False)
    band = band_of(job.recipe, job.scorer)
    return AllPairs(
        oracle, records, dtype, threshold=threshold, band=band, moments=False
    )


def _equal(items: Items | None, m: int) -> tuple[Indices, Indices]:
    """Return equal texts of both sides, on the axis of all items, not too many."""
    there: dict[str, list[int]] = {}
    for t, item in enumerate(() if items is None else items[m:]):
        if isinstance(item, str):
            there.setdefault(item, []).append(m + t)
    i: list[int] = []
    j: list[int] = []
    for t, item in enumerate(() if items is None else items[:m]):
        if isinstance(item, str) and len(i) < MOST_EQUAL:
            same = there.get(item, [])
            i += [t] * len(same)
            j += same
    return np.array(i, dtype=np.int64), np.array(j, dtype=np.int64)
