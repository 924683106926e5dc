"""Matches where no sample can reach: an upper envelope of the rates that were seen."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Ladder", "rest_at_most", "tail_at_most"]

# Shares of the rates that are put to the test at which the matches may really come, and
# the weight of each: mostly none at all.
_SHARES = np.array([0.0, 0.05, 0.15, 0.3, 0.5, 0.7, 0.85, 0.95])
_WEIGHTS = np.array([0.58, *7 * [0.06]])
_RATIOS = 2_000  # that are tried
_STEEPEST = 64.0  # of them
_ENOUGH, _COMPARED = 8, 3  # matches of a stratum that tells, and how many are asked


class Ladder(NamedTuple):
    """Strata in the order of the prediction, from the likeliest to match downwards.

    Each is larger than the one before by the same factor. The first ones are read in
    full, of some of the next a part is drawn, and of the last ones nothing.

    Attributes
    ----------
    size, drawn, hits
        Pairs of each, those of them that were read, and the matches among these.
    """

    size: NDArray[np.int64]
    drawn: NDArray[np.int64]
    hits: NDArray[np.int64]


def tail_at_most(ladder: Ladder, first: int, delta: float) -> float:
    """Return an upper bound on the matches of the strata from ``first`` on.

    Under an assumption, which is that of a prediction that is worth something. Let μ₁,
    μ₂, … be the expected matches of the strata, b the last one before ``first``, and a
    one of those that were read in full. Behind b, from one stratum to the next,
    expected matches grow by no more than they do from a to b on average, or not at all
    where they fall there (rates of matches then fall as one over the number of pairs
    before), and never faster than at a constant rate. From a to b they fall, or grow,
    without a dip in between. Pairs match independently of each other given their
    stratum. It then holds with probability 1 − δ, also if one looks after every draw:

    1. μ_a ≥ l (Clopper & Pearson 1934, all strata that were read in full together).
    2. Let r be the mean factor from a to b, μ_b = l·r^(b − a). In between
       μ_k ≥ l·r^(k − a), and the hits there say how large r can be. That is tested by
       betting that matches come at a part of these rates; Ville's inequality.
    3. Behind b, μ_k ≤ μ_b·max(1, r)^(k − b) for the largest r that is left, with the
       factor of the sizes in place of r where that is smaller. Their sum, and the upper
       quantile of a Poisson number of that mean.

    The steps have a third of δ each, shared by all a. Of the last three strata a with
    enough matches to tell, the one with the smallest bound is taken.

    It is an assumption, and fails where matches hide far below the pairs that were
    read: what is drawn cannot show that.

    Parameters
    ----------
    ladder
        The strata. At least one before ``first`` has to be read in full, with a match.
    first
        The first stratum of the tail.
    delta
        How often the bound may fail.

    Returns
    -------
    float
        Infinite where nothing can be said.

    References
    ----------
    Waudby-Smith & Ramdas (2024), "Estimating means of bounded random variables by
    betting", JRSS B.

    Examples
    --------
    >>> import numpy as np
    >>> from fewpairs.kernels.statistics.tail import Ladder, tail_at_most
    >>> size = 1_000 * 2 ** np.arange(12)
    >>> drawn = np.array([1_000, 2_000, 4_000, 8_000, 4_000, 4_000, 0, 0, 0, 0, 0, 0])
    >>> hits = np.array([400, 150, 40, 12, 1, 0, 0, 0, 0, 0, 0, 0])
    >>> tail_at_most(Ladder(size, drawn, hits), 6, 0.05)
    50.0
    """
    from scipy.stats import poisson

    before = slice(first - 1)  # a stratum and a later one
    whole = np.flatnonzero(ladder.drawn[before] == ladder.size[before])
    telling = _telling(ladder, whole)
    if not len(telling):
        return math.inf
    share = delta / 3 / len(whole)
    growth = float(ladder.size[1] / ladder.size[0])
    after = np.arange(first, len(ladder.size)) - (first - 1)
    most = math.inf
    for a in telling.tolist():
        least = _expected_at_least(ladder, a, share)
        ratio = _largest_ratio(ladder, a, first, least, share)
        last = least * ratio ** (first - 1 - a)
        most = min(most, last * float(np.sum(np.clip(ratio, 1.0, growth) ** after)))
    return float(min(poisson.ppf(1 - delta / 3, most), ladder.size[first:].sum()))


def rest_at_most(
    read: tuple[int, int], next_ones: tuple[int, int], unread: int, delta: float
) -> float:
    """Return an upper bound on the matches of all that comes after the next pairs.

    For a ladder whose strata hold too few matches to compare. The pairs that were read
    first are one stratum, with F matches. Of the next one, as large as these, the first
    pairs were read, with few matches: it holds μ ≤ u of them, which is in proportion if
    the rates do not rise. Behind it, from one stratum to the next, matches grow by no
    more than from F to u, or not at all where these fall; as in `tail_at_most`.

    Parameters
    ----------
    read, next_ones
        Numbers of pairs and of matches: of what was read first, and of the likeliest
        pairs after that, all of which were read.
    unread
        All other pairs.
    delta
        How often the bound may fail.

    Examples
    --------
    >>> from fewpairs.kernels.statistics.tail import rest_at_most
    >>> rest_at_most((20_000, 1_200), (10_000, 0), 100_000, 0.05)
    45.0
    """
    from scipy.special import betaincinv
    from scipy.stats import poisson

    (before, matches), (size, hits) = read, next_ones
    if not (matches and size and unread):
        return math.inf if unread else 0.0
    high = 1.0 if hits == size else betaincinv(hits + 1, size - hits, 1 - delta / 3)
    step = max(before, size)
    last = step * float(high)
    least = before * float(betaincinv(matches, before - matches + 1, delta / 3))
    factor = min(2.0, max(1.0, last / least))
    doublings = math.ceil(math.log2(1 + unread / step))
    most = last * sum(factor**k for k in range(doublings + 1))
    return float(min(poisson.ppf(1 - delta / 3, most), unread))


def _telling(ladder: Ladder, whole: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the strata that later ones are compared with."""
    enough = whole[ladder.hits[whole] >= _ENOUGH]
    if len(enough):
        return enough[-_COMPARED:]
    some = whole[ladder.hits[whole] >= _ENOUGH // 2]
    return some[np.argsort(-ladder.hits[some], kind="stable")[:1]]


def _expected_at_least(ladder: Ladder, a: int, delta: float) -> float:
    """Return a lower bound on the expected matches of a stratum read in full."""
    from scipy.special import betaincinv

    size, hits = int(ladder.size[a]), int(ladder.hits[a])
    return size * float(betaincinv(hits, size - hits + 1, delta))


def _largest_ratio(
    ladder: Ladder, a: int, first: int, least: float, delta: float
) -> float:
    """Return the largest factor per stratum that the hits behind ``a`` allow."""
    between = np.arange(a + 1, first)
    size, drawn, hits = (part[between] for part in ladder)
    ratios = np.geomspace(1e-3, _STEEPEST, _RATIOS)
    expected = least * ratios[:, None] ** (between - a)
    rates = np.minimum(expected / size, 1 - 1e-12)
    found = int(hits.sum())
    missed = drawn - hits
    bets = []
    for share, weight in zip(_SHARES, _WEIGHTS, strict=True):
        if share == 0 and found:
            continue
        gain = missed * (np.log1p(-share * rates) - np.log1p(-rates))
        lost = found * math.log(share) if found else 0.0
        bets.append(math.log(weight) + lost + gain.sum(axis=1))
    wealth = np.logaddexp.reduce(bets, axis=0)
    left = np.flatnonzero(wealth < math.log(1 / delta))
    return float(ratios[left[-1]]) if len(left) else float(ratios[0])
