"""Matches where no sample can reach: an upper envelope of the rates that were seen."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Ladder", "tail_at_most"]

# Shares of the rates that are put to the test at which the matches may really come, and
# the weight of each: mostly none at all.
_SHARES = np.array([0.0, 0.05, 0.15, 0.3, 0.5, 0.7, 0.85, 0.95])
_WEIGHTS = np.array([0.58, *7 * [0.06]])
_RATIOS = 2_000  # that are tried


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

    Under an assumption, which is that of a prediction that is worth something: the
    expected matches μ₁, μ₂, … of the strata are a log-concave sequence (once they fall,
    they fall by a factor that does not come nearer to 1 again), and pairs match
    independently of each other given their stratum. It then holds with probability
    1 − δ, whatever the sequence is, and also if one looks after every draw:

    1. A stratum a that was read in full has μ_a ≥ l (Clopper & Pearson 1934, all such
       strata together).
    2. Let b be the last stratum before ``first``, and r the mean factor from a to b,
       μ_b = μ_a·r^(b − a). A concave sequence lies above its chords: in between
       μ_k ≥ l·r^(k − a), and the hits there say how large r can be. That is tested by
       betting that matches come at a part of these rates; Ville's inequality.
    3. Behind b it lies below the chord: μ_k ≤ l·r^(k − a) for the largest r that is
       left. Their sum, and the upper quantile of a Poisson number of that mean.

    The steps have a third of δ each. The smallest bound over all a is taken.

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
    >>> tail_at_most(Ladder(size, drawn, hits), 6, 0.05) <= 12
    True
    """
    from scipy.stats import poisson

    before = slice(first - 1)  # a chord needs two ends
    whole = np.flatnonzero(ladder.drawn[before] == ladder.size[before])
    if not len(whole):
        return math.inf
    each = delta / 3
    best = math.inf
    for a in whole.tolist():
        least = _expected_at_least(ladder, a, each / len(whole))
        if least > 0:
            ratio = _largest_ratio(ladder, a, first, least, each / len(whole))
            steps = np.arange(first, len(ladder.size)) - a
            best = min(best, least * float(np.sum(ratio**steps)))
    if math.isinf(best):
        return best
    return float(min(poisson.ppf(1 - each, best), ladder.size[first:].sum()))


def _expected_at_least(ladder: Ladder, a: int, delta: float) -> float:
    """Return a lower bound on the expected matches of a stratum read in full."""
    from scipy.special import betaincinv

    size, hits = int(ladder.size[a]), int(ladder.hits[a])
    return size * float(betaincinv(hits, size - hits + 1, delta)) if hits else 0.0


def _largest_ratio(
    ladder: Ladder, a: int, first: int, least: float, delta: float
) -> float:
    """Return the largest factor per stratum that the hits behind ``a`` allow."""
    growth = float(ladder.size[a + 1] / ladder.size[a])
    between = np.arange(a + 1, first)
    size, drawn, hits = (part[between] for part in ladder)
    # No faster than at a constant rate: that is how far the prediction is trusted.
    ratios = np.geomspace(1e-6, 1.0, _RATIOS) * growth
    expected = least * ratios[:, None] ** (between - a)
    rates = np.minimum(expected / np.maximum(size, 1), 1 - 1e-12)
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
