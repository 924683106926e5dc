"""Layered: a prior, a low rank and a student, under ceilings, in one answer."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewpairs.model.curve import Curve
from fewpairs.model.factors import Factors
from fewpairs.model.student import Student
from fewpairs.model.training_pairs import PairInputs
from fewpairs.similarity.priors import Prior
from fewpairs.types import Indices

__all__ = ["Guard", "Layered"]

_BLOCK = 1 << 22  # entries predicted at once


class Guard(NamedTuple):
    """What keeps a prediction sane: offset + slope·prediction, within bounds."""

    offset: float = 0.0
    slope: float = 1.0
    low: float = -np.inf
    high: float = np.inf

    def apply(self, values: NDArray[Any]) -> NDArray[Any]:
        """Apply it, in place."""
        if self.slope != 1.0 or self.offset != 0.0:
            values *= values.dtype.type(self.slope)
            values += values.dtype.type(self.offset)
        if self.low > -np.inf or self.high < np.inf:
            np.clip(values, self.low, self.high, out=values)
        return values


NO_GUARD = Guard()


@dataclass(frozen=True, eq=False)
class Layered(Factors):
    """K ≈ guard(f(prior) + left @ right.T), or guard(student), under ceilings.

    Attributes
    ----------
    prior, curve
        A cheap similarity, and the curve that takes it to K's scale.
    student
        Answers in place of prior and low rank where it is there; both are its inputs.
    guard
        Shrinks towards the mean what held-out pairs do not confirm, and clips.
    ceilings
        No unread pair of an item is taken to lie above what refinement, which goes
        from the top down, found of it last.
    feature_signs
        ±1 for each column of ``features``.
    proposer
        The caller's prior, used in predictions or not: it guides searches.
    """

    prior: Prior | None = None
    curve: Curve | None = None
    student: Student | None = None
    guard: Guard = NO_GUARD
    ceilings: NDArray[np.float32] | None = None
    feature_signs: NDArray[Any] | None = None
    proposer: Prior | None = None

    @property
    def feature_signature(self) -> NDArray[Any] | None:
        """±1 for each column of ``features``."""
        return self.signature if self.feature_signs is None else self.feature_signs

    def predict(self, i: Indices, j: Indices) -> NDArray[Any]:
        """Return the prediction of every pair (i[t], j[t])."""
        out = self.guard.apply(self.before_guard(i, j))
        if self.ceilings is not None:
            np.minimum(out, self.ceilings[i], out=out)
            np.minimum(out, self.ceilings[j], out=out)
        return out

    def block(self, rows: Indices, columns: Indices) -> NDArray[Any]:
        """Return the predictions of all rows with all columns."""
        out = np.empty((len(rows), len(columns)), dtype=self.left.dtype)
        step = max(1, _BLOCK // max(1, len(columns)))
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            out[part] = self._small_block(rows[part], columns)
        return out

    def times(self, x: NDArray[Any]) -> NDArray[Any]:
        """Return the product of the predictions with x, block by block."""
        everything = np.arange(len(self.left))
        step = max(1, _BLOCK // max(1, len(everything)))
        parts = [
            self._small_block(everything[start : start + step], everything) @ x
            for start in range(0, len(everything), step)
        ]
        return np.concatenate(parts)

    def row_norms(self, rows: Indices) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return equal norms: clipped predictions cannot explode anywhere."""
        return np.ones(len(rows)), np.ones(len(rows))

    def before_guard(self, i: Indices, j: Indices) -> NDArray[Any]:
        """Return the bare prediction of pairs."""
        idle = self.curve is None and self.student is None
        if idle:  # a prior that only proposes is not asked
            return super().predict(i, j)
        inputs = self.inputs(i, j)
        if self.student is None:
            return inputs.base
        return self.student.score(inputs).astype(inputs.base.dtype, copy=False)

    def inputs(self, i: Indices, j: Indices) -> PairInputs:
        """Return what prior and low rank say of pairs."""
        cheap = None if self.prior is None else self.prior.pairs(i, j)
        out = super().predict(i, j)
        if self.curve is not None and cheap is not None:
            out += self.curve(cheap).astype(out.dtype, copy=False)
        return PairInputs(i, j, out, cheap)

    def base_block(
        self, rows: Indices, columns: Indices
    ) -> tuple[NDArray[Any], NDArray[Any] | None]:
        """Return prior and low rank together, and the prior alone."""
        cheap = None if self.prior is None else self.prior.block(rows, columns)
        out = super().block(rows, columns)
        if self.curve is not None and cheap is not None:
            out += self.curve(cheap).astype(out.dtype, copy=False)
        return out, cheap

    def bare(self) -> Factors:
        """Return the low-rank part alone."""
        return Factors(self.left, self.landmarks, self.words, signature=self.signature)

    def lean(self) -> "Layered":
        """Return the same without a prior that no prediction needs."""
        idle = self.curve is None and self.student is None
        return replace(self, prior=None) if idle else self

    def with_ceilings(self, ceilings: NDArray[np.float32]) -> "Layered":
        """Return the same, with no prediction of an item above its ceiling."""
        return replace(self, ceilings=ceilings)

    def with_student(self, student: Student) -> "Layered":
        """Return the same, answered by a student."""
        return replace(self, student=student)

    def _small_block(self, rows: Indices, columns: Indices) -> NDArray[Any]:
        out, cheap = self.base_block(rows, columns)
        if self.student is not None:
            scored = self.student.block(rows, columns, out, cheap)
            out = scored.astype(out.dtype, copy=False)
        out = self.guard.apply(out)
        if self.ceilings is not None:
            np.minimum(out, self.ceilings[rows][:, None], out=out)
            np.minimum(out, self.ceilings[columns][None, :], out=out)
        return out
