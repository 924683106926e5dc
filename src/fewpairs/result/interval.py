"""Interval: how far a ratio of two sums, estimated from random pairs, can be off."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Chance",
    "Fixed",
    "Sums",
    "none_of",
    "ratio_interval",
    "upper_count",
    "widened",
]

_SIDE = 0.025  # chance that an end of an exact interval is on the wrong side
_ROUGH = 0.025  # the same for those that hold in the limit
_MOST = 5.0  # by which the logarithm of a sum is moved

Array = NDArray[np.float64]


class Fixed(NamedTuple):
    """Squared errors that need no sample, and how far they may be off."""

    squares: float = 0.0
    margin: float = 0.0


class Sums(NamedTuple):
    """Squared errors of unread pairs; squared values of read pairs and of unread ones.

    E, A and B: the squared relative error is E / (A + B).
    """

    off: float
    known: float
    unread: float

    @property
    def norm(self) -> float:
        """Squared values of all pairs."""
        return self.known + self.unread

    def moved(self, off: float, unread: float) -> "Sums":
        """Return E and B times the exponentials of these, as far as they are sane."""
        more, larger = (math.exp(min(max(x, -_MOST), _MOST)) for x in (off, unread))
        return Sums(self.off * more, self.known, self.unread * larger)


class Chance(NamedTuple):
    """What is left to chance in the logarithms of E/B and of B.

    Attributes
    ----------
    ratio, values
        Of every pair of a sample, what is left of it; the logarithms are their means.
    left
        Share of the variance that a sample without replacement leaves.
    noise
        Standard deviation of what is known of predictions.
    """

    ratio: Array
    values: Array
    left: float
    noise: float = 0.0


def ratio_interval(
    squared: Array, sums: Sums, fixed: Fixed, chance: Chance
) -> tuple[float, float]:
    """Return a 95 % interval for E / (A + B).

    Written as E/B · B/(A + B): where few pairs carry B, the sample may be off by any
    factor, which the second ratio bears and the logarithm of the whole does not. Both
    get an interval, and the ends are multiplied. At the lower end, the n pairs that
    carry E, whose errors are ``squared``, say no more than n misses out of n do: E is
    known to a factor of 0.025^(1/n) (Clopper and Pearson 1934).
    """
    ratio = sums.off / sums.norm
    more = math.exp(_spread(chance.values, chance.left))
    fewest = sums.norm / (more * sums.known + sums.unread)
    most = more * sums.norm / (sums.known + more * sums.unread)
    low, high = _factors(chance.ratio, chance.left)
    half = _normal() * chance.noise
    low = ratio * _product(low, fewest, math.exp(-half))
    high = ratio / _product(1 / high, 1 / most, math.exp(-half))
    if squared.any():
        terms = float(squared.sum()) ** 2 / float(squared @ squared)
        sure = min(1.0, fixed.squares / sums.off)
        low = min(low, ratio * (sure + (1 - sure) * none_of(terms)))
    margin = fixed.margin / sums.norm
    return max(0.0, low - margin), high + margin


def _product(*factors: float) -> float:
    """Return how small a product may be, given how small each factor alone may be."""
    logs = (math.log(max(factor, 1e-100)) for factor in factors)
    return math.exp(-math.hypot(*logs))


def widened(middle: float, end: float, further: float) -> float:
    """Return the end of an interval that two independent causes move from the middle.

    One alone to ``end``, the other from there to ``further``: their distances are added
    as squares (Zou and Donner 2008), for they are not at their worst together.
    """
    side = 1 if end >= middle else -1
    return middle + side * math.hypot(end - middle, further - end)


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


def _normal() -> float:
    from scipy import special

    return float(special.ndtri(1 - _ROUGH))


def _skewed(skewness: float, error: float, m: int) -> tuple[float, float]:
    quantile = _normal()
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
