"""Rivals: bounds of the recall that others would state from the same evaluations."""

import numpy as np

from fewpairs.kernels.statistics.hypergeometric import matches_at_most

__all__ = ["bargain", "clopper_pearson"]

_TRUNCATED = 0.75
_GRID = np.linspace(0.0, 1.0, 401)[1:-1]


def clopper_pearson(unread: int, drawn: int, hits: int, found: int, d: float) -> float:
    """Return the least recall by uniform draws from what was not read."""
    missing = matches_at_most(unread, drawn, hits, d) - hits
    return found / (found + missing) if found else 0.0


def bargain(listed: np.ndarray, delta: float) -> float:
    """Return BARGAIN's lower bound of the recall.

    Of records that were drawn uniformly from all and match, ``listed`` says which are
    on the list: the mean of these is the recall. A recall of m is refused once the
    capital Π (1 + λₜ (xₜ − m)) reaches 1/δ, with λₜ = √(2 ln(2/δ) / (n σ²ₜ₋₁)) but at
    most 0.75/m, for a sample of fixed size (Zeighami, Shankar & Parameswaran 2025,
    after Waudby-Smith & Ramdas 2024); as in its package, version 0.1.3.
    """
    x = np.asarray(listed, dtype=float)
    if not len(x):
        return 0.0
    t = np.arange(len(x))
    before = np.concatenate([[0.0], np.cumsum(x)[:-1]])
    squares = np.concatenate([[0.0], np.cumsum(x**2)[:-1]])
    mean = (0.5 + before) / (t + 1)
    variance = (0.25 + squares - 2 * mean * before + t * mean**2) / (t + 1)
    bet = np.sqrt(2 * np.log(2 / delta) / (len(x) * variance))
    m = _GRID[:, None]
    gains = np.log1p(np.minimum(bet, _TRUNCATED / m) * (x - m))
    refused = (np.cumsum(gains, axis=1) >= np.log(1 / delta)).any(axis=1)
    above = np.flatnonzero(~refused)
    return float(_GRID[above[0] - 1]) if len(above) and above[0] else 0.0
