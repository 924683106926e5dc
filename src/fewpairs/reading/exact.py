"""The exact matrix: every pair, evaluated."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.checks import check_flag
from fewpairs.memory import check_fits
from fewpairs.progress import Progress, as_progress
from fewpairs.reading.opening import open_oracle
from fewpairs.similarity.binding import as_similarity, bind, listed

__all__ = ["exact_matrix"]


def exact_matrix(
    items: Iterable[Any] | None,
    similarity: Any,
    *,
    symmetrize: bool = True,
    progress: Progress | None = None,
) -> NDArray[Any]:
    """Evaluate every pair and return the n×n matrix: what fewpairs exists to avoid.

    Examples
    --------
    >>> import fewpairs as fp
    >>> from fewpairs.evaluation import exact_matrix
    >>> exact_matrix(["ab", "ac"], fp.StringSimilarity("levenshtein")).tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """
    call = "fewpairs.evaluation.exact_matrix"
    recipe = as_similarity(similarity, call)
    symmetrize = check_flag(call, "symmetrize", symmetrize)
    shown = as_progress(False if progress is None else progress, call)
    scorer = bind(listed(items, None, call), recipe, call)
    n = scorer.n
    cure = (
        "Use fewpairs.neighbors or fewpairs.duplicates, which read all pairs and hold "
        "what is asked for, or fewpairs.approximate with a budget."
    )
    what = f"all similarities of {n:,} × {n:,} items"
    check_fits(call, n * n * scorer.dtype.itemsize, what, cure)
    oracle = open_oracle(scorer, recipe, symmetrize=symmetrize, progress=shown)
    shown.start("all pairs", oracle.cost.everything())
    try:
        return oracle.columns(np.arange(oracle.n))
    finally:
        shown.finish()
