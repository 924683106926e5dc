"""Matches among N pairs, from a sample of fixed size: exact hypergeometric bounds."""

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["draws_needed", "matches_at_most", "rounding"]


def rounding(size: int) -> float:
    """Return how far logarithms of factorials of numbers up to ``size`` may be off.

    Differences of a few of them are off by a few last digits of the largest.
    """
    from scipy.special import gammaln  # takes a tenth of a second

    return 16 * float(np.finfo(float).eps) * float(gammaln(max(2, size) + 1))


def matches_at_most(size: int, drawn: int, hits: int, delta: float) -> int:
    """Return an upper bound on the matches among ``size`` pairs, hits included.

    It is the largest M with P(X ≤ hits) > δ, X the hits among ``drawn`` pairs that are
    drawn without replacement from ``size`` of which M match: with probability 1 − δ no
    more match, whatever they are (Clopper & Pearson 1934, for a finite population).
    The size of the sample has to be fixed beforehand; see
    `fewpairs.kernels.statistics.sequential` for one that is looked at as it grows.

    Parameters
    ----------
    size, drawn, hits
        Pairs, those of them that were drawn, and the matches among these.
    delta
        How often the bound may fail.

    Examples
    --------
    >>> from fewpairs.kernels.statistics.hypergeometric import matches_at_most
    >>> matches_at_most(1_000, 300, 0, 0.05)
    8
    >>> matches_at_most(1_000, 1_000, 4, 0.05)
    4
    """
    low, high = hits, size - (drawn - hits)
    least = math.log(delta) - rounding(size)
    while low < high:  # P(X ≤ hits) falls as M grows
        middle = (low + high + 1) // 2
        if _log_at_most(size, middle, drawn, hits) > least:
            low = middle
        else:
            high = middle - 1
    return low


def _log_at_most(size: int, matches: int, drawn: int, hits: int) -> float:
    """Return log P(X ≤ hits)."""
    from scipy.special import logsumexp

    x = np.arange(max(0, drawn - (size - matches)), min(hits, matches) + 1)
    if not len(x):
        return -math.inf
    ways = _log_choose(matches, x) + _log_choose(size - matches, drawn - x)
    whole = _log_choose(size, np.array([drawn]))[0]
    return float(logsumexp(ways) - whole)


def _log_choose(n: int, k: NDArray[np.int64]) -> NDArray[np.float64]:
    from scipy.special import gammaln

    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))


def draws_needed(size: int, found: int, recall: float, delta: float) -> int | None:
    """Return the draws that guarantee a recall, if none of them is a match.

    With N unread pairs and F matches found, m ≥ N·ln(1/δ)·r / ((1 − r)·F) uniform draws
    without a hit say that fewer than N·ln(1/δ)/m, and so (1 − r)/r·F, are missing. No
    way of drawing does with fewer for every model: a pair that is drawn with a smaller
    probability may be the match.

    Parameters
    ----------
    size, found
        N and F.
    recall, delta
        r and δ. A recall of 1 takes all N.

    Returns
    -------
    int or None
        At most N; ``None`` where nothing was found, and only reading everything would
        do.

    Examples
    --------
    >>> from fewpairs.kernels.statistics.hypergeometric import draws_needed
    >>> draws_needed(1_000_000, 500, 0.95, 0.05)
    113838
    """
    if not size:
        return 0
    if not found:
        return None
    if recall >= 1:
        return size
    draws = size * math.log(1 / delta) * recall / ((1 - recall) * found)
    return min(size, math.ceil(draws))
