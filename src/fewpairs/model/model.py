"""Model: what answers the pairs that were not read."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.model.blend import Blend
from fewpairs.model.correction import Correction
from fewpairs.model.curve import Curve
from fewpairs.model.guard import Guard
from fewpairs.model.low_rank import LowRank
from fewpairs.model.pair_inputs import BlockInputs, PairInputs
from fewpairs.model.student import Student
from fewpairs.similarity.priors import Prior
from fewpairs.types import Indices

__all__ = ["Model"]

_BLOCK = 1 << 22  # entries predicted at once


@dataclass(frozen=True, eq=False)
class Model:
    """K ≈ guard(correction(curve(prior) + low rank)), or its blend with a student.

    Every method returns one. Each component but the low rank is optional, and the low
    rank may be of rank 0. A component that answers in place of prior and low rank, as
    the student does, is asked by ``pairs`` and ``block`` with what they predict.

    Attributes
    ----------
    low_rank
        left @ right.T.
    landmarks
        Items whose full row or column was read.
    words
        What was done and why, for the receipt.
    prior, curve
        A cheap similarity, and the curve that takes it to K's scale.
    correction
        Bends what prior and low rank predict to what was read.
    student
        Answers in place of them where it is there; prior and low rank are its inputs.
    blend
        How far the student answers and how far the correction does, by region;
        ``None``: the student alone.
    guard
        Shrinks towards the mean what held-out pairs do not confirm, and clips.
    ceilings
        No unread pair of an item is taken to lie above what refinement, which goes
        from the top down, found of it last.
    proposer
        The caller's prior, used in predictions or not: it guides searches.
    features, feature_signs
        (n, k) features of the items for classifiers, clustering and plots, and ±1 for
        each of their columns; those of the low rank if not given.
    exact
        Whether answers take the known entries instead of the model. Only the best-rank
        yardstick, which has read everything, says no.
    """

    low_rank: LowRank
    landmarks: Indices
    words: str
    prior: Prior | None = None
    curve: Curve | None = None
    correction: Correction | None = None
    student: Student | None = None
    blend: Blend | None = None
    guard: Guard | None = None
    ceilings: NDArray[np.float32] | None = None
    proposer: Prior | None = None
    features: NDArray[Any] = None  # type: ignore[assignment]
    feature_signs: NDArray[Any] | None = None
    exact: bool = True

    def __post_init__(self) -> None:
        if self.features is None:
            object.__setattr__(self, "features", self.low_rank.left)
        self.features.flags.writeable = False

    # --- what it is made of ------------------------------------------------------

    @property
    def n(self) -> int:
        """Number of items."""
        return len(self.low_rank.left)

    @property
    def left(self) -> NDArray[Any]:
        """(n, r) array of the low rank."""
        return self.low_rank.left

    @property
    def right(self) -> NDArray[Any]:
        """(n, r) array of the low rank."""
        return self.low_rank.right

    @property
    def is_low_rank(self) -> bool:
        """Whether the low rank is all there is."""
        others = (self.prior, self.curve, self.correction, self.student, self.guard)
        return all(component is None for component in (*others, self.ceilings))

    @property
    def signature(self) -> NDArray[Any] | None:
        """±1 for each column of ``features``; ``None`` where they are one-sided."""
        if self.feature_signs is None:
            return self.low_rank.signature
        return self.feature_signs

    def bare(self) -> "Model":
        """Return the low-rank part alone."""
        if self.is_low_rank:
            return self
        low_rank = LowRank(self.left, signature=self.low_rank.signature)
        return Model(low_rank, self.landmarks, self.words)

    def lean(self) -> "Model":
        """Return the same without a prior that no prediction needs."""
        used = (self.curve, self.correction, self.student)
        idle = all(component is None for component in used)
        return replace(self, prior=None) if idle else self

    # --- what it answers -----------------------------------------------------------

    def pairs(self, i: Indices, j: Indices) -> NDArray[Any]:
        """Return the prediction of every pair (i[t], j[t])."""
        out = self.before_guard(i, j)
        if self.guard is not None:
            out = self.guard.apply(out)
        if self.ceilings is not None:
            np.minimum(out, self.ceilings[i], out=out)
            np.minimum(out, self.ceilings[j], out=out)
        return out

    def block(self, rows: Indices, columns: Indices) -> NDArray[Any]:
        """Return the predictions of all rows with all columns."""
        if self.is_low_rank:
            return self.low_rank.block(rows, columns)
        out = np.empty((len(rows), len(columns)), dtype=self.left.dtype)
        step = max(1, _BLOCK // max(1, len(columns)))
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            out[part] = self._small_block(rows[part], columns)
        return out

    def times(self, x: NDArray[Any]) -> NDArray[Any]:
        """Return the product of the predictions with x, block by block."""
        if self.is_low_rank:
            return self.low_rank.times(x)
        everything = np.arange(self.n)
        step = max(1, _BLOCK // max(1, self.n))
        parts = [
            self._small_block(everything[start : start + step], everything) @ x
            for start in range(0, self.n, step)
        ]
        return np.concatenate(parts)

    def row_norms(self, rows: Indices) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return squared norms of rows whose products bound a prediction, or ones.

        Only a low rank without a guard can explode.
        """
        if self.is_low_rank:
            return self.low_rank.row_norms(rows)
        return np.ones(len(rows)), np.ones(len(rows))

    def before_guard(self, i: Indices, j: Indices) -> NDArray[Any]:
        """Return the prediction of pairs without guard and ceilings."""
        if self.curve is None and self.student is None and self.correction is None:
            return self.low_rank.pairs(i, j)  # a prior that only proposes is not asked
        inputs = self.inputs(i, j)
        bent = self.correction
        base = inputs.base if bent is None else bent.pairs(inputs)
        if self.student is None:
            return base
        scored = self.student.pairs(inputs).astype(base.dtype, copy=False)
        return scored if self.blend is None else self.blend(scored, base)

    def inputs(self, i: Indices, j: Indices) -> PairInputs:
        """Return what prior and low rank predict of pairs, and the prior alone."""
        cheap = None if self.prior is None else self.prior.pairs(i, j)
        out = self.low_rank.pairs(i, j)
        if self.curve is not None and cheap is not None:
            out += self.curve(cheap).astype(out.dtype, copy=False)
        return PairInputs(i, j, out, cheap)

    def block_inputs(self, rows: Indices, columns: Indices) -> BlockInputs:
        """Return what prior and low rank predict of a block, and the prior alone."""
        cheap = None if self.prior is None else self.prior.block(rows, columns)
        out = self.low_rank.block(rows, columns)
        if self.curve is not None and cheap is not None:
            out += self.curve(cheap).astype(out.dtype, copy=False)
        return BlockInputs(rows, columns, out, cheap)

    def _small_block(self, rows: Indices, columns: Indices) -> NDArray[Any]:
        inputs = self.block_inputs(rows, columns)
        out = inputs.base
        if self.correction is not None:
            out = self.correction.block(inputs)
        if self.student is not None:
            scored = self.student.block(inputs).astype(out.dtype, copy=False)
            out = scored if self.blend is None else self.blend(scored, out)
        if self.guard is not None:
            out = self.guard.apply(out)
        if self.ceilings is not None:
            np.minimum(out, self.ceilings[rows][:, None], out=out)
            np.minimum(out, self.ceilings[columns][None, :], out=out)
        return out
