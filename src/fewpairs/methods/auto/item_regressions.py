"""A regression of every item by itself on what curves leave of its pairs."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.kernels.linalg.blas_threads import in_threads
from fewpairs.kernels.linalg.item_ridges import item_ridges
from fewpairs.kernels.linalg.row_products import row_products
from fewpairs.model.correction import Correction
from fewpairs.model.pair_inputs import PairInputs

__all__ = ["ItemRegressions", "mean_square"]

_BOTH = 0.6  # of what an item explains: both items of a pair explain the same
_OUTLYING = 4.0  # standard deviations that an item's own regression believes
_PART = 1 << 16  # pairs that a thread looks at at once


@dataclass(frozen=True, eq=False)
class ItemRegressions:
    """What the items' own regressions are fitted to: what the curves leave.

    Attributes
    ----------
    gate
        How far the items' vectors count, of every pair.
    values
        What is left of them.
    device
        Where torch solves for the items' weights; ``None``: NumPy on the cores.
    """

    inputs: PairInputs
    gate: NDArray[np.float32]
    values: NDArray[np.float32]
    features: NDArray[np.float32]
    device: str | None = None

    @classmethod
    def left_by(
        cls,
        bent: Correction,
        inputs: PairInputs,
        y: NDArray[np.float32],
        device: str | None = None,
    ) -> "ItemRegressions":
        """Return what a correction leaves of values."""
        gate, left = np.empty_like(y), np.empty_like(y)

        def look(start: int) -> None:
            part = slice(start, start + _PART)
            some = inputs.some(part)
            gate[part] = bent.opened(some)
            left[part] = y[part] - bent.pairs(some)

        in_threads(look, range(0, len(y), _PART))
        return cls(inputs, gate, left, bent.features, device)

    def clipped(self) -> "ItemRegressions":
        """Return the same with values that an item's own regression believes."""
        far = np.float32(_OUTLYING * math.sqrt(mean_square(self.values)))
        return replace(self, values=np.clip(self.values, -far, far))

    def some(self, where: NDArray[np.bool_]) -> "ItemRegressions":
        """Return those of some of the pairs."""
        inputs, gate = self.inputs.some(where), self.gate[where]
        return replace(self, inputs=inputs, gate=gate, values=self.values[where])

    def vectors(
        self, ridges: Sequence[float], items: NDArray[np.bool_] | None = None
    ) -> list[NDArray[np.float32]]:
        """Return every item's weights of its partners' features, for each ridge."""
        if items is not None and not items.all():
            part = items[self.inputs.i] | items[self.inputs.j]
            return self.some(part)._solved(ridges, items)
        return self._solved(ridges, None)

    def _solved(
        self, ridges: Sequence[float], items: NDArray[np.bool_] | None
    ) -> list[NDArray[np.float32]]:
        solve: Callable[..., list[NDArray[np.float32]]] = item_ridges
        if self.device is not None:
            from fewpairs.kernels.linalg import item_ridges_torch

            solve = partial(item_ridges_torch.item_ridges, device=self.device)
        solved = solve(
            self.inputs.i,
            self.inputs.j,
            self.gate,
            self.values,
            self.features,
            ridges=ridges,
            items=items,
        )
        return [found * np.float32(_BOTH) for found in solved]

    def said(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return what such weights say of the pairs."""
        i, j, f = self.inputs.i, self.inputs.j, self.features
        own = row_products(vectors, f, i, j) + row_products(vectors, f, j, i)
        return np.asarray(self.gate * own)


def mean_square(values: NDArray[Any]) -> float:
    """Return the mean square, a little more than 0."""
    return float(np.mean(values**2, dtype=np.float64)) + 1e-12 if len(values) else 1e-12
