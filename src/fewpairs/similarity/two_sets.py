"""Two sets on one axis: a similarity of left items to right ones, and of no others."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.errors import InputError, SimilarityError
from fewpairs.similarity.base import Interrupted, Scorer, Similarity
from fewpairs.similarity.items import Items, as_items
from fewpairs.similarity.paid_answers import PaidAnswers
from fewpairs.similarity.service import Allowed
from fewpairs.similarity.wrapping import Wrapping
from fewpairs.types import Indices

__all__ = ["TwoSets", "is_of_two_sets", "joined_items", "of_two_sets", "two_sets"]


@dataclass(frozen=True, repr=False, eq=False)
class TwoSets(Wrapping):
    """The similarity of m left items, then n right ones, as one list of m + n.

    Position i < m is left item i and position m + j right item j. Only a left and a
    right item make a pair, and s(left, right) is what is evaluated, in whatever order
    positions are named. So it is symmetric by definition; nothing within a side is ever
    asked of the similarity.

    Parameters
    ----------
    similarity
        What scores a left item and a right one.
    given
        Number of left items.
    split
        Position of the first right item: m, where none was dropped.
    """

    given: int
    split: int

    symmetric = True
    proven = True

    @property
    def size(self) -> int | None:
        """Number of items of both sides, where a matrix tells."""
        shape = getattr(self.similarity, "shape", None)
        return None if shape is None else int(sum(shape))

    def identify(self) -> Iterable[Any]:
        """Return what the similarity is known by, and where the sides part."""
        yield from ("two sets", self.given)
        yield from self.similarity.identify()

    def bind(self, items: Sequence[Any]) -> Scorer:
        """Bind both sides, each item once."""
        left, right = items[: self.given], items[self.given :]
        return _Across(self.similarity.bind_two(left, right), self.given)

    def beside(
        self, new_items: Sequence[Any], items: Sequence[Any], positions: Indices
    ) -> Scorer:
        """Bind new left items beside some right ones."""
        bound = self.similarity.beside_two(new_items, items, positions)
        return _Across(bound, len(new_items))

    def bound_by(self, scorer: Scorer) -> "TwoSets":
        """Return the same, where the scorer has dropped items."""
        if scorer.kept is None:
            return self
        split = int(np.count_nonzero(scorer.kept < self.given))
        if split in (0, scorer.n):
            side = "items" if split == 0 else "others"
            msg = f"{self.name} dropped all of the {side}; each of two sets needs one."
            raise InputError(msg)
        return replace(self, split=split)


class _Across(Scorer):
    """Pairs of a left and a right item, in the order that the similarity takes."""

    split: int

    def __init__(self, bound: Scorer, given: int) -> None:
        self.n, self.kept, self.dtype = bound.n, bound.kept, bound.dtype
        self.chunk, self.price = bound.chunk, bound.price
        self.backend = bound.backend
        self.split = given
        if bound.kept is not None:
            self.split = int(np.count_nonzero(bound.kept < given))
        self._bound = bound

    @property
    def has_blocks(self) -> bool:
        """As the scorer has."""
        return self._bound.has_blocks

    def watch(self, note: Callable[[str], object]) -> None:
        """Tell what the scorer tells."""
        self._bound.watch(note)

    def prepare(self, tell: Callable[[str], None]) -> None:
        """Prepare the scorer."""
        self._bound.prepare(tell)

    def spent(self) -> float | None:
        """Return what the scorer says."""
        return self._bound.spent()

    @property
    def stops(self) -> bool:
        """As the scorer does."""
        return self._bound.stops

    def keep_answers(self, answers: PaidAnswers) -> None:
        """Have the scorer keep its answers."""
        self._bound.keep_answers(answers)

    @property
    def has_bounds(self) -> bool:
        """As the scorer has."""
        return self._bound.has_bounds

    @property
    def prunes(self) -> bool:
        """As the scorer does."""
        return self._bound.prunes

    def upper_bound(self, i: Indices, j: Indices) -> NDArray[np.float64]:
        """Return the scorer's bounds of the left and the right item of every pair."""
        return self._bound.upper_bound(np.minimum(i, j), np.maximum(i, j))

    def may_reach(
        self, rows: Indices, columns: Indices, least: float
    ) -> NDArray[np.bool_]:
        """Tell which pairs of left rows and right columns may reach ``least``."""
        if len(rows) and rows[0] >= self.split:
            return self._bound.may_reach(columns, rows, least).T
        return self._bound.may_reach(rows, columns, least)

    def pairs(self, i: Indices, j: Indices) -> NDArray[Any]:
        """Return the similarity of the left to the right item of every pair."""
        return self._asked(i, j, None)

    def pairs_within(self, i: Indices, j: Indices, allowed: Allowed) -> NDArray[Any]:
        """Return them within money and time."""
        return self._asked(i, j, allowed)

    def _asked(self, i: Indices, j: Indices, allowed: Allowed | None) -> NDArray[Any]:
        left, right = np.minimum(i, j), np.maximum(i, j)
        self._refuse_within(left, right)
        try:
            if allowed is not None:
                return self._bound.pairs_within(left, right, allowed)
            return self._bound.pairs(left, right)
        except Interrupted as stop:
            if isinstance(stop.cause, SimilarityError):
                stop.cause = self._renamed(stop.cause)
            raise

    def _renamed(self, error: SimilarityError) -> SimilarityError:
        """Return the error with positions as the caller counts them."""
        if error.pair is None:
            return error
        i, j = error.pair
        told = str(error).replace(f"items[{j}]", f"others[{j - self.split}]")
        renamed = SimilarityError(told, pair=(i, j - self.split))
        renamed.__cause__ = error.__cause__
        return renamed

    def _refuse_within(self, left: Indices, right: Indices) -> None:
        if len(left) and (left.max() >= self.split or right.min() < self.split):
            msg = "two sets: a pair within a side was asked for; there is none"
            raise AssertionError(msg)

    def block(self, rows: Indices, columns: Indices) -> NDArray[Any]:
        """Return the similarities of all rows to all columns, of different sides."""
        if not (len(rows) and len(columns)):
            return np.empty((len(rows), len(columns)), dtype=self.dtype)
        if rows[0] < self.split:
            self._refuse_within(rows, columns)
            return self._bound.block(rows, columns)
        self._refuse_within(columns, rows)
        return np.asarray(self._bound.block(columns, rows).T)

    def block_above(
        self, rows: Indices, columns: Indices, least: float
    ) -> NDArray[Any]:
        """Return a block of which only what is at least ``least`` is wanted."""
        if len(rows) and len(columns) and rows[0] < self.split:
            self._refuse_within(rows, columns)
            return self._bound.block_above(rows, columns, least)
        return self.block(rows, columns)


def two_sets(similarity: Similarity, m: int) -> TwoSets:
    """Return a similarity of m left items and of those that follow them."""
    return TwoSets(similarity, m, m)


def is_of_two_sets(similarity: Similarity) -> bool:
    """Tell a matrix that cannot be of one set: it is not square."""
    shape = getattr(similarity, "shape", None)
    return shape is not None and shape[0] != shape[1]


def of_two_sets(
    left: Items | None, right: Items | None, similarity: Similarity, call: str
) -> tuple[TwoSets, Items | None]:
    """Return a similarity of two sets and its items, left ones first, or say why not.

    Without items, those of a matrix: it says how many there are.
    """
    shape = getattr(similarity, "shape", None)
    if left is None and shape is None:
        msg = f"{call}: items is None; only a precomputed matrix needs no items."
        raise InputError(msg)
    if right is None and shape is None:
        msg = f"{call}: others is None; pass the items of the second set."
        raise InputError(msg)
    first = range(shape[0]) if left is None and shape is not None else left
    second = range(shape[1]) if right is None and shape is not None else right
    if first is None or second is None:  # told above
        raise AssertionError(call)
    for name, side in (("items", first), ("others", second)):
        if len(side) == 0:
            msg = f"{call}: {name} is empty; each of two sets needs an item at least."
            raise InputError(msg)
    if shape is not None and (len(first), len(second)) != tuple(shape):
        msg = (
            f"{call}: {len(first):,} items and {len(second):,} others, and the matrix "
            f"is {shape[0]:,} × {shape[1]:,}. Pass one item a row and one of the "
            "others a column, or items=None."
        )
        raise InputError(msg)
    made = two_sets(similarity, len(first))
    if left is None and right is None:
        return made, None
    return made, joined_items(first, second)


def joined_items(left: Items, right: Items) -> Items:
    """Return left items and right ones in one list, or one array of their rows."""
    arrays = isinstance(left, np.ndarray) and isinstance(right, np.ndarray)
    if arrays and np.shape(left)[1:] == np.shape(right)[1:]:
        return as_items(np.concatenate([left, right]), "two sets")
    return [*left, *right]
