"""RowMap: how an item's entries at the landmarks become its row of the factors."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.kernels.linalg.spectral import apply_core
from fewpairs.types import Indices

__all__ = ["RowMap", "effect_columns"]


@dataclass(frozen=True, eq=False)
class RowMap:
    """A row of the factors is (x − m − a − aₛ) @ core, with m and a beside it.

    x are the item's entries at the landmarks, less what a prior explains of them; m is
    a constant, aₛ the landmarks' effects and a the item's own, ``kept`` times the mean
    of x − m. This is what the fit did to all items that are not landmarks, so an item
    that comes later gets the row it would have had.

    Attributes
    ----------
    landmarks
        Positions, in the order of the core's rows.
    core
        (s, r) array.
    zeros
        Columns of zeros at the end, which only landmarks use (SMS-Nyström).
    constant, effects, kept, spread
        m, aₛ, the share of an item's mean that counts as its effect, and the scale t of
        the columns that stand for effects (see `effect_columns`).
    """

    landmarks: Indices
    core: NDArray[Any]
    zeros: int = 0
    constant: float = 0.0
    effects: NDArray[Any] | None = None
    kept: float = 0.0
    spread: float = 0.0

    def rows(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return the rows of items whose entries at the landmarks are X, (m, s)."""
        if self.constant == 0 and self.effects is None:
            out = apply_core(X, self.core)
        else:
            out = self._with_effects(np.array(X))
        if self.zeros:
            out = np.hstack([out, np.zeros((len(X), self.zeros), dtype=out.dtype)])
        return out

    def _with_effects(self, X: NDArray[Any]) -> NDArray[Any]:
        own = None
        if self.effects is not None:
            means = X.mean(axis=1, dtype=np.float64)
            own = self.kept * (means - self.constant)
        X -= X.dtype.type(self.constant)
        if own is not None and self.effects is not None:
            X -= own[:, None].astype(X.dtype)
            X -= self.effects[None, :].astype(X.dtype)
        out = apply_core(X, self.core)
        beside, _ = effect_columns(len(X), own, self.constant, self.spread)
        return np.hstack([out, beside.astype(out.dtype)])


def effect_columns(
    n: int, effects: NDArray[Any] | None, constant: float, spread: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return m + aᵢ + aⱼ as columns with signs, to stand beside the others.

    With u = a + m/2: uᵢ + uⱼ = pᵢpⱼ − qᵢqⱼ for p, q = (t ± u) / √(2t) and any t > 0,
    the ``spread``; t = 0 says that all u are 0.
    """
    if effects is None:
        if constant == 0:
            return np.empty((n, 0)), np.empty(0)
        root = float(np.sqrt(abs(constant)))
        return np.full((n, 1), root), np.array([np.sign(constant)])
    if spread == 0:
        return np.empty((n, 0)), np.empty(0)
    u = effects + constant / 2
    both = np.column_stack([spread + u, spread - u]) / np.sqrt(2 * spread)
    return both, np.array([1.0, -1.0])
