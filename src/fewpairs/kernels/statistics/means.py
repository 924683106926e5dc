"""Means of shares, from some of them drawn at random: intervals by betting."""

import math

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["mean_interval"]

_GRID = 2_001  # means that are put to the test
_TRUNCATED = 0.5  # of the largest bet that cannot lose everything


def mean_interval(
    values: ArrayLike, size: int, delta: float = 0.05
) -> tuple[float, float]:
    """Return an interval for the mean of ``size`` numbers between 0 and 1.

    From some of them, drawn uniformly without replacement. It holds with probability
    1 − δ for any such numbers and any sample size, also at every look. Against each m
    one bets that the mean is larger, and that it is smaller: the capital
    Π (1 ± λₜ (xₜ − mₜ)), with mₜ the mean of those not drawn yet if m is the mean of
    all, and λₜ by the variance so far, is a martingale, and reaches 2/δ with
    probability at most δ/2 for each. The interval are the m that nobody got so rich by.

    Parameters
    ----------
    values
        Those that were drawn, in the order of the draws.
    size
        How many there are in all.
    delta
        How often it may fail.

    References
    ----------
    Waudby-Smith & Ramdas (2024), "Estimating means of bounded random variables by
    betting", JRSS B.

    Examples
    --------
    >>> from fewpairs.kernels.statistics.means import mean_interval
    >>> low, high = mean_interval([0.9, 1.0, 0.8, 1.0, 0.9] * 20, 10_000)
    >>> round(low, 3), round(high, 3)
    (0.854, 0.943)
    >>> mean_interval([0.5, 1.0], 2)
    (0.75, 0.75)
    """
    x = np.asarray(values, dtype=float)
    drawn, total = len(x), float(x.sum())
    least, most = total / size, (total + size - drawn) / size  # whatever the rest is
    if not drawn or drawn == size:
        return least, most
    t = np.arange(drawn)
    before = np.concatenate([[0.0], np.cumsum(x)[:-1]])
    squares = np.cumsum((x - (0.5 + before + x) / (t + 2)) ** 2)
    variance = (0.25 + np.concatenate([[0.0], squares[:-1]])) / (t + 1)
    bet = np.sqrt(2 * math.log(2 / delta) / (drawn * variance))
    m = np.linspace(least, most, _GRID)[:, None]
    left = np.clip((size * m - before) / (size - t), 1e-9, 1 - 1e-9)
    up = np.log1p(np.minimum(bet, _TRUNCATED / left) * (x - left))
    down = np.log1p(-np.minimum(bet, _TRUNCATED / (1 - left)) * (x - left))
    rich = math.log(2 / delta)
    low = np.cumsum(up, axis=1).max(axis=1) < rich
    high = np.cumsum(down, axis=1).max(axis=1) < rich
    kept = np.flatnonzero(low & high)
    if not len(kept):  # no m is left: the mean of what was drawn
        return total / drawn, total / drawn
    step = (most - least) / (_GRID - 1)
    low_end, high_end = m[kept[0], 0] - step, m[kept[-1], 0] + step
    return max(least, float(low_end)), min(most, float(high_end))
