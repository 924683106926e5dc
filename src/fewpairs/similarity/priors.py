"""Prior: a cheap similarity of the same items. It is not counted, and never n×n."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewpairs.errors import InputError
from fewpairs.kernels.linalg.blas_threads import single_threaded
from fewpairs.similarity.base import Scorer, Similarity
from fewpairs.similarity.joined import Joined
from fewpairs.similarity.lexical import Lexical
from fewpairs.similarity.placing import place_across
from fewpairs.similarity.unit_vectors import UnitDots, side_by_side, unit_rows
from fewpairs.types import Indices

__all__ = ["Alike", "NewPrior", "Prior"]

_DIRECTIONS = 128  # principal components that are kept


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
    lexical
        What makes ``embeddings`` of texts, where it did.
    asked
        Whether the caller asked for it; else it must prove its worth first.
    parts, weights
        The priors that this one is a sum of, and how much each counts: together 1.
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
        lexical: Lexical | None = None,
        asked: bool = True,
        parts: "tuple[Prior, ...]" = (),
        weights: tuple[float, ...] = (),
    ) -> None:
        self.n = cheap.n
        self.name = name
        self.embeddings = embeddings
        self.alike, self.lexical, self.asked = alike, lexical, asked
        self.parts, self.weights = parts, weights
        self.recipe, self._items = recipe, items
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
        return cls(UnitDots(unit), name, symmetric=True, embeddings=unit, alike=alike)

    @classmethod
    def of_texts(
        cls, lexical: Lexical, unit: NDArray[np.float32], *, asked: bool = True
    ) -> "Prior":
        """Return the cosine of vectors that were made of texts."""
        name = f"lexical, {unit.shape[1]} dimensions of characters and words"
        cheap = UnitDots(unit)
        return cls(
            cheap, name, symmetric=True, embeddings=unit, lexical=lexical, asked=asked
        )

    @classmethod
    def of_parts(
        cls,
        parts: "Sequence[Prior]",
        weights: Sequence[float] | None = None,
        embeddings: NDArray[np.float32] | None = None,
    ) -> "Prior":
        """Return the weighted sum of priors, of equal weights unless they are given.

        ``embeddings``: those of the sum, where they are known.
        """
        if weights is None:
            weights = [1 / len(parts)] * len(parts)
        used = [(p, w) for p, w in zip(parts, weights, strict=True) if w > 0]
        if embeddings is None and all(p.embeddings is not None for p, _ in used):
            embeddings = side_by_side([p.embeddings for p, _ in used], used)
        cheap = _Sum(used) if embeddings is None else UnitDots(embeddings)
        return cls(
            cheap,
            " + ".join(part.name for part in parts),
            symmetric=True,
            embeddings=embeddings,
            parts=tuple(parts),
            weights=tuple(float(w) for w in weights),
        )

    @property
    def answers(self) -> Any:
        """The approximation whose answers it repeats, where it is one."""
        return getattr(self._cheap, "answers", None)

    @cached_property
    def vectors(self) -> NDArray[np.float32] | None:
        """What an index can look through: embeddings, those of some parts at least.

        Of a recipe for two sets, vectors whose products are near it.
        """
        split = self._cheap.split
        if split is not None and self.embeddings is None:
            return place_across(self.block, split, self.n)
        if self.embeddings is not None or not self.parts:
            return self.embeddings
        pairs = zip(self.parts, self.weights, strict=True)
        used = [(p, w) for p, w in pairs if w > 0 and p.vectors is not None]
        return side_by_side([p.vectors for p, _ in used], used) if used else None

    def beside(
        self, given: Any, new_items: Sequence[Any], X: NDArray[Any], call: str
    ) -> "NewPrior":
        """Return the prior between new items and these.

        From their own embeddings where the prior is made of some; from X, their entries
        at the landmarks, where it is made of those; else from the recipe. Of several
        priors each gets its own of a list.
        """
        if self.parts:
            return self._parts_beside(given, new_items, X, call)
        m = len(new_items)
        if self.lexical is not None and given is None:
            return NewPrior(self, embeddings=self.lexical.embed(new_items))
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
            unit = unit_rows(given, m, call)
            if unit.shape[1] != d:
                msg = (
                    f"{call}: prior has {unit.shape[1]} dimensions, that of the fit "
                    f"has {d}. Pass embeddings of the same kind."
                )
                raise InputError(msg)
            return NewPrior(self, embeddings=unit)
        if self.answers is not None:
            msg = (
                f"{call}: the prior, {self.name}, is an approximation of the fitted "
                "items and knows no others. Approximate all items together, or take a "
                'prior that knows new ones: embeddings, "lexical" or a Similarity.'
            )
            raise InputError(msg)
        if self.recipe is None or self._items is None:
            msg = (
                f"{call}: the prior, {self.name}, is bound to the fitted items. Pass "
                "prior= and items= to fewpairs.load."
            )
            raise InputError(msg)
        joined = Joined(self.recipe, self._items, self._cheap, new_items, call)
        return NewPrior(
            self, Prior(joined, self.name, symmetric=self._symmetric), joined.fitted
        )

    def _parts_beside(
        self, given: Any, new_items: Sequence[Any], X: NDArray[Any], call: str
    ) -> "NewPrior":
        each = self.given_to_parts(given, call)
        used = [
            (part.beside(own, new_items, X, call), weight)
            for part, weight, own in zip(self.parts, self.weights, each, strict=True)
            if weight > 0
        ]
        if self.embeddings is None:
            return NewPrior(self, parts=used)
        rows = side_by_side([new.embeddings for new, _ in used], used)
        return NewPrior(self, embeddings=rows)

    def given_to_parts(self, given: Any, call: str) -> list[Any]:
        """Return what each part gets: of a list its own, one array who needs one."""
        asks = [
            weight > 0 and part.embeddings is not None and part.lexical is None
            for part, weight in zip(self.parts, self.weights, strict=True)
        ]
        if isinstance(given, list) and len(given) == len(self.parts):
            return [
                None if isinstance(own, (str, Similarity)) else own for own in given
            ]
        if given is None or sum(asks) == 1:
            return [given if ask else None for ask in asks]
        msg = (
            f"{call}: the fit used {len(self.parts)} priors, {self.name}. Pass prior=, "
            "a list with as many: embeddings of the new items where embeddings were "
            "given, else None."
        )
        raise InputError(msg)

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
        """Principal components of the vectors, by falling variance, the first 128."""
        V = self.vectors
        if V is None:
            return None
        mean = V.mean(axis=0, dtype=np.float64)
        spread = (V.T @ V).astype(np.float64) - len(V) * np.outer(mean, mean)
        with single_threaded():  # for so small a matrix threads wait for each other
            values, axes = np.linalg.eigh(spread)
        axes = axes[:, np.argsort(-values)[:_DIRECTIONS]]
        out = V @ axes.astype(np.float32)  # no centered copy of what may be large
        out -= (mean @ axes).astype(np.float32)
        return np.asarray(out)

    def forget_directions(self) -> None:
        """Let go of the directions: of many items they are large, and soon made."""
        self.__dict__.pop("directions", None)

    def _checked(self, values: NDArray[Any]) -> NDArray[np.float32]:
        values = np.asarray(values, dtype=np.float32)
        if values.size and not np.isfinite([values.min(), values.max()]).all():
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
        parts: "Sequence[tuple[NewPrior, float]]" = (),
    ) -> None:
        self.embeddings = embeddings
        self._prior, self._joined, self._fitted = prior, joined, fitted
        self._parts = parts

    def block(self, rows: Indices, columns: Indices) -> NDArray[np.float32]:
        """Return the values of some new items with some fitted ones."""
        if self._parts:
            blocks = [
                np.float32(w) * part.block(rows, columns) for part, w in self._parts
            ]
            return np.asarray(sum(blocks[1:], start=blocks[0]))
        if self._joined is not None:
            return self._joined.block(self._fitted + rows, columns)
        if self.embeddings is None or self._prior.embeddings is None:
            msg = "NewPrior: needs embeddings or a recipe"
            raise AssertionError(msg)
        return np.asarray(self.embeddings[rows] @ self._prior.embeddings[columns].T)


class _Sum(Scorer):
    """A weighted sum of priors that are no inner products."""

    dtype = np.dtype(np.float32)

    def __init__(self, parts: Sequence[tuple[Prior, float]]) -> None:
        self.n = parts[0][0].n
        self._parts = parts

    def pairs(self, i: Indices, j: Indices) -> NDArray[np.float32]:
        values = [np.float32(w) * part.pairs(i, j) for part, w in self._parts]
        return np.asarray(sum(values[1:], start=values[0]))

    def block(self, rows: Indices, columns: Indices) -> NDArray[np.float32]:
        values = [np.float32(w) * part.block(rows, columns) for part, w in self._parts]
        return np.asarray(sum(values[1:], start=values[0]))
