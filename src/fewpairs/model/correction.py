"""Correction: what was read bends the predictions of prior and low rank."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.kernels.linalg.selection import rows_of
from fewpairs.model.pair_inputs import BlockInputs, PairInputs

__all__ = ["Correction"]

_GATHER = 1 << 16  # numbers gathered at once: they should stay in the cache


@dataclass(frozen=True, eq=False)
class Correction:
    """s(b) + t(c) + g(b)·(v_i·f_j + v_j·f_i) in place of a prediction b.

    b is what prior and low rank say of a pair and c what the prior says alone. Both
    curves are linear between knots and constant beyond them, so the few similar pairs
    and the many others each get their own. The items' vectors v count where b is as
    large as that of pairs of either item which were read for looking similar: below
    that g falls from 1 to 0.

    Attributes
    ----------
    base_knots, base_levels
        s.
    cheap_knots, cheap_levels
        t.
    levels, rise
        From which b on g is 1, for every item; how far below that it begins to rise.
    features, vectors
        (n, q) arrays: f, a constant first, and v.
    """

    base_knots: NDArray[np.float64]
    base_levels: NDArray[np.float64]
    cheap_knots: NDArray[np.float64]
    cheap_levels: NDArray[np.float64]
    levels: NDArray[np.float32]
    rise: float
    features: NDArray[np.float32]
    vectors: NDArray[np.float32]

    def pairs(self, inputs: PairInputs) -> NDArray[Any]:
        """Return the corrected predictions of pairs."""
        i, j = inputs.i, inputs.j
        own = np.empty(len(i), dtype=np.float32)
        step = max(1, _GATHER // self.features.shape[1])
        for start in range(0, len(i), step):
            part = slice(start, start + step)
            a, b = i[part], j[part]
            np.einsum("td,td->t", self.vectors[a], self.features[b], out=own[part])
            own[part] += np.einsum("td,td->t", self.vectors[b], self.features[a])
        own *= self.opened(inputs)
        return self._bent(inputs.base, inputs.cheap, own)

    def opened(self, inputs: PairInputs) -> NDArray[np.float32]:
        """Return g of pairs."""
        level = np.minimum(self.levels[inputs.i], self.levels[inputs.j])
        return self._risen(inputs.base, level)

    def block(self, inputs: BlockInputs) -> NDArray[Any]:
        """Return the corrected predictions of a block."""
        rows, columns = inputs.rows, inputs.columns
        f, v = rows_of(self.features, rows), rows_of(self.vectors, rows)
        g, w = rows_of(self.features, columns), rows_of(self.vectors, columns)
        own = v @ g.T + f @ w.T
        level = np.minimum(self.levels[rows][:, None], self.levels[columns])
        own *= self._risen(inputs.base, level)
        return self._bent(inputs.base, inputs.cheap, own)

    def _risen(
        self, base: NDArray[Any], level: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        height = (base - level).astype(np.float32, copy=False)
        height *= np.float32(1 / self.rise)
        height += np.float32(1)
        return np.clip(height, 0, 1, out=height)

    def _bent(
        self, base: NDArray[Any], cheap: NDArray[Any] | None, own: NDArray[np.float32]
    ) -> NDArray[Any]:
        own += np.interp(base, self.base_knots, self.base_levels)
        if cheap is not None and len(self.cheap_knots):
            own += np.interp(cheap, self.cheap_knots, self.cheap_levels)
        return own.astype(base.dtype, copy=False)
