"""Cosine similarity of embeddings."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fewpairs.errors import InputError
from fewpairs.similarity.base import Scorer, Similarity, cut
from fewpairs.similarity.items import as_items
from fewpairs.types import Indices

__all__ = ["Cosine"]

_ROWS = 1 << 12  # normalized at once: they stay in the cache


class Cosine(Similarity):
    """Cosine of the angle between two vectors: ⟨a, b⟩ / (‖a‖ ‖b‖).

    Symmetric, positive semidefinite, between −1 and 1, 1 on the diagonal. A block
    is one matrix product.

    Parameters
    ----------
    embeddings
        (n, d) array with one row per item. Without it, the items themselves are the
        vectors.

    Examples
    --------
    >>> import numpy as np, fewpairs as fp
    >>> vectors = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 2.0]])
    >>> scorer = fp.Cosine(vectors).bind(["a", "b", "c"])
    >>> scorer.pairs(np.array([0, 0]), np.array([1, 2])).round(3).tolist()
    [0.707, 0.0]
    """

    symmetric = True
    diagonal = 1.0
    bounds = (-1.0, 1.0)
    psd = True
    proven = True
    fingerprinted = True

    def __init__(self, embeddings: ArrayLike | None = None) -> None:
        self._unit = None if embeddings is None else _unit_rows(embeddings)
        self.by_position = self._unit is not None

    def identify(self) -> Iterable[Any]:
        """Return the embeddings, where they are part of it."""
        return ("cosine", self._unit)

    def bind(self, items: Sequence[Any]) -> Scorer:
        """Normalize the vectors once."""
        items = as_items(items, "fewpairs.Cosine")
        unit = _unit_rows(items) if self._unit is None else self._unit
        if len(unit) != len(items):
            msg = (
                f"fewpairs.Cosine: {len(unit)} embeddings for {len(items)} items. "
                "Pass one row per item, in the order of the items."
            )
            raise InputError(msg)
        return _CosineScorer(unit)

    def beside(
        self, new_items: Sequence[Any], items: Sequence[Any], positions: Indices
    ) -> Scorer:
        """Bind new vectors beside those of some items."""
        if self._unit is None:
            return super().beside(new_items, items, positions)
        unit = _unit_rows(new_items)
        if unit.shape[1] != self._unit.shape[1]:
            msg = (
                f"fewpairs.Cosine: new items of {unit.shape[1]} dimensions, and the "
                f"embeddings have {self._unit.shape[1]}. Pass embeddings of new items."
            )
            raise InputError(msg)
        return _CosineScorer(np.vstack([unit, self._unit[positions]]))


def _unit_rows(vectors: Any) -> NDArray[Any]:
    try:
        X = np.asarray(vectors)
        if X.dtype.kind in "biuf":
            small = X.dtype in (np.float16, np.float32)
            X = X.astype(np.float32 if small else np.float64, copy=False)
    except Exception:  # noqa: BLE001 - ragged, or no array at all
        X = np.empty(0, dtype=object)
    if X.ndim != 2 or X.dtype.kind != "f" or not X.size:
        msg = (
            "fewpairs.Cosine: needs an (n, d) array of real numbers, one row per item; "
            f"got {type(vectors).__name__} that gives shape {X.shape} and dtype "
            f"{X.dtype}. Embed the items first: fp.Cosine(embeddings)."
        )
        raise InputError(msg)
    unit = np.empty_like(X)
    bad: list[int] = []
    for start in range(0, len(X), _ROWS):
        rows = X[start : start + _ROWS]
        # Scaling by the largest entry first keeps squares from over- and underflowing.
        largest = np.abs(rows).max(axis=1, initial=0.0, keepdims=True)
        lost = ~np.isfinite(largest[:, 0]) | (largest[:, 0] == 0)
        bad.extend(start + np.flatnonzero(lost))
        with np.errstate(invalid="ignore", divide="ignore"):
            scaled = rows / largest
            scaled /= np.linalg.norm(scaled, axis=1, keepdims=True)
        unit[start : start + _ROWS] = scaled
    if bad:
        msg = (
            f"fewpairs.Cosine: row {bad[0]} is zero or not finite ({len(bad)} such "
            "rows); it has no direction. Drop those items or mend their embeddings."
        )
        raise InputError(msg)
    return unit


class _CosineScorer(Scorer):
    backend = "NumPy"

    chunk = 1 << 20  # a product this large pays for what is done once a chunk

    def __init__(self, unit: NDArray[Any]) -> None:
        self.n = len(unit)
        self.dtype = unit.dtype
        self._unit = unit

    def pairs(self, i: Indices, j: Indices) -> NDArray[Any]:
        return np.asarray(np.einsum("td,td->t", self._unit[i], self._unit[j]))

    def block(self, rows: Indices, columns: Indices) -> NDArray[Any]:
        return np.asarray(self._unit[cut(rows)] @ self._unit[cut(columns)].T)
