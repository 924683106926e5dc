"""The verb: approximate a similarity matrix from a few of its pairs."""

from collections.abc import Callable, Iterable
from functools import partial
from os import PathLike
from typing import Any

from fewpairs.answers.sides import Side
from fewpairs.checks import check_flag
from fewpairs.execution import check_executor
from fewpairs.ledger.ledger import Ledger
from fewpairs.ledger.opening import as_ledger, identity_of
from fewpairs.ledger.subject import FingerprintOnce
from fewpairs.matrix.budget import DEFAULT_BUDGET, Budget, GivenBudget
from fewpairs.methods import Method, as_method
from fewpairs.progress import Progress, Status, as_progress
from fewpairs.result.approximation import Approximation
from fewpairs.run.arguments import check_seed, check_target, told_of_prior
from fewpairs.run.budget_split import foresee, warn_of_few
from fewpairs.run.cascade import Cascade
from fewpairs.run.given_rows import GivenRows
from fewpairs.run.given_sets import read_sets
from fewpairs.run.run import Run
from fewpairs.run.sizing import TRAINING, check_price, estimate
from fewpairs.similarity.base import Scorer, Similarity
from fewpairs.similarity.binding import GivenSimilarity, as_similarity, bind
from fewpairs.similarity.given_priors import GivenPrior
from fewpairs.similarity.items import Items
from fewpairs.types import Column, Empty, Ids

__all__ = ["approximate"]


def approximate(
    items: Iterable[Any] | None,
    similarity: GivenSimilarity,
    *,
    others: Iterable[Any] | None = None,
    column: Column = None,
    ids: Ids = None,
    empty: Empty = "error",
    method: str | Method = "auto",
    budget: GivenBudget = DEFAULT_BUDGET,
    seed: int = 0,
    symmetrize: bool = True,
    store: Ledger | str | PathLike[str] | None = None,
    progress: bool | Progress | Callable[[Status], object] = False,
    prior: GivenPrior = "auto",
    target_error: float | None = None,
    executor: Any = None,
    trust: bool = False,
) -> Approximation:
    """Approximate all pairwise similarities of ``items`` from a few of them.

    With ``others``, those of every item to every one of the others: two sets, such as
    queries and documents, and an m×n matrix. Nothing within a set is evaluated.

    Parameters
    ----------
    items
        At least two items, in an order: a list, tuple or generator, a NumPy, Arrow or
        polars array, a pandas Series, a column of a data set. They become a list, by
        position. ``None`` where ``similarity`` is a matrix.
    similarity
        A :class:`~fewpairs.Similarity`, a function ``f(a, b) -> float`` (or ``async``,
        as by :func:`fewpairs.from_async` with its defaults), or an n×n array (whose
        entries count as evaluations when they are read). An m×n array is of two sets.
    others
        The second of two sets. A function is called with one of ``items`` first and one
        of the others second; they may be of different kinds. Of a square matrix,
        ``range(n)`` says that its rows and columns are two sets.
    column
        Where ``items`` is a table (pandas, polars, Arrow, a data set) or a list of
        dicts: the column that holds the items, or a function that makes an item of a
        row; of ``others``, too.
    ids
        How results name the items: a column of the table, or a name per item. A pandas
        index if not given, else positions.
    empty
        Texts that are missing (``None``, NaN): ``"error"`` refuses them, and
        ``"drop"`` leaves them out, blank ones too. Positions are then those of the
        texts that stay; ``to_pandas()`` of results has the ids.
    method
        ``"auto"``, ``"nystrom"``, ``"sms"``, ``"skeleton"``, ``"sicur"``,
        ``"stacur"``, ``"regularized"``, ``"optimal"``, or an instance such as
        ``fp.SMSNystrom(landmarks=250)``. With a name, the landmarks follow from the
        budget. Of two sets ``"auto"``, skeleton, SiCUR, StaCUR and optimal; the others
        have one set of factors for both sides.
    budget
        A hard limit. ``"50/item"``, the default, is 50 pairs per item, that is 25·n (of
        two sets per left item, one of ``items``: 50·m); never more than all pairs. A
        float, or a text such as ``"5%"``, is a share of
        the n(n−1)/2 distinct pairs (1.0 is everything: the diagonal too, and on top the
        up to eight mirror images that check an unproven symmetry), an int a number of
        evaluations, ``"$5"`` money and ``"20min"`` time from the call to its result: a
        pilot measures what they buy. ``None`` is what a method with given landmarks
        needs. A declared
        diagonal is free. An asymmetric similarity takes two evaluations per pair.
    seed
        Same seed, same result.
    symmetrize
        Read an asymmetric similarity as ½(K + Kᵀ). ``False`` reads it as it is,
        for methods that can: skeleton, SiCUR, StaCUR and optimal.
    store
        Where what is paid for is kept: a folder, any URL that fsspec knows, or a
        :class:`~fewpairs.Ledger`. Entries that it holds already are free. In a folder
        they survive whatever happens to the process: call again, and what is missing
        is evaluated. First, eight entries that it holds are evaluated again, to see
        that they are this similarity's; they count. Not where a fingerprint tells.
    progress
        ``True`` shows a bar, or without a terminal a line every ten seconds on stderr;
        or a function that is called with a :class:`~fewpairs.progress.Status`; or an
        object with the methods of :class:`~fewpairs.progress.Progress`.
    prior
        A cheap similarity that says something about the expensive one: an (n, d) array
        of embeddings (their cosine), a :class:`~fewpairs.Similarity`, or ``"lexical"``,
        vectors that are made of the items' texts (strings, lists of tokens, text fields
        of records). Not counted; used as far as pairs that were read confirm it. Of a
        list of these, such as ``[embeddings, "lexical"]``, what was read tells how much
        each counts. ``"auto"``, the default, is ``"lexical"`` where there are 50 texts
        or more and ``method`` is ``"auto"``, and none elsewhere; ``None`` is none. For
        ``"auto"`` and ``"regularized"``. Of two sets a pair (left, right) of (m, d) and
        (n, d) arrays, or one of the others, for both sides together. A prior that
        costs something itself is ``fp.paid(similarity)``, or an approximation of it.
    target_error
        Start with a part of the budget and grow until the upper end of the
        certificate's interval is below this relative error, or the budget ends.
        ``approx.method`` says which. Where the certificate cannot tell, the budget
        ends.
    executor
        Who calls the similarity: ``None`` (here, one chunk after the other),
        ``"threads"``, ``"processes"`` or ``"gpus"`` (one process per GPU), with a
        number if you like (``"processes:4"``); any executor of
        :mod:`concurrent.futures`; a ``dask.distributed.Client``, or the address of a
        scheduler. The result is the same.
    trust
        Take what ``store`` holds for this similarity's, and check none of it.

    Returns
    -------
    Approximation
        Answers every pair, row and block; ``print`` it for a receipt.

    Raises
    ------
    InputError, BudgetError
        Before anything is paid for.
    SimilarityError
        Where the similarity fails; what was paid for is in its ``.ledger``.
    StoreError
        Where ``store`` is damaged, full, read-only, in use, too new, or holds another
        function's values.

    Examples
    --------
    >>> import fewpairs as fp
    >>> texts = [f"{a} {b}" for a in ("red", "green", "blue") for b in range(100)]
    >>> approx = fp.approximate(texts, fp.StringSimilarity("levenshtein"), budget=0.2)
    >>> approx.evaluations <= 0.2 * 300 * 299 / 2
    True
    >>> approx.certificate.relative_error < 0.2
    True
    """
    call = "fewpairs.approximate"
    chosen = as_method(method)
    allowed = Budget.of(budget, f"{call}: budget")
    limits = allowed.begin()  # time counts from here on
    symmetrize = check_flag(call, "symmetrize", symmetrize)
    trust = check_flag(call, "trust", trust)
    check_executor(executor, call)
    check_target(target_error, call)
    ledger = as_ledger(store, call)
    shown = as_progress(progress, call)
    recipe = as_similarity(similarity, call)
    given = read_sets(items, others, recipe, call, column=column, ids=ids, empty=empty)
    recipe, listed_items = given.recipe, given.items
    scorer = bind(listed_items, recipe, call)
    recipe = recipe.bound_by(scorer)
    prior = given.prior(prior)
    check_price(allowed, scorer, recipe, call)
    if allowed.seconds is not None:
        chosen = chosen.within(TRAINING * allowed.seconds, scorer.n)
    most = estimate(allowed, scorer) if allowed.is_scarce else allowed
    expected = foresee(chosen, recipe, scorer.n, most, symmetrize=symmetrize)
    seed = check_seed(seed, call)
    own_prior = isinstance(prior, str) and prior == "auto"
    prior, prior_bill = Cascade(
        approximate,
        listed_items,
        recipe,
        scorer,
        allowed,
        limits,
        ledger,
        seed,
        shown,
        call,
    ).read(prior)
    chosen = told_of_prior(
        chosen,
        prior,
        recipe,
        scorer=scorer,
        items=listed_items,
        everything=not allowed.is_scarce and type(expected.method) is not type(chosen),
        call=call,
    )
    run = Run(
        recipe=recipe,
        scorer=scorer,
        method=chosen,
        seed=seed,
        symmetrize=symmetrize,
        store=ledger,
        trust=trust,
        progress=shown,
        items=listed_items,
        executor=executor,
        # Once: what a function has counted or cached since makes it no other one.
        identity=FingerprintOnce(partial(identity_of, recipe, given.known)),
        dropped=_dropped(scorer, listed_items, given.rows, given.more),
        sides=_sides(recipe, scorer, given.rows, given.more),
        own_prior=own_prior,
        limits=limits,
        prior_bill=prior_bill,
    )
    warn_of_few(call, allowed, run.cost())
    if target_error is None:
        if not allowed.is_scarce:
            run.check_memory(expected, call)
        return run.from_nothing(allowed, expected)
    return run.until(target_error, allowed)


def _dropped(
    scorer: Scorer, items: Items | None, rows: GivenRows, more: GivenRows | None
) -> int:
    """Return how many items are left out: missing, or dropped by the similarity."""
    gone = sum(
        part.number - len(part.items)
        for part in (rows, more)
        if part is not None and part.items is not None
    )
    dropped = 0 if scorer.kept is None or items is None else len(items) - scorer.n
    return gone + dropped


def _sides(
    recipe: Similarity, scorer: Scorer, rows: GivenRows, more: GivenRows | None
) -> tuple[Side, Side] | None:
    """Return how the rows of both sides are called; ``None``: by position."""
    if more is None:
        side = rows.stayed(scorer.n, scorer.kept)
        return None if recipe.split is not None or rows.items is None else (side, side)
    if rows.items is None or scorer.kept is not None:
        return None
    split = len(rows.items)
    return rows.stayed(split), more.stayed(scorer.n - split)
