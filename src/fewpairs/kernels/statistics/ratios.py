"""Shares of what comes in groups, from some of the groups: a lower bound of a ratio."""

import math

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["ratio_at_least"]


def ratio_at_least(parts: ArrayLike, wholes: ArrayLike, delta: float = 0.05) -> float:
    """Return a lower bound of Σ parts / Σ wholes over all groups, from some of them.

    Groups are drawn at random, not what is in them: what one of them lacks others of it
    may lack together. Two bounds that fail differently, and the smaller: Student's on
    the residuals fᵢ − R·hᵢ (Cochran 1977, chapter 6), which is nothing where all is
    found; and that of Clopper and Pearson for as many independent cases as groups of
    such sizes are worth, (Σh)²/Σh² (Kish 1965).

    Parameters
    ----------
    parts, wholes
        fᵢ and hᵢ of each group.
    delta
        How often the bound may fail.

    Examples
    --------
    >>> from fewpairs.kernels.statistics.ratios import ratio_at_least
    >>> round(ratio_at_least([1] * 58 + [0] * 2, [1] * 60), 3)
    0.899
    >>> round(ratio_at_least([29, 29], [30, 30]), 3)
    0.203
    """
    from scipy import special  # takes a tenth of a second

    f, h = np.asarray(parts, dtype=float), np.asarray(wholes, dtype=float)
    f, h = f[h > 0], h[h > 0]
    groups, total = len(h), float(h.sum())
    if not groups or not f.any():
        return 0.0
    ratio = float(f.sum()) / total
    worth = total**2 / float(h @ h)
    exact = float(special.betaincinv(ratio * worth, (1 - ratio) * worth + 1, delta))
    if groups == 1:
        return exact
    residual = f - ratio * h
    error = math.sqrt(float(residual @ residual) * groups / (groups - 1)) / total
    student = ratio - float(special.stdtrit(groups - 1, 1 - delta)) * error
    return max(0.0, min(exact, student))
