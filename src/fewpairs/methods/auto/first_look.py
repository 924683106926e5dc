"""First look: what the first random pairs call for, more of them or landmarks.

A cubic of the prior, sums and products of the items' features are fitted to random
pairs by least squares. What that leaves, r, tells two things.

How much of it belongs to items: with r_ij = b_i + b_j + ε, b of variance τ² and ε of
variance σ², the mean product of what two pairs of one item leave is τ². An effect that
c pairs of an item tell has the variance σ²/(c + σ²/τ²), and a pair has two: until these
are a small part of σ², random pairs explain more of the bulk than anything else does.

Whether it is of low rank: a few landmarks are read at the items of some random pairs
alone. If products of what is left of their entries explain a good part of r, they do so
everywhere, and whole columns are worth their price.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.kernels.linalg.blas_threads import single_threaded
from fewpairs.methods.auto.item_features import item_features
from fewpairs.methods.auto.spending import Spending
from fewpairs.similarity.priors import Prior
from fewpairs.types import Indices

__all__ = ["CLOSER", "FEWEST", "FirstLook", "buy_landmarks", "crossed"]

_PAIRS = 100_000  # that are looked at, at most
_DIRECTIONS = 48  # of the items' features
_PAIRS_PER_FEATURE = 12  # at least
_RIDGE = 1e-3
_UNSURE = 0.28  # of σ², that what is not known of two items' effects may be
_MUCH = 0.25  # share of what is left that makes it of low rank
_FAR = 3.0  # standard deviations beyond which nothing is believed
_TESTED, _LEAST_TESTED = 120, 80  # pairs whose items landmarks are read at
# Landmarks that are read there; share of the budget, at most, and where the prior says
# much.
_PILOT, _PRICE, _CHEAPLY = 3, 0.05, 0.025
# Pairs per item that allow for two landmarks; landmarks for each of them, and at most,
# usually and where entries are all that counts.
_WORTH, _SHARE, _MOST = 16.0, (0.15, 0.25), (5, 8)
_USUAL = 3.0  # random pairs per item that are drawn in any case
# Share of the budget, at most, that they get: that of small budgets, and so many pairs
# per item and a share, as more of them tell little that the most similar do not.
_RANDOM, _NUMBER, _BESIDE = 0.7, 6.0, 0.07
CLOSER, FEWEST = 8.0, 500  # pairs per item, random pairs, from which on to look


def crossed(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """Return a_k·b_l + a_l·b_k for k ≤ l: what a symmetric form of a and b is made of.

    (m, s) arrays in, (m, s(s + 1)/2) out.
    """
    k, l = np.triu_indices(a.shape[1])  # noqa: E741 - as in the formula
    return np.asarray(a[:, k] * b[:, l] + a[:, l] * b[:, k])


class FirstLook:
    """A least-squares fit to random pairs, and what it leaves."""

    def __init__(
        self,
        prior: Prior,
        i: Indices,
        j: Indices,
        values: NDArray[Any],
        rng: np.random.Generator,
    ) -> None:
        self.n = prior.n
        self._prior = prior
        self._i, self._j = i[:_PAIRS], j[:_PAIRS]
        y = np.asarray(values[:_PAIRS], dtype=np.float64)
        cheap = prior.pairs(self._i, self._j).astype(np.float64)
        self._cheap = float(cheap.mean()), float(cheap.std()) or 1.0
        e = item_features(prior, _DIRECTIONS, rng)
        most = len(y) // (2 * _PAIRS_PER_FEATURE)
        self._features = None if e is None or not most else e[:, :most]
        with single_threaded():
            X = self._design(self._i, self._j)
            gram = (X.T @ X).astype(np.float64)
            ridge = _RIDGE * np.diagonal(gram) + 1e-9 * np.trace(gram)
            self._weights = np.linalg.solve(gram + np.diag(ridge), X.T @ y)
            self._left = y - X @ self._weights

    def pairs_per_item(self) -> float:
        """Return how many random pairs per item the items' effects call for."""
        ends = np.concatenate([self._i, self._j])
        left = np.tile(self._left - self._left.mean(), 2)
        total = np.bincount(ends, weights=left, minlength=self.n)
        squares = np.bincount(ends, weights=left**2, minlength=self.n)
        count = np.bincount(ends, minlength=self.n).astype(np.float64)
        both = float(np.sum(count * (count - 1)))
        if not both:
            return 0.0
        spread = float(np.sum(total**2 - squares)) / both
        noise = float(np.var(self._left)) - 2 * spread
        if spread <= 0 or noise <= 0:
            return 0.0 if spread <= 0 else 2 / _UNSURE
        return max(0.0, 2 / _UNSURE - noise / spread)

    def evaluations(self, spending: Spending, had: int) -> int:
        """Return for how much more of them to draw, beside ``had``."""
        more = max(0.0, self.pairs_per_item() - _USUAL) * self.n / 2
        per_item = spending.per_item(spending.budget / spending.calls)
        share = min(_RANDOM, _NUMBER / per_item + _BESIDE)
        allowed = share * (spending.left + had * spending.calls) - had * spending.calls
        return int(max(0.0, min(more * spending.calls, allowed)))

    def tested(
        self, landmarks: Indices, evaluations: float, most: int = _TESTED
    ) -> Indices:
        """Return items at which landmarks should be read, for so many pairs at most.

        None where these would be too few to tell anything.
        """
        some = ~(np.isin(self._i, landmarks) | np.isin(self._j, landmarks))
        self._some = np.flatnonzero(some)[
            : min(most, int(evaluations / (2 * len(landmarks))))
        ]
        if len(self._some) < _LEAST_TESTED:
            return np.empty(0, dtype=np.int64)
        return np.unique(np.concatenate([self._i[self._some], self._j[self._some]]))

    def is_low_rank(
        self, items: Indices, landmarks: Indices, entries: NDArray[Any]
    ) -> bool:
        """Tell whether entries at landmarks explain much of what is left of pairs.

        Their products, beyond their sums, which items' effects explain as well.
        """
        s = len(landmarks)
        at = np.repeat(items, s), np.tile(landmarks, len(items))
        said = self._design(*at) @ self._weights
        g = _bounded(np.asarray(entries, dtype=np.float64) - said.reshape(-1, s))
        place = np.full(self.n, -1)
        place[items] = np.arange(len(items))
        a, b = (g[place[ends[self._some]]] for ends in (self._i, self._j))
        left = _bounded(self._left[self._some][:, None])[:, 0]
        ones = np.ones((len(left), 1))
        before = _missed(np.hstack([ones, a + b]), left)
        after = _missed(np.hstack([ones, a + b, crossed(a, b)]), left)
        return bool(after < (1 - _MUCH) * before)

    def _design(self, i: Indices, j: Indices) -> NDArray[np.float32]:
        center, scale = self._cheap
        t = (self._prior.pairs(i, j).astype(np.float32) - center) / scale
        parts = [np.vander(t, 4, increasing=True).astype(np.float32)]
        e = self._features
        if e is not None:
            a, b = np.take(e, i, axis=0), np.take(e, j, axis=0)
            parts += [a + b, a * b * np.float32(math.sqrt(e.shape[1]))]
        return np.hstack(parts)


def _bounded(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return columns of mean 0 and spread 1, without what is far out."""
    values = values - values.mean(axis=0)
    values /= np.maximum(values.std(axis=0), 1e-12)
    return np.clip(values, -_FAR, _FAR)


def _missed(X: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """Return the mean square that is left, as if of pairs that were not fitted to."""
    left = y - X @ np.linalg.lstsq(X, y, rcond=None)[0]
    free = max(1, len(y) - X.shape[1])
    return float(np.sum(left**2) / free)


def buy_landmarks(
    look: FirstLook,
    spending: Spending,
    per_item: float,
    *,
    entries: bool = False,
    cheaply: bool = False,
) -> tuple[Indices, Indices]:
    """Buy landmarks where what the look leaves is of low rank.

    Returns the pairs that were read to find out. None are where there are landmarks
    already, or where two would be a large part of the budget. ``entries``: whether
    these are all that counts.
    """
    none = np.empty(0, dtype=np.int64)
    if len(spending.landmarks) or per_item < _WORTH:
        return none, none
    S, calls = spending.next_landmarks(_PILOT), spending.calls
    price, most = (_CHEAPLY, _LEAST_TESTED) if cheaply else (_PRICE, _TESTED)
    items = look.tested(S, price * spending.budget / calls, most)
    if not len(items):
        return none, none
    i, j = np.repeat(items, len(S)), np.tile(S, len(items))
    values = spending.read(i, j).reshape(-1, len(S))
    if look.is_low_rank(items, S, values):
        number = min(max(2, round(_SHARE[entries] * per_item)), _MOST[entries])
        spending.buy_landmarks(spending.oracle.cost.lines(number))
        # What was read of their columns is not paid for twice.
        again = len(items) * int(np.isin(S, spending.landmarks).sum())
        spending.left += again * calls
    return i, j
