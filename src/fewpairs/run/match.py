"""match: which rows of two tables belong together."""

from collections.abc import Callable, Iterable
from os import PathLike
from typing import Any

from fewpairs.answers.all_pairs import AllPairs
from fewpairs.answers.links import exact_links
from fewpairs.answers.matches import Matches
from fewpairs.answers.neighbors import check_k
from fewpairs.checks import check_flag, check_number, check_whole
from fewpairs.errors import InputError
from fewpairs.ledger.ledger import Ledger
from fewpairs.matrix.budget import GivenBudget
from fewpairs.progress import Progress, Status
from fewpairs.reading.oracle import Oracle
from fewpairs.run.compared import ColumnsOfTwo, two_sides
from fewpairs.run.job import AUTO, PRIOR, Job
from fewpairs.run.jobs import band_of, check_threshold, options

__all__ = ["match"]

_CANDIDATES = 10  # of every row, among which one to one is assigned


def match(
    left: Iterable[Any] | None,
    right: Iterable[Any] | None,
    similarity: Any,
    *,
    threshold: float | None = None,
    k: int | None = None,
    one_to_one: bool = False,
    column: str | None = None,
    left_column: str | None = None,
    right_column: str | None = None,
    left_id: str | None = None,
    right_id: str | None = None,
    budget: GivenBudget = AUTO,
    prior: Any = PRIOR,
    seed: int = 0,
    store: Ledger | str | PathLike[str] | None = None,
    executor: Any = None,
    progress: bool | Progress | Callable[[Status], object] = False,
    trust: bool = False,
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
        compared, in both or in one.
    left_id, right_id
        The columns that name the rows in the result; a pandas index if not given, else
        positions. Names must not repeat.
    budget, prior, seed, store, executor, progress, trust
        As in :func:`fewpairs.neighbors`; ``"50/item"`` is 50 pairs per left row.

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
    _check_asked(call, threshold, k, one_to_one=one_to_one)
    how = ColumnsOfTwo(column, left_column, right_column, left_id, right_id)
    job = Job.of(call, two_sides(left, right, similarity, how, call), **options(given))
    m, n = (side.n for side in job.sides)
    if k is not None:
        check_k(k, n, call, "right rows")
    if threshold is not None:
        check_threshold(threshold, job.recipe, f"{call}: threshold")
    elif one_to_one and m > n:
        msg = (
            f"{call}: one_to_one with {m:,} left rows and {n:,} right ones: at least "
            f"{m - n:,} would stay without a partner, whatever they are like. Pass a "
            "threshold, below which rows stay unmatched, or exchange the sides."
        )
        raise InputError(msg)
    with job.opened() as oracle:
        sweep = _sweep(job, oracle, threshold, _depth(k, n, one_to_one=one_to_one))
        way = job.choose(oracle, sweep)
        if way.exact:
            job.sweep(sweep)
            return exact_links(
                sweep,
                way,
                sides=job.sides,
                threshold=threshold,
                k=k,
                one_to_one=one_to_one,
                paid=oracle.evaluations,
            )
    msg = f"{call}: {way}. Two sets are read in full for now: pass budget=1.0 to do so."
    raise InputError(msg)


def _check_asked(call: str, threshold: Any, k: Any, *, one_to_one: Any) -> None:
    """Refuse what asks for two things at once, or for nothing."""
    check_number(call, "threshold", threshold, none=True)
    check_whole(call, "k", k, least=1, none=True)
    check_flag(call, "one_to_one", one_to_one)
    if threshold is not None and k is not None:
        msg = (
            f"{call}: got threshold={threshold:g} and k={k}; pass one of them. "
            ".rethreshold(t) of the k best leaves those that reach t."
        )
        raise InputError(msg)
    if threshold is None and k is None and not one_to_one:
        msg = (
            f"{call}: got neither threshold nor k. Pass threshold= for all pairs at "
            "least so similar, k= for the k best of every left row, or "
            "one_to_one=True."
        )
        raise InputError(msg)


def _depth(k: int | None, n: int, *, one_to_one: bool) -> int:
    """Return how many of every row are kept; one more tells the margin."""
    if one_to_one:
        return min(n, _CANDIDATES if k is None else k)
    return min(n, (k or 1) + 1)


def _sweep(job: Job, oracle: Oracle, threshold: float | None, depth: int) -> AllPairs:
    records, dtype = job.ledger.passes, job.scorer.dtype
    if threshold is None:
        return AllPairs(oracle, records, dtype, k=depth, moments=False)
    band = band_of(job.recipe)
    return AllPairs(
        oracle, records, dtype, threshold=threshold, band=band, moments=False
    )
