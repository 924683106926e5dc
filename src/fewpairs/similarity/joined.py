"""Joined: a scorer of fitted items and new ones, bound as they are needed."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.errors import InputError, SimilarityError
from fewpairs.similarity.base import Interrupted, Scorer, Similarity
from fewpairs.types import Indices

__all__ = ["Joined"]


class Joined(Scorer):
    """Positions 0 to n − 1 are the fitted items, the new ones come after them.

    Of the fitted items only those that are asked for are bound beside the new ones:
    a few landmarks of a million texts are tokenized in no time.

    Parameters
    ----------
    similarity
        The recipe.
    items
        The fitted items.
    like
        The scorer of the fitted items.
    new_items
        Those that come after them.
    call
        How messages name the caller.
    """

    def __init__(
        self,
        similarity: Similarity,
        items: Sequence[Any],
        like: Scorer,
        new_items: Sequence[Any],
        call: str,
    ) -> None:
        self.fitted, self.backend = like.n, like.backend
        self.n = like.n + len(new_items)
        self.dtype, self.chunk, self.price = like.dtype, like.chunk, like.price
        self._blocks = like.has_blocks
        self._similarity = similarity
        self._items, self._kept = items, like.kept
        self._new, self._call = new_items, call
        self._place = np.full(self.n, -1, dtype=np.int64)
        self._bound: Scorer | None = None
        self._bind(np.empty(0, dtype=np.int64))

    def pairs(self, i: Indices, j: Indices) -> NDArray[Any]:
        """Return the similarity of item ``i[t]`` to item ``j[t]``, for every t."""
        bound = self._binding(i, j)
        try:
            return bound.pairs(self._place[i], self._place[j])
        except Interrupted as stop:
            at = len(stop.values)
            if isinstance(stop.cause, SimilarityError) and at < len(i):
                stop.cause = self._renamed(stop.cause, int(i[at]), int(j[at]))
            raise

    def spent(self) -> float | None:
        """Return what the scorer says that is bound."""
        return None if self._bound is None else self._bound.spent()

    def block(self, rows: Indices, columns: Indices) -> NDArray[Any]:
        """Return the similarities of all ``rows`` to all ``columns``."""
        if not self._blocks:
            return super().block(rows, columns)
        bound = self._binding(rows, columns)
        return bound.block(self._place[rows], self._place[columns])

    def _binding(self, i: Indices, j: Indices) -> Scorer:
        """Return a scorer of these and of all that were asked for before."""
        missing = np.unique(np.concatenate([i, j]))
        missing = missing[self._place[missing] < 0]
        if len(missing):
            self._bind(missing)
        if self._bound is None:
            msg = "Joined: nothing is bound"
            raise AssertionError(msg)
        return self._bound

    def _bind(self, more: Indices) -> None:
        before = np.flatnonzero(self._place[: self.fitted] >= 0)
        fitted = np.union1d(before, more)
        items = fitted if self._kept is None else self._kept[fitted]
        bound = self._similarity.beside(self._new, self._items, items)
        number = len(self._new) + len(fitted)
        kept = np.arange(bound.n) if bound.kept is None else bound.kept
        if len(kept) != number:
            gone = np.setdiff1d(np.arange(number), kept)
            at = int(gone[0]) if len(gone) else 0
            msg = (
                f"{self._call}: {self._similarity.name} drops new_items[{at}], "
                f"{self._new[at]!r:.60} ({len(gone):,} of {len(self._new):,}). Leave "
                "out what it cannot score."
            )
            raise InputError(msg)
        self._bound = bound
        self._place[self.fitted :] = np.arange(len(self._new))
        self._place[fitted] = len(self._new) + np.arange(len(fitted))

    def _renamed(self, error: SimilarityError, a: int, b: int) -> SimilarityError:
        """Return the error with the caller's positions of its items before it."""
        names = [
            f"item {t}" if t < self.fitted else f"new item {t - self.fitted}"
            for t in (a, b)
        ]
        renamed = SimilarityError(
            f"{self._call}: scoring {names[0]} and {names[1]} failed: {error}"
        )
        renamed.__cause__ = error.__cause__
        return renamed
