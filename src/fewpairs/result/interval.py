"""Interval: how far a ratio of two sums, estimated from random pairs, can be off."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Fixed", "none_of", "ratio_interval", "upper_count"]

_SIDE = 0.025  # chance that an end of an exact interval is on the wrong side
_ROUGH = 0.025  # the same for those that hold in the limit
Array = NDArray[np.float64]


class Fixed(NamedTuple):
    """Squared errors that need no sample, and how far they may be off."""

    squares: float = 0.0
    margin: float = 0.0


def ratio_interval(
    squared: Array, power: Array, unread: int, known: float, fixed: Fixed
) -> tuple[float, float]:
    """Return a 95 % interval for E / (A + B), all sums of squares.

    E are the squared errors of the unread pairs (``fixed`` is added to what the sample
    ``squared`` says), B their squared values (from the sample ``power``), A is
    ``known``. Written as E/B · B/(A + B): where few pairs carry B, the sample may be
    off by any factor, which the second ratio bears and the logarithm of the whole does
    not. Both get an interval, and the ends are multiplied. At the lower end, the n
    pairs that carry E say no more than n misses out of n do: E is known to a factor
    of 0.025^(1/n) (Clopper and Pearson 1934).
    """
    m = len(squared)
    sampled = (unread - m) * float(squared.mean())
    off, unread_power = sampled + fixed.squares, unread * float(power.mean())
    norm = known + unread_power
    left = max(0.0, 1 - m / unread)  # without replacement: what is left to estimate
    relative = _relative(power)
    low, high = _factors((unread - m) * squared / off - relative, left)
    if unread_power > 0:
        spread = _spread(relative, left)
        fewer, more = math.exp(-spread), math.exp(spread)
        low *= fewer * norm / (known + fewer * unread_power)
        high *= more * norm / (known + more * unread_power)
    low, high = low * off / norm, high * off / norm
    if sampled > 0:
        terms = float(squared.sum()) ** 2 / float(squared @ squared)
        low = min(low, (sampled * none_of(terms) + fixed.squares) / norm)
    return max(0.0, low - fixed.margin / norm), high + fixed.margin / norm


def none_of(number: float) -> float:
    """Return the smallest share of which ``number`` draws may all be: 0.025^(1/n)."""
    return float(_SIDE ** (1 / number))


def upper_count(seen: int) -> float:
    """Return how many were to be expected, at most, where ``seen`` were seen.

    The upper end of the exact interval of a Poisson count, 3.69 for none (Garwood
    1936); the binomial one of Clopper and Pearson is below it.
    """
    from scipy import special  # takes a tenth of a second

    return float(special.gammaincinv(seen + 1, 1 - _SIDE))


def _relative(power: Array) -> Array:
    mean = float(power.mean())
    return power / mean if mean > 0 else np.zeros(len(power))


def _spread(z: Array, left: float) -> float:
    """Return Student's half-width of a mean of ``z``.

    With the degrees of freedom that the kurtosis leaves to the estimated variance
    (Box 1953): squares have heavy tails, a few near-duplicates carry most of them.
    """
    from scipy import special

    m = len(z)
    z = z - z.mean()
    squares = z * z  # powers by products: np.power takes ten times as long
    variance = float(squares.sum()) / (m - 1)
    if variance == 0:
        return 0.0
    kurtosis = float(squares @ squares) / m / variance**2
    freedom = max(1.0, 2 * m / max(kurtosis - 1 + 2 * m / (m - 1), 1e-9))
    t = float(special.stdtrit(freedom, 1 - _ROUGH))
    return min(t * math.sqrt(variance / m * left), 300.0)  # exp of it is a number


def _factors(z: Array, left: float) -> tuple[float, float]:
    """Return what a ratio may have to be multiplied by, where log(ratio) is mean(z).

    Three intervals that fail differently are joined: Student's on the log scale; Hall's
    (1992) transformation, which removes the skewness; and that of a weighted sum of
    Poisson counts (Fay and Feuer 1997), for few pairs that carry everything.
    """
    half = _spread(z, left)
    if half == 0:
        return 1.0, 1.0
    z = z - z.mean()
    m = len(z)
    variance = float(z @ z) / (m - 1)
    error = math.sqrt(variance / m * left)
    ends = [
        (math.exp(-half), math.exp(half)),
        _skewed(float((z * z) @ z) / m / variance**1.5, error, m),
        _counted(error**2, max(0.0, float(z.max())) / m),
    ]
    return max(0.0, min(low for low, _ in ends)), max(high for _, high in ends)


def _skewed(skewness: float, error: float, m: int) -> tuple[float, float]:
    from scipy import special

    quantile = float(special.ndtri(1 - _ROUGH))
    low, high = (1 - _hall(side * quantile, skewness, m) * error for side in (1, -1))
    return low, high


def _counted(variance: float, weight: float) -> tuple[float, float]:
    """Return Fay and Feuer's interval for a sum of 1, given its largest weight."""
    from scipy import special

    low = variance * float(special.gammaincinv(1 / variance, _SIDE))
    more, total = variance + weight**2, 1 + weight
    high = more / total * float(special.gammaincinv(total**2 / more, 1 - _SIDE))
    return low, high


def _hall(quantile: float, skewness: float, m: int) -> float:
    """Return the quantile of a studentized mean under Hall's cubic transformation."""
    if abs(skewness) < 1e-6:
        return quantile
    root = math.sqrt(m)
    inner = 1 + skewness * (quantile / root - skewness / (6 * m))
    return float((np.cbrt(inner) - 1) * root * 3 / skewness)
