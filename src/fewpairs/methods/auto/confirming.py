"""Confirming: whether what was read says that a prior is worth anything."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.matrix.entries import Entries
from fewpairs.methods.auto.item_features import item_features
from fewpairs.methods.auto.spending import Spending
from fewpairs.similarity.priors import Prior
from fewpairs.types import Indices

__all__ = ["confirms", "tops_of", "tops_stand_out"]

_POWERS = 3  # of the prior
_TESTED = 10  # features of the items
_LEVEL = 1e-3  # of the tests
_TOPS = 60  # of the prior's first pairs, where random ones do not confirm it


def confirms(
    prior: Prior,
    i: Indices,
    j: Indices,
    values: NDArray[Any],
    rng: np.random.Generator,
) -> bool:
    """Tell whether random pairs confirm that a prior says something of their values.

    An F-test at the level of 0.001: its powers and sums of the items' features against
    the mean alone, of values and of their ranks.
    """
    cheap = prior.pairs(i, j).astype(np.float64)
    t = (cheap - cheap.mean()) / (float(cheap.std()) or 1.0)
    parts = [np.vander(t, _POWERS + 1, increasing=True)]
    e = item_features(prior, _TESTED, rng)
    if e is not None:
        parts.append((e[i] + e[j]).astype(np.float64))
    X = np.hstack(parts)
    # Ranks too: a few large values can hide what the prior says of all others.
    aims = np.asarray(values, dtype=np.float64), _ranks(values)
    return min(_chance(X, aim) for aim in aims) < _LEVEL / len(aims)


def _chance(X: NDArray[np.float64], values: NDArray[np.float64]) -> float:
    """Return how likely features explain as much that have nothing to do with it."""
    from scipy import special  # takes a tenth of a second

    y = values - float(np.mean(values))
    total = float(y @ y)
    if total == 0:
        return 1.0
    left = y - X @ np.linalg.lstsq(X, y, rcond=None)[0]
    unexplained = float(left @ left) / total
    features, free = X.shape[1] - 1, len(y) - X.shape[1]
    if unexplained <= 0:
        return 0.0
    ratio = (1 - unexplained) / unexplained * free / features
    return float(special.fdtrc(features, free, ratio))


def _ranks(values: NDArray[Any]) -> NDArray[np.float64]:
    """Return ranks, the mean of theirs for equal values."""
    _, place, number = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(number)
    return np.asarray((last - (number - 1) / 2)[place], dtype=np.float64)


def tops_of(prior: Prior, spending: Spending) -> tuple[Indices, Indices, NDArray[Any]]:
    """Buy what the prior puts first of a few items; return pairs and values."""
    n = spending.n
    items, others = _new_seekers(spending.oracle.read)
    most = int(0.1 * spending.left) // spending.calls
    number = min(_TOPS, most, (len(items) + 1) // 2)
    if not number:
        return items[:0], items[:0], np.empty(0)
    i = items[np.sort(spending.rng.permutation(len(items))[:number])]
    cheap = prior.block(i, others).astype(np.float32)
    cheap[i[:, None] == others] = -np.inf
    j = others[cheap.argmax(axis=1)]
    keys = np.unique(np.minimum(i, j) * n + np.maximum(i, j))
    i, j = keys // n, keys % n
    unread = spending.oracle.read.unread(i, j)
    i, j = i[unread], j[unread]
    return i, j, spending.read(i, j)


def _new_seekers(read: Entries) -> tuple[Indices, Indices]:
    """Return items and partners with whom each of them may still be read."""
    items, others = read.seekers
    if read.earlier is None:
        return items, others
    if not read.earlier.new_of(read)[0]:  # of two sets, right ones alone are new
        return items, others[~read.is_old(others)]
    return items[~read.is_old(items)], others


def tops_stand_out(
    tops: NDArray[Any], values: NDArray[Any], level: float = _LEVEL
) -> bool:
    """Tell whether pairs that a prior puts first lie above random ones.

    A rank-sum test (Mann and Whitney 1947), one-sided.
    """
    from scipy import special

    m, n = len(tops), len(values)
    if not m or not n:
        return False
    ranks = _ranks(np.concatenate([tops, values]))
    above = float(ranks[:m].sum()) - m * (m + 1) / 2 - m * n / 2
    _, number = np.unique(ranks, return_counts=True)
    ties = (
        float(np.sum(number.astype(np.float64) ** 3 - number)) / (m + n) / (m + n - 1)
    )
    spread = np.sqrt(m * n / 12 * max(m + n + 1 - ties, 1e-9))
    return bool(special.ndtr(-above / spread) < level)
