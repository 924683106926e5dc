"""Matches among pairs in strata, from a sample that is looked at as it grows."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fewpairs.kernels.statistics.hypergeometric import rounding

__all__ = ["Strata", "total_at_most"]

_NOTHING = 0.75  # weight of the guess that no pair is a match
_ORDER = 16  # shares of matches are guessed at up to this factor
_STEPS = 200  # halvings: to the last digit


class Strata(NamedTuple):
    """Disjoint sets of pairs, and what was drawn of each, without replacement.

    Attributes
    ----------
    size, drawn, hits
        Pairs of each, those of them that were drawn, and the matches among these.
    """

    size: NDArray[np.int64]
    drawn: NDArray[np.int64]
    hits: NDArray[np.int64]

    @classmethod
    def of(cls, size: ArrayLike, drawn: ArrayLike, hits: ArrayLike) -> "Strata":
        """Return strata of any sequences of whole numbers."""
        parts = (np.atleast_1d(np.asarray(x)) for x in (size, drawn, hits))
        return cls(*(part.astype(np.int64) for part in parts))


def total_at_most(
    strata: Strata, delta: float, among: NDArray[np.bool_] | None = None
) -> int:
    """Return an upper bound on the matches of all strata together, hits included.

    With probability 1 − δ it holds at all times at once: one may look after every
    draw, stop when one likes, and choose by what was seen from which stratum to draw
    next. The sizes have to be fixed before the first draw, and each draw has to be
    uniform within its stratum.

    Let L(M) be the probability of the draws in their order if M = (M₁, M₂, …) pairs
    match, and P the mean of L under weights that were fixed beforehand. P / L(M) is a
    martingale if M is the truth, starts at 1, and by Ville's inequality ever reaches
    1/δ with probability at most δ. So Σ −log L_s(M_s) < log(1/δ) − log P for the true
    M; the bound is the largest ΣM that obeys it. −log L_s is convex, and so is the
    search. The weights: three quarters on no match at all, the rest on shares of
    matches of every order of magnitude, stratum by stratum. Without a hit that takes
    at most log(4/3)/log(1/δ) more draws than knowing the size of the sample beforehand
    would: a tenth at δ = 0.05.

    Parameters
    ----------
    strata
        Sizes, draws and hits.
    delta
        How often the bound may fail.
    among
        Strata whose matches are wanted; ``None``: all. It may depend on what was seen,
        the strata themselves may not.

    References
    ----------
    Waudby-Smith & Ramdas (2020), "Confidence sequences for sampling without
    replacement", NeurIPS (the prior-posterior ratio); Waudby-Smith & Ramdas (2024),
    "Estimating means of bounded random variables by betting", JRSS B.

    Examples
    --------
    >>> from fewpairs.kernels.statistics.sequential import Strata, total_at_most
    >>> total_at_most(Strata.of([1_000], [300], [0]), 0.05)
    8
    >>> total_at_most(Strata.of([100, 10_000], [100, 5_000], [7, 0]), 0.05)
    21
    """
    wanted = np.ones(len(strata.size), dtype=bool) if among is None else among
    partly = wanted & (strata.drawn < strata.size)
    certain = int(strata.hits[wanted & ~partly].sum())
    if not partly.any():
        return certain
    allowed = math.log(1 / delta) - _log_mean(strata)
    allowed += rounding(int(strata.size.max())) * len(strata.size)
    allowed -= float(_least_against(strata)[~partly].sum())
    open_ones = Strata(*(part[partly] for part in strata))
    largest = _largest if partly.sum() == 1 else _largest_total
    return certain + largest(open_ones, allowed)


def _largest(strata: Strata, allowed: float) -> int:
    """Return the largest M of one stratum with −log L(M) at most ``allowed``."""
    size, drawn, hits = (int(part[0]) for part in strata)
    high = size - drawn + hits
    low = min(high, hits * size // max(1, drawn))  # where L is largest, or nearly so
    while low < high:
        middle = (low + high + 1) // 2
        if float(_against(strata, np.array([float(middle)]))[0]) <= allowed:
            low = middle
        else:
            high = middle - 1
    return low


def _largest_total(strata: Strata, allowed: float) -> int:
    """Return the largest ΣM with Σ −log L_s(M_s) at most ``allowed``.

    By its dual: for any price λ > 0 of a unit, Σ max(M_s + λ log L_s(M_s)) + λ·allowed
    is an upper bound, and for the best price it is the largest.
    """

    def bound(log_price: float) -> tuple[float, float]:
        price = math.exp(log_price)
        matches = _best(strata, price)
        spent = float(_against(strata, matches).sum())
        return float(matches.sum()) + price * (allowed - spent), allowed - spent

    low, high = -50.0, math.log(float(strata.size.sum())) + 50.0
    for _ in range(_STEPS):  # the dual is convex in the price: follow its slope
        middle = (low + high) / 2
        if bound(middle)[1] > 0:
            high = middle
        else:
            low = middle
        if high - low < 1e-7:  # its error is of the order of the square of this
            break
    best = min(bound(low)[0], bound(high)[0])
    most = int((strata.size - strata.drawn + strata.hits).sum())
    return min(most, math.floor(best * (1 + 1e-9) + 1e-9))


def _best(strata: Strata, price: float) -> NDArray[np.float64]:
    """Return M_s that maximizes M + price · log L_s(M), a concave function."""
    low = strata.hits.astype(float)
    high = (strata.size - strata.drawn + strata.hits).astype(float)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        slope = _slope(strata, middle)
        rising = slope < (1 / price)  # an infinite price: where L is largest
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
        if (high - low <= 1e-9 * high).all():  # likewise
            break
    return high


def _least_against(strata: Strata) -> NDArray[np.float64]:
    """Return the least −log L_s of any M: for strata whose M is not asked for."""
    return _against(strata, _best(strata, math.inf))


def _against(strata: Strata, matches: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return −log L_s(M_s), of draws in their order.

    L = M!/(M − x)! · (N − M)!/(N − M − (m − x))! · (N − m)!/N!.
    """
    from scipy.special import gammaln

    size, drawn, hits = strata
    others, missed = size - matches, drawn - hits
    found = gammaln(matches + 1) - gammaln(matches - hits + 1)
    rest = gammaln(others + 1) - gammaln(others - missed + 1)
    whole = gammaln(size + 1.0) - gammaln(size - drawn + 1.0)
    return np.asarray(whole - found - rest)


def _slope(strata: Strata, matches: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the derivative of −log L_s."""
    from scipy.special import digamma

    size, drawn, hits = strata
    others, missed = size - matches, drawn - hits
    found = digamma(matches + 1) - digamma(matches - hits + 1)
    rest = digamma(others + 1) - digamma(others - missed + 1)
    return np.asarray(rest - found)


def _log_mean(strata: Strata) -> float:
    """Return log P, the probability of the draws under the weights.

    A share of matches that is beta distributed makes a sequence of draws from any
    finite population a Pólya urn's: B(a + x, b + m − x) / B(a, b), whatever N is.
    """
    from scipy.special import betaln, logsumexp

    size, drawn, hits = strata
    a = 0.5
    orders = math.ceil(math.log(max(_ORDER, int(size.max())), _ORDER)) + 1
    b = a * float(_ORDER) ** np.arange(orders)[:, None]
    urns = betaln(a + hits, b + drawn - hits) - betaln(a, b)
    some = logsumexp(urns, axis=0) - math.log(orders)
    none = np.where(hits == 0, 0.0, -np.inf)
    # One stratum in so many has matches: few are paid for in vain.
    share = 1 / len(size)
    with np.errstate(divide="ignore"):
        rest = np.log1p(-share)
    each = np.logaddexp(math.log(share) + some, rest + none)
    nothing = math.log(_NOTHING) + float(none.sum())
    return float(np.logaddexp(nothing, math.log1p(-_NOTHING) + float(each.sum())))
