"""Prior: a cheap similarity of the same items. It is not counted, and never n×n."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewpairs.errors import InputError
from fewpairs.kernels.linalg.selection import rows_of
from fewpairs.similarity.base import Scorer, Similarity
from fewpairs.similarity.joined import Joined
from fewpairs.types import Indices

__all__ = ["Alike", "NewPrior", "Prior", "as_prior"]

_GATHER = 1 << 17  # numbers gathered at once: they should stay in the cache


class Alike(NamedTuple):
    """How an item's entries at the landmarks become a unit vector.

    Divided by a scale, without column and row means, in the directions that tell most.
    """

    scale: float
    means: NDArray[np.float32]
    directions: NDArray[np.float32] | None = None

    def embed(self, X: NDArray[Any]) -> NDArray[np.float32]:
        """Return the vectors of items whose entries at the landmarks are X."""
        rows = (X / self.scale).astype(np.float32) - self.means
        rows -= rows.mean(axis=1, keepdims=True)
        if self.directions is not None:
            rows = rows @ self.directions
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        norms[norms == 0] = 1
        return np.asarray(rows / norms)


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
    recipe, items
        What the scorer was made of, for new items.
    alike
        How rows of the landmarks' columns became ``embeddings``, where they did.
    """

    def __init__(
        self,
        cheap: Scorer,
        name: str,
        *,
        symmetric: bool,
        embeddings: NDArray[np.float32] | None = None,
        recipe: Similarity | None = None,
        items: Sequence[Any] | None = None,
        alike: "Alike | None" = None,
    ) -> None:
        self.n = cheap.n
        self.name = name
        self.embeddings = embeddings
        self.alike = alike
        self._recipe, self._items = recipe, items
        self._cheap = cheap
        self._symmetric = symmetric

    @classmethod
    def of_embeddings(
        cls,
        unit: NDArray[np.float32],
        alike: "Alike | None" = None,
    ) -> "Prior":
        """Return the cosine of unit vectors."""
        name = f"cosine of {unit.shape[1]}-dimensional embeddings"
        return cls(_UnitDots(unit), name, symmetric=True, embeddings=unit, alike=alike)

    def beside(
        self, given: Any, new_items: Sequence[Any], X: NDArray[Any], call: str
    ) -> "NewPrior":
        """Return the prior between new items and these.

        From their own embeddings where the prior is made of some; from X, their entries
        at the landmarks, where it is made of those; else from the recipe.
        """
        m = len(new_items)
        if self.alike is not None and self.embeddings is not None:
            return NewPrior(self, embeddings=self.alike.embed(X))
        if self.embeddings is not None:
            d = self.embeddings.shape[1]
            if given is None:
                msg = (
                    f"{call}: the fit used a prior, the {self.name}. Pass prior=, an "
                    f"({m}, {d}) array of embeddings of the new items."
                )
                raise InputError(msg)
            unit = _unit_rows(given, m, call)
            if unit.shape[1] != d:
                msg = (
                    f"{call}: prior has {unit.shape[1]} dimensions, that of the fit "
                    f"has {d}. Pass embeddings of the same kind."
                )
                raise InputError(msg)
            return NewPrior(self, embeddings=unit)
        if self._recipe is None or self._items is None:
            msg = (
                f"{call}: the prior, {self.name}, is bound to the fitted items. Pass "
                "prior= and items= to fewpairs.load."
            )
            raise InputError(msg)
        joined = Joined(self._recipe, self._items, self._cheap, new_items, call)
        return NewPrior(
            self, Prior(joined, self.name, symmetric=self._symmetric), joined.fitted
        )

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


class NewPrior:
    """A prior between new items and those that it was made for."""

    def __init__(
        self,
        prior: Prior,
        joined: Prior | None = None,
        fitted: int = 0,
        *,
        embeddings: NDArray[np.float32] | None = None,
    ) -> None:
        self.embeddings = embeddings
        self._prior, self._joined, self._fitted = prior, joined, fitted

    def block(self, rows: Indices, columns: Indices) -> NDArray[np.float32]:
        """Return the values of some new items with some fitted ones."""
        if self._joined is not None:
            return self._joined.block(self._fitted + rows, columns)
        if self.embeddings is None or self._prior.embeddings is None:
            msg = "NewPrior: needs embeddings or a recipe"
            raise AssertionError(msg)
        return np.asarray(self.embeddings[rows] @ self._prior.embeddings[columns].T)


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
        return Prior(
            cheap,
            prior.name,
            symmetric=prior.symmetric is True,
            recipe=prior,
            items=range(n) if items is None else items,
        )
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
            f"{X.dtype}. Pass an (n, d) array of embeddings, one row per item, or a "
            "cheap fewpairs.Similarity."
        )
        raise InputError(msg)
    if len(X) != n:
        msg = (
            f"{call}: prior has {len(X):,} embeddings for {n:,} items. Pass one row "
            "per item, in the order of the items."
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
