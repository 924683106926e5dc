"""Matches left unread, if pairs were read in an order that tells something."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewpairs.kernels.statistics.hypergeometric import matches_at_most, rounding

__all__ = ["Reads", "counted_from", "missing_at_any_time", "missing_at_most"]

_FEW = 2  # matches of a part after which counting begins
_PARTS = 16  # the first part is one in so many of what is to be read in order
_SMALLEST = 20  # pairs of it
_NOTHING = 0.6  # weight of the guess that nothing is missing
_SUSPICIOUS = 0.2  # chance at which more matches below than above are believed


class Reads(NamedTuple):
    """What was read: pairs in the order of a prediction, and a sample of the rest.

    Attributes
    ----------
    front, front_hits
        Pairs in order that count, see `counted_from`, and the matches among them.
    rest, drawn, drawn_hits
        All pairs after them, those drawn uniformly from these, and the matches among
        the drawn.
    """

    front: int
    front_hits: int
    rest: int
    drawn: int
    drawn_hits: int


def counted_from(hit: NDArray[np.bool_], planned: int) -> int:
    """Return from which place on pairs that were read in order count as a sample.

    What is read in order is cut into parts, each as large as all before. Counting
    begins behind the first part with at most two matches: pairs before it were rich,
    and say little of those that were not read. The choice depends on nothing that is
    counted.

    Parameters
    ----------
    hit
        Which pairs match, in their order.
    planned
        How many pairs may be read in order, in the end; fixed beforehand.

    Examples
    --------
    >>> import numpy as np
    >>> from fewpairs.kernels.statistics.ordered import counted_from
    >>> hit = np.zeros(1_600, dtype=bool)
    >>> counted_from(hit, 1_600)
    100
    >>> hit[:400:20] = True
    >>> counted_from(hit, 1_600)
    800
    """
    start, end = 0, max(_SMALLEST, planned // _PARTS)
    while end <= len(hit):
        if int(hit[start:end].sum()) <= _FEW:
            return end
        start, end = end, 2 * end
    return len(hit)


def missing_at_most(reads: Reads, delta: float) -> int:
    """Return an upper bound on the unread matches, at one look fixed beforehand.

    The assumption: pairs match independently of each other, with chances that do not
    rise from one pair to the next in their order. Let T be the matches among all pairs,
    in front and after. Given T and what was read before, the next pair in order matches
    with at least the chance of a pair drawn uniformly from those left. So the hits are
    stochastically at least as many as in a uniform sample of the same size, and the
    exact bound of such a sample holds with probability 1 − δ: pairs read in order count
    like pairs drawn.

    Where the drawn pairs have more matches than those in front, more than chance would
    have it one time in five, the assumption is in doubt: the bound is then no lower
    than that of the drawn pairs alone.

    Parameters
    ----------
    reads
        What was read.
    delta
        How often the bound may fail.

    References
    ----------
    Clopper & Pearson (1934), for a finite population.

    Examples
    --------
    >>> from fewpairs.kernels.statistics.ordered import Reads, missing_at_most
    >>> missing_at_most(Reads(20_000, 0, 480_000, 2_000, 0), 0.05)
    66
    >>> missing_at_most(Reads(0, 0, 480_000, 2_000, 0), 0.05)
    716
    >>> missing_at_most(Reads(20_000, 0, 480_000, 2_000, 3), 0.05)
    1853
    """
    return _pooled(reads, delta, _by_size)


def missing_at_any_time(reads: Reads, delta: float, planned: int) -> int:
    """Return an upper bound that holds at all times at once: one may look, and stop.

    By betting against every T that as few as M < T match in all, for guesses M fixed
    beforehand: none at all with weight 0.6, else numbers that double. Likelihood ratios
    of a smaller M to T fall with every hit, so that they are supermartingales under the
    assumption of `missing_at_most`; Ville's inequality.

    Parameters
    ----------
    reads, delta
        As in `missing_at_most`.
    planned
        Pairs in front and drawn that there may be in the end; fixed beforehand.

    References
    ----------
    Waudby-Smith & Ramdas (2020), "Confidence sequences for sampling without
    replacement", NeurIPS.

    Examples
    --------
    >>> from fewpairs.kernels.statistics.ordered import Reads, missing_at_any_time
    >>> missing_at_any_time(Reads(20_000, 0, 480_000, 2_000, 0), 0.05, 22_000)
    73
    """

    def bound(size: int, drawn: int, hits: int, delta: float) -> int:
        return _betting(size, drawn, hits, delta, planned)

    return _pooled(reads, delta, bound)


def _by_size(size: int, drawn: int, hits: int, delta: float) -> int:
    return matches_at_most(size, drawn, hits, delta) - hits


def _pooled(
    reads: Reads, delta: float, bound: Callable[[int, int, int, float], int]
) -> int:
    front, rest = reads.front, reads.rest
    hits = reads.front_hits + reads.drawn_hits
    most = bound(front + rest, front + reads.drawn, hits, delta)
    if front and _rising(reads):
        most = max(most, bound(rest, reads.drawn, reads.drawn_hits, delta))
    return int(min(most, rest - reads.drawn))


def _rising(reads: Reads) -> bool:
    """Tell whether the rest seems richer in matches than what came first."""
    from scipy.stats import hypergeom  # takes a tenth of a second

    if not reads.drawn_hits:
        return False
    hits = reads.front_hits + reads.drawn_hits
    law = hypergeom(reads.front + reads.drawn, hits, reads.front)
    return float(law.cdf(reads.front_hits)) <= _SUSPICIOUS


def _betting(size: int, drawn: int, hits: int, delta: float, planned: int) -> int:
    """Return the largest number of unread matches that no bet has refused."""
    from scipy.special import logsumexp

    orders = math.ceil(math.log2(max(2, 2 * planned)))
    k = np.arange(orders)
    guess = np.unique(np.ceil(size / max(1, planned) * 2.0 ** (k - 1)))
    weight = 1 / (np.arange(len(guess)) + 1.0) ** 1.5
    weight *= (1 - _NOTHING) / weight.sum()
    guess, weight = np.append(0.0, guess), np.append(_NOTHING, weight)
    for_guess = _log_chance(size, drawn, hits, guess) + np.log(weight)
    least = math.log(1 / delta) + rounding(size)
    low = min(size - drawn + hits, hits * size // max(1, drawn))
    high = size - drawn + hits
    while low < high:
        middle = (low + high + 1) // 2
        against = _log_chance(size, drawn, hits, np.array([float(middle)]))[0]
        won = logsumexp(np.append(for_guess[guess < middle], -np.inf)) - against
        if won < least:
            low = middle
        else:
            high = middle - 1
    return low - hits


def _log_chance(
    size: int, drawn: int, hits: int, matches: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return log L of draws in their order, but for what does not depend on M."""
    from scipy.special import gammaln

    others, missed = size - matches, drawn - hits
    possible = (matches >= hits) & (others >= missed)
    m, o = np.where(possible, matches, hits), np.where(possible, others, missed)
    found = gammaln(m + 1) - gammaln(m - hits + 1)
    rest = gammaln(o + 1) - gammaln(o - missed + 1)
    return np.where(possible, found + rest, -np.inf)
