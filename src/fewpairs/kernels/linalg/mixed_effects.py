"""Least squares on scattered pairs with an effect of every item.

For pairs (i, j) with features x and a value y,

    y = x·β + b_i + b_j + ε,   β_k ~ N(0, ρ_g²),  b_i ~ N(0, τ²),  ε ~ N(0, σ²),

with g the group of feature k,

a mixed-effects model (Henderson 1975, "Best linear unbiased estimation and prediction
under a selection model"): an item with many pairs gets the effect that they show, one
with few pairs an effect near 0, and a group of features that says little gets weights
near 0. σ², τ² and ρ² are found by expectation-maximization.
"""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fewpairs.types import Indices

__all__ = ["Effects", "MixedEffects"]

_TURNS = 8  # of expectation-maximization
_STEPS, _SMALL = 60, 1e-8  # of conjugate gradients, and the residual that ends them
_LEAST = 1e-4  # variance, as a share of that of the values, that noise has at least


@dataclass(frozen=True, eq=False)
class Effects:
    """What was fitted.

    Attributes
    ----------
    weights
        β.
    items
        b, an effect per item.
    noise, spread
        σ² and τ².
    """

    weights: NDArray[np.float64]
    items: NDArray[np.float64]
    noise: float
    spread: float


@final
class MixedEffects:
    """Gathers pairs part by part, then solves for β and b.

    Memory: n·p numbers for p features, and two per pair. Time: p² per pair once, then a
    product of an n×n matrix of two entries per pair with a vector for every step.
    Values should have variance 1.

    Parameters
    ----------
    n
        Number of items.
    groups
        The group of every feature, from 0 on; −1: its weight is not shrunk.
    """

    def __init__(self, n: int, groups: Indices) -> None:
        features = len(groups)
        self._n, self._groups = n, groups
        self._gram = np.zeros((features, features))
        self._moment = np.zeros(features)
        self._by_item = np.zeros((n, features))
        self._total = np.zeros(n)
        self._square, self._pairs = 0.0, 0
        self._ends: list[tuple[Indices, Indices]] = []

    def add(self, X: NDArray[Any], i: Indices, j: Indices, y: NDArray[Any]) -> None:
        """Take (m, p) features of pairs and their values."""
        m = len(y)
        self._gram += (X.T @ X).astype(np.float64)
        self._moment += (X.T @ y.astype(X.dtype)).astype(np.float64)
        ones, at = np.ones(m, dtype=X.dtype), np.arange(m)
        for ends in (i, j):
            # Only items of this part: all of them for every part would be n².
            items, place = np.unique(ends, return_inverse=True)
            incidence = sparse.csr_array((ones, (place, at)), shape=(len(items), m))
            self._by_item[items] += incidence @ X
            self._total[items] += np.bincount(place, weights=y)
        self._square += float(np.sum(y.astype(np.float64) ** 2))
        self._pairs += m
        self._ends.append((i, j))

    def solve(self) -> Effects:
        """Return β and b with the variances that the pairs call for."""
        i = np.concatenate([part[0] for part in self._ends])
        j = np.concatenate([part[1] for part in self._ends])
        shape = (self._n, self._n)
        ones = np.ones(len(i), dtype=np.float32)
        once: Any = sparse.csr_array((ones, (i, j)), shape=shape)
        beside = sparse.csr_array(once + once.T)
        count = np.bincount(i, minlength=self._n) + np.bincount(j, minlength=self._n)
        noise, spread = 0.3, 0.3
        variance = np.ones(max(0, int(self._groups.max(initial=-1)) + 1))
        weights, b = np.zeros(len(self._moment)), np.zeros(self._n)
        for _ in range(_TURNS):
            inverse = self._inverse(noise, variance)
            weights, b = self._solve(count, beside, inverse, noise / spread, b)
            kept = count / (count + noise / spread)
            error = self._error(weights, b, count, beside)
            used = len(weights) - self._shrunk(noise, variance, inverse)
            free = self._pairs - kept.sum() - min(used, 0.5 * self._pairs)
            variance = self._variances(weights, noise * np.diagonal(inverse))
            noise = max(error / max(free, 0.2 * self._pairs), _LEAST)
            seen = count > 0
            unsure = noise / (count + noise / spread)
            spread = max(float(np.mean((b**2 + unsure)[seen])), _LEAST)
        return Effects(weights, b, noise, spread)

    def _inverse(
        self, noise: float, variance: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return (XᵀX + σ²/ρ²)⁻¹."""
        ridged = self._gram + np.diag(self._penalty(noise, variance))
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
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Solve for b by conjugate gradients, β taken out exactly."""
        N = self._by_item
        diagonal = count + ridge

        def times(b: NDArray[np.float64]) -> NDArray[np.float64]:
            return diagonal * b + beside @ b - N @ (inverse @ (N.T @ b))

        aim = self._total - N @ (inverse @ self._moment)
        b = start.copy()
        residual = aim - times(b)
        step = residual / diagonal
        size = float(residual @ step)
        enough = _SMALL * float(aim @ (aim / diagonal))
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
        return inverse @ (self._moment - N.T @ b), b

    def _error(
        self,
        weights: NDArray[np.float64],
        b: NDArray[np.float64],
        count: NDArray[Any],
        beside: Any,
    ) -> float:
        """Return the sum of squared residuals, from the moments alone."""
        fitted = weights @ (self._gram @ weights) + 2 * weights @ (self._by_item.T @ b)
        fitted += float(b @ (count * b + beside @ b))
        crossed = 2 * (weights @ self._moment + b @ self._total)
        return max(float(self._square + fitted - crossed), 0.0)
