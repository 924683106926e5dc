"""Measuring approximations against the truth, where the truth can be had."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fewpairs.checks import check_array, check_instance, check_whole
from fewpairs.errors import InputError
from fewpairs.result.approximation import Approximation

__all__ = ["Quality", "quality"]

_ENTRIES = 1 << 22  # compared at once


class Quality(NamedTuple):
    """How close an approximation is to the true matrix, over distinct pairs.

    Attributes
    ----------
    relative_error
        ‖K − K̃‖ / ‖K‖ in the Frobenius norm, without the diagonal.
    r2
        Share of the variance of the off-diagonal entries that is explained.
    recall
        Share of every item's k most similar others that K̃ ranks among its k.
    """

    relative_error: float
    r2: float
    recall: float


def quality(approx: Approximation, truth: ArrayLike, *, k: int = 10) -> Quality:
    """Compare an approximation with the true matrix, block by block.

    Examples
    --------
    >>> import numpy as np, fewpairs as fp
    >>> from fewpairs.evaluation import quality
    >>> K = np.cos(np.subtract.outer(np.arange(50), np.arange(50)) / 20)
    >>> quality(fp.approximate(None, K, budget=0.5), K).r2 > 0.99
    True
    """
    check_instance("quality", "approx", approx, Approximation, "an Approximation")
    K = check_array("quality", "truth", truth, "the n×n matrix of true similarities")
    if K.shape != approx.shape:
        msg = (
            f"quality: the truth has shape {K.shape}, the approximation {approx.shape}."
        )
        raise InputError(msg)
    k = check_whole("quality", "k", k, least=1)
    n = len(K)
    k = min(k, n - 1)
    off = squares = total = hits = 0.0
    step = max(1, _ENTRIES // n)
    for start in range(0, n, step):
        rows = np.arange(start, min(start + step, n))
        exact = K[rows].astype(np.float64)
        guess = approx.block(rows, slice(None)).astype(np.float64)
        own = (np.arange(len(rows)), rows)
        exact[own] = guess[own] = 0.0
        off += float(np.sum((exact - guess) ** 2))
        squares += float(np.sum(exact**2))
        total += float(np.sum(exact))
        exact[own] = guess[own] = -np.inf
        hits += _shared_top(exact, guess, k)
    spread = squares - total**2 / (n * (n - 1))
    # A constant truth has nothing to explain: met, or missed without measure.
    missed = 0.0 if off == 0 else np.inf
    return Quality(
        relative_error=float(np.sqrt(off / squares)) if squares > 0 else missed,
        r2=1.0 - off / spread if spread > 0 else 1.0 - missed,
        recall=hits / (n * k),
    )


def _shared_top(a: NDArray[Any], b: NDArray[Any], k: int) -> int:
    """Count, row by row, what the k largest of ``a`` and of ``b`` share."""
    top_a = np.argpartition(-a, k - 1, axis=1)[:, :k]
    top_b = np.argpartition(-b, k - 1, axis=1)[:, :k]
    in_a = np.zeros(a.shape, dtype=bool)
    np.put_along_axis(in_a, top_a, values=True, axis=1)
    return int(np.take_along_axis(in_a, top_b, axis=1).sum())
