"""Correction: what was read bends the predictions of prior and low rank."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewpairs.kernels.linalg.broken_line import broken_line
from fewpairs.kernels.linalg.row_products import row_products, weighted_products
from fewpairs.kernels.linalg.selection import rows_of
from fewpairs.model.curve import Curve
from fewpairs.model.pair_inputs import BlockInputs, PairInputs
from fewpairs.types import Indices

__all__ = ["Correction", "Fade", "Form"]

_STEP = 0.1  # standard deviations, over which slopes are taken


class Fade(NamedTuple):
    """h(b): the share of what was fitted to the most similar pairs above all.

    ``share`` up to ``low``, 1 from ``high`` on, linear between them.
    """

    low: float
    high: float
    share: float

    @property
    def line(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Its knots and levels."""
        return np.array([self.low, self.high]), np.array([self.share, 1.0])


class Form(NamedTuple):
    """Σ_d w_d e_id e_jd: how much each direction of the prior counts at the top.

    A prior says that all of them do alike: a cosine, or what a curve makes of it.

    Attributes
    ----------
    features
        (n, d) array: e.
    weights
        w, of the first directions; the others count nothing.
    """

    features: NDArray[np.float32]
    weights: NDArray[np.float32]

    def pairs(self, i: Indices, j: Indices) -> NDArray[np.float32]:
        """Return what it says of pairs."""
        return weighted_products(self.features, self.weights, i, j)

    def times(self, factor: float) -> "Form":
        """Return a multiple of it."""
        return self._replace(weights=self.weights * np.float32(factor))

    def block(self, rows: Indices, columns: Indices) -> NDArray[np.float32]:
        """Return what it says of a block."""
        left, right = rows_of(self.features, rows), rows_of(self.features, columns)
        d = len(self.weights)
        return np.asarray((left[:, :d] * self.weights) @ right[:, :d].T)


@dataclass(frozen=True, eq=False)
class Correction:
    """s(q) + t(c) + g·h·(v_i·f_j + v_j·f_i + w·(e_i∘e_j)) in place of a prediction b.

    b is what prior and low rank say of a pair, c what the prior says alone, and
    q = b + m·g·(p(c) − b) goes a part of the way from b to p(c), the prior's curve.
    Both s and t are linear between knots and constant beyond them, so the few similar
    pairs and the many others each get their own. The way to p and the items' vectors v
    count where b, or p, is as large as that of pairs of either item which were read
    for looking similar: below that g falls from 1 to 0.

    Attributes
    ----------
    base_knots, base_levels
        s.
    cheap_knots, cheap_levels
        t.
    levels, rise
        From which b on g is 1, for every item; how far below that it begins to rise.
    features, vectors
        (n, d) arrays: f, a constant first, and v.
    form
        e and w, if there is one.
    bulk
        How far all of this is the answer in place of b where b is low, and p too;
        ``None``: it is.
    curve, mixed
        p and m; without p, g goes by b alone, and q is b.
    fade
        h; ``None``: 1.
    slopes
        By how much the result rises where pairs are most similar, for each unit of the
        low rank and of the prior; ``None`` where nobody asked (`told_apart`).
    """

    base_knots: NDArray[np.float64]
    base_levels: NDArray[np.float64]
    cheap_knots: NDArray[np.float64]
    cheap_levels: NDArray[np.float64]
    levels: NDArray[np.float32]
    rise: float
    features: NDArray[np.float32]
    vectors: NDArray[np.float32]
    curve: Curve | None = None
    mixed: float = 0.0
    fade: Fade | None = None
    slopes: tuple[float, float] | None = None
    form: Form | None = None
    bulk: Fade | None = None

    def __call__(self, inputs: PairInputs) -> NDArray[Any]:
        """Return the corrected predictions of pairs, as what scores them does."""
        return self.pairs(inputs)

    def pairs(self, inputs: PairInputs) -> NDArray[Any]:
        """Return the corrected predictions of pairs."""
        i, j = inputs.i, inputs.j
        own = row_products(self.vectors, self.features, i, j)
        own += row_products(self.vectors, self.features, j, i)
        if self.form is not None:
            own += self.form.pairs(i, j)
        level = np.minimum(self.levels[i], self.levels[j])
        return self._bent(inputs.base, inputs.cheap, level, own)

    def opened(self, inputs: PairInputs) -> NDArray[np.float32]:
        """Return g of pairs."""
        level = np.minimum(self.levels[inputs.i], self.levels[inputs.j])
        return self._risen(self.heights(inputs), level)

    def heights(self, inputs: PairInputs) -> NDArray[Any]:
        """Return the larger of b and p of pairs."""
        return _larger(inputs.base, self._by_prior(inputs.base, inputs.cheap))

    def mixture(self, inputs: PairInputs) -> NDArray[Any]:
        """Return q of pairs."""
        by_prior = self._by_prior(inputs.base, inputs.cheap)
        return self._mixture(inputs.base, by_prior, self.opened(inputs))

    def with_slopes(self, inputs: PairInputs, curve: Curve | None) -> "Correction":
        """Return the same with its slopes, the mean of those at some pairs.

        By differences: low rank alone moves b, the prior moves b by its ``curve`` too.
        """
        i, j, base, cheap = inputs
        before = self.pairs(inputs)
        step = _STEP * float(np.std(base)) or 1.0
        there = self.pairs(PairInputs(i, j, base + step, cheap))
        by_base, by_prior = float(np.mean(there - before)) / step, 0.0
        if cheap is not None and curve is not None:
            step = _STEP * float(np.std(cheap)) or 1.0
            moved = cheap + cheap.dtype.type(step)
            there = self.pairs(
                PairInputs(i, j, base + (curve(moved) - curve(cheap)), moved)
            )
            by_prior = float(np.mean(there - before)) / step
        return replace(self, slopes=(max(by_base, 0.0), max(by_prior, 0.0)))

    def block(self, inputs: BlockInputs) -> NDArray[Any]:
        """Return the corrected predictions of a block."""
        rows, columns = inputs.rows, inputs.columns
        f, v = rows_of(self.features, rows), rows_of(self.vectors, rows)
        g, w = rows_of(self.features, columns), rows_of(self.vectors, columns)
        own = v @ g.T + f @ w.T
        if self.form is not None:
            own += self.form.block(rows, columns)
        level = np.minimum(self.levels[rows][:, None], self.levels[columns])
        return self._bent(inputs.base, inputs.cheap, level, own)

    def _by_prior(
        self, base: NDArray[Any], cheap: NDArray[Any] | None
    ) -> NDArray[Any] | None:
        if self.curve is None or cheap is None:
            return None
        return self.curve(cheap).astype(base.dtype, copy=False)

    def _risen(
        self, top: NDArray[Any], level: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        height = (top - level).astype(np.float32, copy=False)
        height *= np.float32(1 / self.rise)
        height += np.float32(1)
        return np.clip(height, 0, 1, out=height)

    def _mixture(
        self,
        base: NDArray[Any],
        by_prior: NDArray[Any] | None,
        gate: NDArray[np.float32],
    ) -> NDArray[Any]:
        if by_prior is None or not self.mixed:
            return base
        out = by_prior - base
        out *= gate
        out *= out.dtype.type(self.mixed)
        out += base
        return np.asarray(out)

    def _bent(
        self,
        base: NDArray[Any],
        cheap: NDArray[Any] | None,
        level: NDArray[np.float32],
        own: NDArray[np.float32],
    ) -> NDArray[Any]:
        by_prior = self._by_prior(base, cheap)
        top = _larger(base, by_prior)
        gate = self._risen(top, level)
        own *= gate
        if self.fade is not None:
            own *= broken_line(base, *self.fade.line)
        mixture = self._mixture(base, by_prior, gate)
        own += broken_line(mixture, self.base_knots, self.base_levels)
        if cheap is not None and len(self.cheap_knots):
            own += broken_line(cheap, self.cheap_knots, self.cheap_levels)
        if self.bulk is not None:
            own -= base
            own *= broken_line(top, *self.bulk.line)
            own += base
        return own.astype(base.dtype, copy=False)


def _larger(base: NDArray[Any], by_prior: NDArray[Any] | None) -> NDArray[Any]:
    return base if by_prior is None else np.maximum(base, by_prior)
