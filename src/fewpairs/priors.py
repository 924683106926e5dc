"""Prior: a cheap similarity of the same items. It is not counted, and never n×n."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.errors import InputError
from fewpairs.kernels.selection import rows_of
from fewpairs.similarity.base import Indices, Scorer, Similarity

__all__ = ["Prior", "as_prior"]

_GATHER = 1 << 17  # numbers gathered at once: they should stay in the cache


class Prior:
    """Values of a cheap similarity, computed for the entries that are asked for.

    Parameters
    ----------
    cheap
        A cheap similarity, bound to the items.
    name
        What it is, in words.
    symmetric
        Whether it is; if not, both orders are averaged.
    embeddings
        (n, d) unit vectors, where the prior is their cosine.
    """

    def __init__(
        self,
        cheap: Scorer,
        name: str,
        *,
        symmetric: bool,
        embeddings: NDArray[np.float32] | None = None,
    ) -> None:
        self.n = cheap.n
        self.name = name
        self.embeddings = embeddings
        self._cheap = cheap
        self._symmetric = symmetric

    @classmethod
    def of_embeddings(cls, unit: NDArray[np.float32]) -> "Prior":
        """Return the cosine of unit vectors."""
        name = f"cosine of {unit.shape[1]}-dimensional embeddings"
        return cls(_UnitDots(unit), name, symmetric=True, embeddings=unit)

    def pairs(self, i: Indices, j: Indices) -> NDArray[np.float32]:
        """Return the prior's value of every pair (i[t], j[t])."""
        values = self._cheap.pairs(i, j)
        if not self._symmetric:
            values = (values + self._cheap.pairs(j, i)) / 2
        return self._checked(values)

    def block(self, rows: Indices, columns: Indices) -> NDArray[np.float32]:
        """Return the prior's values of all rows with all columns."""
        values = self._cheap.block(rows, columns)
        if not self._symmetric:
            values = (values + self._cheap.block(columns, rows).T) / 2
        return self._checked(values)

    @cached_property
    def directions(self) -> NDArray[np.float32] | None:
        """Principal components of the embeddings, by falling variance."""
        if self.embeddings is None:
            return None
        centered = self.embeddings - self.embeddings.mean(axis=0)
        values, vectors = np.linalg.eigh((centered.T @ centered).astype(np.float64))
        order = np.argsort(-values)
        return np.asarray(centered @ vectors[:, order].astype(np.float32))

    def _checked(self, values: NDArray[Any]) -> NDArray[np.float32]:
        values = np.asarray(values, dtype=np.float32)
        if not np.isfinite(values).all():
            msg = (
                f"fewpairs.approximate: the prior ({self.name}) returned NaN or "
                "infinity. A prior must give a number for every pair."
            )
            raise InputError(msg)
        return values


class _UnitDots(Scorer):
    """Inner products of unit vectors; a zero vector has 0 with all others."""

    dtype = np.dtype(np.float32)

    def __init__(self, unit: NDArray[np.float32]) -> None:
        self.n = len(unit)
        self._unit = unit

    def pairs(self, i: Indices, j: Indices) -> NDArray[np.float32]:
        out = np.empty(len(i), dtype=np.float32)
        step = max(1, _GATHER // self._unit.shape[1])
        for start in range(0, len(i), step):
            part = slice(start, start + step)
            np.einsum(
                "td,td->t", self._unit[i[part]], self._unit[j[part]], out=out[part]
            )
        return out

    def block(self, rows: Indices, columns: Indices) -> NDArray[np.float32]:
        return np.asarray(rows_of(self._unit, rows) @ rows_of(self._unit, columns).T)


def as_prior(
    prior: Any,
    items: Sequence[Any] | None,
    n: int,
    call: str,
    *,
    kept: Indices | None = None,
) -> Prior | None:
    """Return a prior of embeddings or of a cheap similarity, or say what one is.

    ``kept`` are the positions of the n items that stayed, where some were dropped.
    """
    if prior is None or isinstance(prior, Prior):
        return prior
    if isinstance(prior, Similarity):
        if items is not None and kept is not None:
            items = [items[t] for t in kept]
        cheap = prior.bind(range(n) if items is None else items)
        if cheap.n != n:
            msg = f"{call}: the prior has {cheap.n:,} items, and there are {n:,}."
            raise InputError(msg)
        return Prior(cheap, prior.name, symmetric=prior.symmetric is True)
    if kept is not None and items is not None and np.shape(prior)[:1] == (len(items),):
        prior = np.asarray(prior)[kept]
    return Prior.of_embeddings(_unit_rows(prior, n, call))


def _unit_rows(prior: Any, n: int, call: str) -> NDArray[np.float32]:
    try:
        X = np.asarray(prior)
    except ValueError:
        X = np.empty(0, dtype=object)
    if X.ndim != 2 or X.dtype.kind not in "biuf" or X.size == 0:
        msg = (
            f"{call}: prior is {type(prior).__name__} of shape {X.shape} and dtype "
            f"{X.dtype}. Pass an (n, d) array of embeddings, one row an item, or a "
            "cheap fewpairs.Similarity."
        )
        raise InputError(msg)
    if len(X) != n:
        msg = (
            f"{call}: prior has {len(X):,} embeddings for {n:,} items. Pass one row an "
            "item, in the order of the items."
        )
        raise InputError(msg)
    out = np.empty(X.shape, dtype=np.float32)
    bad = []
    step = max(1, _GATHER // X.shape[1])
    for start in range(0, n, step):
        part = X[start : start + step].astype(np.float64)
        finite = np.isfinite(part).all(axis=1)
        bad += (start + np.flatnonzero(~finite)).tolist()
        part[~finite] = 0
        # Scaled by their largest entry first: squares must stay in range.
        largest = np.abs(part).max(axis=1, keepdims=True)
        part /= np.where(largest > 0, largest, 1)
        norms = np.linalg.norm(part, axis=1, keepdims=True)
        out[start : start + step] = part / np.where(norms > 0, norms, 1)
    if bad:
        msg = (
            f"{call}: row {bad[0]} of prior is not finite ({len(bad):,} such rows). "
            "Mend those embeddings, or set them to 0."
        )
        raise InputError(msg)
    return out
