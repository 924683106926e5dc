"""Least squares on scattered pairs with an effect of every item.

For pairs (i, j) with features x and a value y,

    y = x·β + b_i + b_j + ε,   β_k ~ N(0, ρ_g²),  b_i ~ N(0, τ²),  ε ~ N(0, σ²),

with g the group of feature k,

a mixed-effects model (Henderson 1975, "Best linear unbiased estimation and prediction
under a selection model"): an item with many pairs gets the effect that they show, one
with few pairs an effect near 0, and a group of features that says little gets weights
near 0. σ², τ² and ρ² are found by expectation-maximization. It moves slowly to a small
τ²; where that is likely, MacKay's fixed point (1992, "Bayesian interpolation") finds
it: Σ b² divided by how many effects the pairs tell.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fewpairs.kernels.linalg.blas_threads import in_threads, single_threaded
from fewpairs.types import Indices

__all__ = ["Effects", "MixedEffects"]

_TURNS = 8  # of finding variances
_STEPS = 60  # of conjugate gradients
_SMALL, _ABOUT = 1e-8, 1e-5  # squared residuals that end them, and all but the last
_LEAST = 1e-4  # variance, as a share of that of the values, that noise has at least
_PAIRS = 1 << 14  # whose features are made at once
_AT_ONCE = 16  # such parts, in threads, before their sums are added up
_MANY = 20_000  # items whose products are worth several threads


@dataclass(frozen=True, eq=False)
class Effects:
    """What was fitted.

    Attributes
    ----------
    weights
        β.
    items
        b, an effect per item.
    noise, spread, variances
        σ², τ², and ρ² of every group.
    """

    weights: NDArray[np.float64]
    items: NDArray[np.float64]
    noise: float
    spread: float
    variances: NDArray[np.float64]


class _Sums(NamedTuple):
    """What one part of the pairs adds."""

    gram: NDArray[Any]
    moment: NDArray[Any]
    square: float
    by_item: list[tuple[Indices, NDArray[Any], NDArray[Any]]]


@final
class MixedEffects:
    """Gathers pairs part by part, then solves for β and b.

    Memory: n·p numbers for p features, in single precision, and two per pair. Time: p²
    per pair once, then a product of an n×n matrix of two entries per pair with a vector
    for every step.
    Values should have variance 1.

    Parameters
    ----------
    n
        Number of items.
    groups
        The group of every feature, from 0 on; −1: its weight is not shrunk.
    device
        Where torch multiplies what is of order n with vectors; ``None``: the cores do.
    small
        Whether effects are likely small: then τ² is found quickly, else by steps that
        stay near that of large effects where few pairs tell of any.
    """

    def __init__(
        self,
        n: int,
        groups: Indices,
        device: str | None = None,
        *,
        small: bool = False,
    ) -> None:
        features = len(groups)
        self._n, self._groups, self._device = n, groups, device
        self._small = small
        self._gram = np.zeros((features, features))
        self._moment = np.zeros(features)
        self._by_item: Any = np.zeros((n, features), dtype=np.float32)
        self._total = np.zeros(n)
        self._square, self._pairs = 0.0, 0
        self._ends: list[tuple[Indices, Indices]] = []

    def add(
        self,
        design: Callable[[slice], NDArray[Any]],
        i: Indices,
        j: Indices,
        y: NDArray[Any],
    ) -> None:
        """Take pairs and their values; ``design`` makes the (m, p) features of some.

        On all cores; sums are added up in the order of the pairs, so that they are the
        same on any number of them.
        """
        parts = [slice(start, start + _PAIRS) for start in range(0, len(y), _PAIRS)]
        for first in range(0, len(parts), _AT_ONCE):
            found: dict[int, _Sums] = {}

            def look(at: int, into: dict[int, _Sums] = found) -> None:
                part = parts[at]
                into[at] = _sums(design(part), i[part], j[part], y[part])

            some = range(first, min(first + _AT_ONCE, len(parts)))
            in_threads(look, some)
            self._take([found[at] for at in some])
        self._pairs += len(y)
        self._ends.append((i, j))

    def _take(self, several: list[_Sums]) -> None:
        for sums in several:
            self._gram += sums.gram
            self._moment += sums.moment
            self._square += sums.square
        step = -(-self._n // _AT_ONCE)

        def take(first: int) -> None:
            for sums in several:
                for items, features, total in sums.by_item:
                    low, high = np.searchsorted(items, [first, first + step])
                    where = items[low:high]
                    self._by_item[where] += features[low:high]
                    self._total[where] += total[low:high]

        in_threads(take, range(0, self._n, step))

    def solve(self, start: Effects | None = None) -> Effects:
        """Return β and b with the variances that the pairs call for.

        ``start``: what was found with fewer features, to go on from.
        """
        if self._n > _MANY:
            return self._solved(start)
        with single_threaded():  # threads would wait for each other at every step
            return self._solved(start)

    def _solved(self, start: Effects | None) -> Effects:
        i = np.concatenate([part[0] for part in self._ends])
        j = np.concatenate([part[1] for part in self._ends])
        beside = self._beside(i, j)
        count = np.bincount(i, minlength=self._n) + np.bincount(j, minlength=self._n)
        noise, spread, turns = 0.3, 0.3, _TURNS
        variance = np.ones(max(0, int(self._groups.max(initial=-1)) + 1))
        weights, b = np.zeros(len(self._moment)), np.zeros(self._n)
        if start is not None:
            noise, spread, b = start.noise, start.spread, start.items
            variance[: len(start.variances)] = start.variances
            turns = _TURNS // 2
        for turn in range(turns):
            inverse = self._inverse(noise, variance)
            # The variances of the next turn need no more than that b is about right.
            small = _SMALL if turn == turns - 1 else _ABOUT
            weights, b = self._solve(count, beside, inverse, noise / spread, b, small)
            kept = count / (count + noise / spread)
            error = self._error(weights, b, count, beside)
            used = len(weights) - self._shrunk(noise, variance, inverse)
            free = self._pairs - kept.sum() - min(used, 0.5 * self._pairs)
            variance = self._variances(weights, noise * np.diagonal(inverse))
            noise = max(error / max(free, 0.2 * self._pairs), _LEAST)
            seen = count > 0
            unsure = noise / (count + noise / spread)
            squares = b[seen] ** 2
            if self._small:
                told = float(np.sum((1 - unsure / spread)[seen]))
                spread = max(float(squares.sum()) / max(told, 1.0), _LEAST)
            else:
                spread = max(float(np.mean(squares + unsure[seen])), _LEAST)
        return Effects(weights, b, noise, spread, variance)

    def _beside(self, i: Indices, j: Indices) -> Any:
        """Return the matrix of the pairs; take both to the device, if any."""
        if self._device is not None:
            from fewpairs.kernels.linalg import products_torch as there

            self._by_item = there.DenseOnDevice(self._by_item, self._device)
            return there.PartnersOnDevice(self._n, i, j, self._device)
        ones = np.ones(len(i), dtype=np.float32)
        shape = (self._n, self._n)
        once: Any = sparse.csr_array((ones, (i, j)), shape=shape)
        return sparse.csr_array(once + once.T)

    def _inverse(
        self, noise: float, variance: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return (XᵀX + σ²/ρ²)⁻¹."""
        ridged = self._gram + np.diag(self._penalty(noise, variance))
        with single_threaded():
            return np.asarray(np.linalg.inv(ridged), dtype=np.float64)

    def _penalty(
        self, noise: float, variance: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        free = np.full(len(self._groups), 1e-6 * noise)
        shrunk = self._groups >= 0
        free[shrunk] = noise / variance[self._groups[shrunk]]
        return free

    def _shrunk(
        self,
        noise: float,
        variance: NDArray[np.float64],
        inverse: NDArray[np.float64],
    ) -> float:
        """Return how many weights the penalty takes away, of all."""
        return float(self._penalty(noise, variance) @ np.diagonal(inverse))

    def _variances(
        self, weights: NDArray[np.float64], unsure: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return ρ² of every group."""
        number = int(self._groups.max(initial=-1)) + 1
        out = np.ones(number)
        for group in range(number):
            where = self._groups == group
            if where.any():
                mean = float(np.mean(weights[where] ** 2 + unsure[where]))
                out[group] = max(mean, _LEAST**2)
        return out

    def _solve(
        self,
        count: NDArray[Any],
        beside: Any,
        inverse: NDArray[np.float64],
        ridge: float,
        start: NDArray[np.float64],
        small: float,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Solve for b by conjugate gradients, β taken out exactly."""
        N = self._by_item
        diagonal = count + ridge

        def times(b: NDArray[np.float64]) -> NDArray[np.float64]:
            told = inverse @ (N.T @ b.astype(N.dtype, copy=False))
            return diagonal * b + beside @ b - N @ told.astype(N.dtype, copy=False)

        aim = self._total - N @ (inverse @ self._moment).astype(N.dtype)
        b = start.copy()
        residual = aim - times(b)
        step = residual / diagonal
        size = float(residual @ step)
        enough = small * float(aim @ (aim / diagonal))
        for _ in range(_STEPS):
            if size <= enough:
                break
            moved = times(step)
            length = size / float(step @ moved)
            b += length * step
            residual -= length * moved
            scaled = residual / diagonal
            before, size = size, float(residual @ scaled)
            step = scaled + (size / before) * step
        return inverse @ (self._moment - N.T @ b.astype(N.dtype)), b

    def _error(
        self,
        weights: NDArray[np.float64],
        b: NDArray[np.float64],
        count: NDArray[Any],
        beside: Any,
    ) -> float:
        """Return the sum of squared residuals, from the moments alone."""
        N = self._by_item
        fitted = weights @ (self._gram @ weights)
        fitted += 2 * weights @ (N.T @ b.astype(N.dtype))
        fitted += float(b @ (count * b + beside @ b))
        crossed = 2 * (weights @ self._moment + b @ self._total)
        return max(float(self._square + fitted - crossed), 0.0)


def _sums(X: NDArray[Any], i: Indices, j: Indices, y: NDArray[Any]) -> _Sums:
    """Return what pairs add, by item only for the items that they are of."""
    m = len(y)
    ones, at = np.ones(m, dtype=X.dtype), np.arange(m)
    by_item = []
    for ends in (i, j):
        items, place = np.unique(ends, return_inverse=True)
        incidence = sparse.csr_array((ones, (place, at)), shape=(len(items), m))
        by_item.append((items, incidence @ X, np.bincount(place, weights=y)))
    square = float(np.sum(y.astype(np.float64) ** 2))
    gram, moment = X.T @ X, X.T @ y.astype(X.dtype)
    return _Sums(gram.astype(np.float64), moment.astype(np.float64), square, by_item)
