"""Means from a sample of pairs that come with features known of all pairs."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Adjusted", "adjusted"]

_ENOUGH = 20  # values of a sample per feature
_RIDGE = 1e-3  # of standardized features
_LEVERAGE = 0.95  # a value that decides by itself does not vanish
_CONSTANT = 1e-9

Array = NDArray[np.float64]


class Adjusted(NamedTuple):
    """A mean, seen beside features.

    Attributes
    ----------
    shift
        What features say is to be added to the mean of the sample.
    residuals
        What features leave of every value, each divided by one minus its leverage.
    slopes
        What a unit of every feature adds.
    """

    shift: float
    residuals: Array
    slopes: Array


def adjusted(values: Array, features: Array, means: Array) -> Adjusted:
    """Adjust the mean of a sample by features whose means over all are known.

    The regression estimator: mean(y) + (mean of x over all − mean(x))·slope. Strata
    are the case of features that are 0 or 1. What is left to chance is the mean of the
    residuals. A residual is divided by one minus its leverage, which makes it that of a
    fit without it: a value that draws the line to itself is not seen as explained.

    Parameters
    ----------
    values
        y, of a sample.
    features
        x, a row of each.
    means
        Of the features over everything that the sample stands for.

    References
    ----------
    Cochran (1977), "Sampling techniques", chapter 7; MacKinnon & White (1985) on
    residuals without their own value.

    Examples
    --------
    >>> import numpy as np
    >>> from fewpairs.kernels.statistics.regression import adjusted
    >>> x = np.linspace(0, 1, 100)
    >>> found = adjusted(3 * x, x[:, None], np.array([0.6]))
    >>> round(found.shift, 2), bool(np.abs(found.residuals).max() < 0.01)
    (0.3, True)
    """
    m, number = features.shape
    apart = values - values.mean()
    spread = features.std(axis=0)
    used = spread > _CONSTANT
    slopes = np.zeros(number)
    if m < _ENOUGH * number or not used.any():
        return Adjusted(0.0, apart, slopes)
    scaled = (features - features.mean(axis=0))[:, used] / spread[used]
    square = scaled.T @ scaled / m + _RIDGE * np.eye(scaled.shape[1])
    slope = np.linalg.solve(square, scaled.T @ apart / m)
    weights = np.einsum("ij,ij->i", scaled, np.linalg.solve(square, scaled.T).T)
    leverage = np.minimum((1 + weights) / m, _LEVERAGE)
    slopes[used] = slope / spread[used]
    shift = float(slopes @ (means - features.mean(axis=0)))
    return Adjusted(shift, (apart - scaled @ slope) / (1 - leverage), slopes)
