"""Answers: what a contender says of any pair, and of an item's neighbors."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

import fewpairs as fp
from benchmarks.few.cosines import cosines
from benchmarks.few.reader import Partners, Reader
from benchmarks.few.sets import DataSet

__all__ = ["Answer", "Curve", "FromReads", "Ours", "calibrate"]

Array = NDArray[Any]


class Answer(Protocol):
    """What is measured of a contender."""

    @property
    def evaluations(self) -> int:
        """How many pairs were read."""

    def pairs(self, i: Array, j: Array) -> Array:
        """Return the similarity of item ``i[t]`` to item ``j[t]``, for every t."""

    def neighbors(self, rows: Array, k: int) -> Array:
        """Return the k most similar others of some items, the most similar first."""


@dataclass(frozen=True)
class Curve:
    """A cubic of the prior (or less) fitted to random pairs, within what they showed.

    Its degree is the one that predicts pairs best that are left out.
    """

    data: DataSet
    coefficients: Array
    low: float
    high: float

    def pairs(self, i: Array, j: Array) -> Array:
        """Return the values that the prior lets expect."""
        return self.of(cosines(self.data.prior, i, j))

    def of(self, prior: Array) -> Array:
        """Return the same for cosines that are known, in their precision."""
        out = np.full_like(prior, self.coefficients[0])
        for coefficient in self.coefficients[1:]:
            out *= prior
            out += prior.dtype.type(coefficient)
        return np.clip(out, self.low, self.high, out=out)


def calibrate(reader: Reader, rng: np.random.Generator, share: float = 0.05) -> Curve:
    """Read random pairs and fit the curve of the prior to them.

    Evaluations: a share of the budget, at most 2,000; at least 40 where there are.
    """
    number = min(max(40, round(share * reader.allowed)), 2_000, reader.left)
    return curve_of(reader, number, rng)


def curve_of(reader: Reader, number: int, rng: np.random.Generator) -> Curve:
    """Fit the curve to so many random pairs."""
    i, j, values = reader.draw(number, rng)
    prior = cosines(reader.data.prior, i, j)
    most = min(3, number // 10)
    losses = [_left_out(prior, values, degree) for degree in range(most + 1)]
    coefficients = np.polyfit(prior, values, int(np.argmin(losses)))
    return Curve(reader.data, coefficients, float(values.min()), float(values.max()))


def _left_out(x: Array, y: Array, degree: int) -> float:
    """Return the squared error of pairs that are left out in turn, in closed form."""
    basis, _ = np.linalg.qr(np.vander(x - x.mean(), degree + 1))
    leverage = np.minimum(np.sum(basis**2, axis=1), 1 - 1e-9)
    return float(np.sum(((y - basis @ (basis.T @ y)) / (1 - leverage)) ** 2))


@dataclass(frozen=True)
class FromReads:
    """Exact where a pair was read, predicted elsewhere.

    Neighbors are the proposed pairs by their exact values; where there are fewer than
    asked for, ``others`` (by default the prior's top) fill the list.
    """

    reader: Reader
    predict: Callable[[Array, Array], Array]
    others: Callable[[Array, int], Array] | None = None

    @property
    def evaluations(self) -> int:
        """How many pairs were read."""
        return len(self.reader.keys)

    @cached_property
    def _partners(self) -> Partners:
        return self.reader.partners()

    def pairs(self, i: Array, j: Array) -> Array:
        """Return exact values and predictions."""
        found, values = self.reader.look_up(i, j)
        return np.where(found, values, self.predict(i, j))

    def neighbors(self, rows: Array, k: int) -> Array:
        """Return what was read, the best first, then what is expected."""
        start, other, _ = self._partners
        propose = self.others or (lambda rows, k: self.reader.data.top(k)[rows])
        fill = propose(rows, 2 * k)
        out = np.empty((len(rows), k), dtype=np.int64)
        for t, row in enumerate(rows):
            read = other[start[row] : min(start[row] + k, start[row + 1])]
            rest = fill[t][~np.isin(fill[t], read)]
            out[t] = np.concatenate([read, rest])[:k]
        return out


@dataclass(frozen=True)
class Ours:
    """What fewpairs returns."""

    approx: fp.Approximation

    @property
    def evaluations(self) -> int:
        """How many pairs were read."""
        return self.approx.evaluations

    def pairs(self, i: Array, j: Array) -> Array:
        """Return exact values and predictions."""
        return np.asarray(self.approx.pairs(i, j))

    def neighbors(self, rows: Array, k: int) -> Array:
        """Return some of what ``Approximation.neighbors`` finds for all."""
        return np.asarray(self.approx.neighbors(k).indices[rows])
