"""Ranking: a ridge regression that learns from refined pairs which others matter."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.similarity.base import Indices

__all__ = ["Ranking"]

_RIDGE = 1e-3
_PAIRS = 60_000  # that a fit looks at
_CHUNK = 1 << 13  # pairs whose features stay in the cache


class Ranking:
    """Predict K from prior and low rank together (b), the prior alone (c) and items.

    Features of a pair: 1, b, b², and with a prior c, c², c³, bc; and, where vectors of
    the items are given, their elementwise product. Refined pairs lie at the top, where
    prior and low rank are biased; uniform ones hold the rest in place.

    Parameters
    ----------
    vectors
        (n, d) features of the items, or ``None``.
    """

    def __init__(self, vectors: NDArray[np.float32] | None) -> None:
        self._vectors = vectors

    def fit(  # noqa: PLR0917
        self,
        i: Indices,
        j: Indices,
        base: NDArray[Any],
        cheap: NDArray[Any] | None,
        values: NDArray[Any],
        weights: NDArray[Any],
        rng: np.random.Generator,
    ) -> None:
        """Fit to pairs of known value."""
        some = rng.permutation(len(i))[:_PAIRS]
        i, j, base = i[some], j[some], base[some]
        values, weights = values[some].astype(np.float64), weights[some]
        cheap = None if cheap is None else cheap[some]
        self._base = _scale(base)
        if cheap is not None:
            self._cheap = _scale(cheap)
        self._scalars = 3 if cheap is None else 7
        self._value = _scale(values)
        targets = ((values - self._value[0]) / self._value[1]).astype(np.float32)
        gram: NDArray[Any] = np.zeros(())
        moment: NDArray[Any] = np.zeros(())
        for start in range(0, len(i), _CHUNK):
            part = slice(start, start + _CHUNK)
            F = self._features(
                i[part], j[part], base[part], None if cheap is None else cheap[part]
            )
            weighted = F * weights[part, None].astype(np.float32)
            gram = gram + (weighted.T @ F).astype(np.float64)
            moment = moment + (weighted.T @ targets[part]).astype(np.float64)
        ridge = _RIDGE * np.diagonal(gram).copy()
        ridge[len(ridge) - self._scalars] = 0.0  # the constant
        tiny = 1e-12 * float(np.trace(gram))
        solved = np.linalg.solve(gram + np.diag(ridge + tiny), moment)
        self._coefficients = solved.astype(np.float32)

    def score(
        self, i: Indices, j: Indices, base: NDArray[Any], cheap: NDArray[Any] | None
    ) -> NDArray[np.float32]:
        """Return predictions on the scale of the values."""
        out = np.empty(len(i), dtype=np.float32)
        for start in range(0, len(i), _CHUNK):
            part = slice(start, start + _CHUNK)
            F = self._features(
                i[part], j[part], base[part], None if cheap is None else cheap[part]
            )
            out[part] = F @ self._coefficients
        return out * np.float32(self._value[1]) + np.float32(self._value[0])

    def _features(
        self, i: Indices, j: Indices, base: NDArray[Any], cheap: NDArray[Any] | None
    ) -> NDArray[np.float32]:
        b = ((base - self._base[0]) / self._base[1]).astype(np.float32)
        columns = [np.ones_like(b), b, b * b]
        if cheap is not None:
            c = ((cheap - self._cheap[0]) / self._cheap[1]).astype(np.float32)
            columns += [c, c * c, c * c * c, b * c]
        scalars = np.stack(columns, axis=1)
        if self._vectors is None:
            return scalars
        d = self._vectors.shape[1]
        out = np.empty((len(i), scalars.shape[1] + d), dtype=np.float32)
        out[:, d:] = scalars
        np.multiply(self._vectors[i], self._vectors[j], out=out[:, :d])
        return out


def _scale(values: NDArray[Any]) -> tuple[float, float]:
    """Return mean and spread; in float64: squares of float32 may leave its range."""
    wide = values.astype(np.float64)
    return float(wide.mean()), float(wide.std()) or 1.0
