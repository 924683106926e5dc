"""Weighing: how much each of several priors counts, told by pairs that were read.

Priors that the pairs do not confirm count for nothing. The others get the mean of two
sets of weights: equal ones, which find what is most similar by any of them, and those
that fit the values best among weights that are not negative (Lawson & Hanson 1974,
"Solving least squares problems", non-negative least squares), which know what each is
worth in the bulk.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.similarity.priors import Prior
from fewpairs.types import Indices

__all__ = ["agrees", "explained", "pairs_of_columns", "says_much", "weighed", "worth"]

_FEWEST = 60  # pairs that tell anything
_MUCH = 0.25  # share of the variance that is much
_LEVEL = 1e-3  # of the test whether a prior says something
_DEGREE = 3  # of the curves that are fitted
_UNIFORM = 20_000  # entries of columns that are looked at
_ROWS = 4_000  # items whose entries tell whether a prior says something
_APART, _SAYS = 4.0, 0.05  # standard errors, and correlation, that make it so
_TOP = 10  # and the most similar of each landmark


def weighed(
    prior: Prior | None, i: Indices, j: Indices, values: NDArray[Any]
) -> Prior | None:
    """Return several priors with weights that these pairs call for.

    One prior stays as it is, and so do several where the pairs tell nothing.
    """
    if prior is None or len(prior.parts) < 2 or len(values) < _FEWEST:
        return prior
    y = np.asarray(values, dtype=np.float64)
    scale = float(np.abs(y).max(initial=0.0)) or 1.0
    y = y / scale - float(np.mean(y / scale))
    said = [part.pairs(i, j).astype(np.float64) for part in prior.parts]
    confirmed = np.array([_confirms(cheap, y) for cheap in said])
    if not confirmed.any():
        return prior
    C = np.stack([cheap - cheap.mean() for cheap in said], axis=1) * confirmed
    fitted = _not_negative(C, y)
    if fitted is None:
        return prior
    weights = (fitted + confirmed / confirmed.sum()) / 2
    return Prior.of_parts(prior.parts, weights.tolist())


def worth(prior: Prior | None, i: Indices, j: Indices, values: NDArray[Any]) -> str:
    """Return what a prior that fewpairs has made or put together is, and is worth."""
    if prior is None or not (prior.parts or prior.lexical) or len(values) < _FEWEST:
        return ""
    share = explained(prior.pairs(i, j), values)
    counts = ""
    if prior.parts:
        counts = f" (weights {', '.join(f'{w:.2g}' for w in prior.weights)})"
    return f"prior {prior.name}{counts}: explains {share:.0%} of random pairs"


def says_much(prior: Prior, i: Indices, j: Indices, values: NDArray[Any]) -> bool:
    """Tell whether a prior explains a good part of what was read."""
    return len(values) >= _FEWEST and explained(prior.pairs(i, j), values) > _MUCH


def explained(cheap: NDArray[Any], values: NDArray[Any]) -> float:
    """Return the share of the variance that a cubic of the prior explains.

    Less what it would explain by chance.
    """
    y = np.asarray(values, dtype=np.float64)
    y = y / (float(np.abs(y).max(initial=0.0)) or 1.0)
    unexplained = _unexplained(cheap.astype(np.float64), y - y.mean())
    free = max(1, len(y) - _DEGREE - 1)
    return float(max(0.0, 1 - unexplained * (len(y) - 1) / free))


def pairs_of_columns(
    C: NDArray[Any], S: Indices, rng: np.random.Generator
) -> tuple[Indices, Indices, NDArray[Any]]:
    """Return pairs of landmarks' columns: some of all, then each one's most similar."""
    n, s = C.shape
    some = rng.integers(n * s, size=min(_UNIFORM, n * s))
    hidden = np.array(C)
    hidden[S, np.arange(s)] = -np.inf
    k = min(_TOP, n - 1)
    top = np.argpartition(-hidden, k - 1, axis=0)[:k]
    item = np.concatenate([some // s, top.ravel()])
    place = np.concatenate([some % s, np.tile(np.arange(s), k)])
    off = item != S[place]
    item, place = item[off], place[off]
    return item, S[place], C[item, place]


def agrees(prior: Prior, C: NDArray[Any], S: Indices) -> bool:
    """Tell whether landmarks agree that a prior says something of their columns.

    Each has a correlation of its column with the prior; their mean has to lie so many
    standard errors from 0. Entries of a column are not independent, columns are.
    """
    rows = np.setdiff1d(np.arange(len(C)), S)[:_ROWS]
    if len(S) < 3 or len(rows) < _FEWEST:
        return False
    scale = float(np.abs(C).max(initial=0.0)) or 1.0
    values = C[rows].astype(np.float64) / scale
    cheap = prior.block(rows, S).astype(np.float64)
    values, cheap = (part - part.mean(axis=0) for part in (values, cheap))
    sizes = np.sqrt(np.sum(values**2, axis=0) * np.sum(cheap**2, axis=0))
    r = np.sum(values * cheap, axis=0) / np.where(sizes > 0, sizes, np.inf)
    error = float(np.std(r, ddof=1)) / np.sqrt(len(r))
    return bool(abs(float(r.mean())) > max(_APART * error, _SAYS))


def _unexplained(cheap: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    spread = float(cheap.std())
    total = float(y @ y)
    if spread <= 1e-7 * max(1.0, abs(float(cheap.mean()))) or total == 0:
        return 1.0
    powers = np.vander((cheap - cheap.mean()) / spread, _DEGREE + 1)
    left = y - powers @ np.linalg.lstsq(powers, y, rcond=None)[0]
    return float(left @ left) / total


def _confirms(cheap: NDArray[np.float64], y: NDArray[np.float64]) -> bool:
    """Tell by an F-test whether a cubic of a prior says something of the values."""
    from scipy import special  # takes a tenth of a second

    unexplained = _unexplained(cheap, y)
    free = len(y) - _DEGREE - 1
    if unexplained <= 0:
        return True
    ratio = (1 - unexplained) / unexplained * free / _DEGREE
    return bool(special.fdtrc(_DEGREE, free, ratio) < _LEVEL)


def _not_negative(
    C: NDArray[np.float64], y: NDArray[np.float64]
) -> NDArray[np.float64] | None:
    """Return weights of sum 1 that fit best; of −y where the priors fall with it."""
    from scipy.optimize import nnls

    spread = C.std(axis=0)
    spread[spread == 0] = 1.0
    fits = [nnls(C / spread, side) for side in (y, -y)]
    best = min(fits, key=lambda fit: fit[1])[0] / spread
    total = float(best.sum())
    return None if not np.isfinite(total) or total <= 0 else np.asarray(best / total)
