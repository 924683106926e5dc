"""Compared: what a job is about, the items of one set or of two, bound once."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fewpairs.answers.sides import Side, check_names, side_of
from fewpairs.errors import InputError
from fewpairs.ledger.opening import known_by
from fewpairs.similarity.base import Scorer, Similarity
from fewpairs.similarity.binding import as_similarity, bind, listed
from fewpairs.similarity.items import Items, as_items
from fewpairs.similarity.two_sets import of_two_sets

__all__ = ["ColumnsOfTwo", "Compared", "one_set", "two_sides"]


@dataclass(frozen=True, eq=False)
class Compared:
    """Items, and the similarity bound to them.

    Attributes
    ----------
    recipe, scorer
        The similarity, and it bound to the items.
    items
        All of them on one axis, left ones first; ``None``: positions of a matrix.
    known
        What a ledger knows them by.
    given
        How `fewpairs.approximate` is called for the same.
    sides
        The rows of both sides; of one set, the same twice.
    """

    recipe: Similarity
    scorer: Scorer
    items: Items | None
    known: Any
    given: dict[str, Any]
    sides: tuple[Side, Side]


def one_set(items: Any, similarity: Any, column: Any, call: str) -> Compared:
    """Return the items of one set, checked and bound."""
    recipe = as_similarity(similarity, call)
    items = list(items) if isinstance(items, Iterator) else items
    found = listed(items, column, call)
    scorer = bind(found, recipe, call)
    known = known_by(items, found)
    side = side_of(items, found, scorer.n, column=column, kept=scorer.kept)
    given = {"items": known, "similarity": recipe}
    return Compared(recipe, scorer, found, known, given, (side, side))


@dataclass(frozen=True)
class ColumnsOfTwo:
    """How two inputs are read: which columns are compared, and which name the rows."""

    column: Any = None
    left_column: Any = None
    right_column: Any = None
    left_id: Any = None
    right_id: Any = None

    def of(self, name: str) -> tuple[Any, Any]:
        """Return the columns of one of them: what is compared, and the ids."""
        own, ids = (
            (self.left_column, self.left_id)
            if name == "left"
            else (self.right_column, self.right_id)
        )
        return (self.column if own is None else own), ids


def two_sides(
    left: Any, right: Any, similarity: Any, how: ColumnsOfTwo, call: str
) -> Compared:
    """Return the items of two sets on one axis, checked and bound."""
    recipe = as_similarity(similarity, call)
    found, sides = {}, {}
    for name, given in (("left", left), ("right", right)):
        found[name], sides[name] = _read(given, how, call, name)
    shape = getattr(recipe, "shape", None)
    if found["right"] is None and shape is not None:
        found["right"] = range(shape[1])  # lest a square matrix be taken for one set
    two, joined = of_two_sets(found["left"], found["right"], recipe, call)
    scorer = bind(joined, two, call)
    two = two.bound_by(scorer)
    given = {"items": found["left"], "similarity": recipe, "others": found["right"]}
    both = _stayed(sides, two.given, scorer, call)
    return Compared(two, scorer, joined, joined, given, both)


def _read(
    given: Any, how: ColumnsOfTwo, call: str, name: str
) -> tuple[Items | None, Side]:
    """Return the items of a side, and its rows, which have a name each."""
    column, ids = how.of(name)
    if given is None and column is None and ids is None:
        return None, Side(0)  # a matrix says how many there are
    given = list(given) if isinstance(given, Iterator) else given
    items = as_items(given, call, name=name, column=column)
    if not len(items):
        msg = (
            f"{call}: {name} is empty; it takes a row on either side to have a pair. "
            "Check how it was read."
        )
        raise InputError(msg)
    if ids is not None:  # a column that is missing is told as any other
        as_items(given, call, name=name, column=ids)
    side = side_of(given, items, len(items), column=column, ids=ids)
    check_names(side, call, name, ids)
    return items, side


def _stayed(
    sides: dict[str, Side], m: int, scorer: Scorer, call: str
) -> tuple[Side, Side]:
    """Return the sides as they are compared, where a similarity drops rows."""
    kept = scorer.kept
    left, right = sides["left"], sides["right"]
    if kept is None:
        return _sized(left, m), _sized(right, scorer.n - m)
    parts = kept[kept < m], kept[kept >= m] - m
    for name, part in zip(sides, parts, strict=True):
        if not len(part):
            msg = f"{call}: the similarity dropped every row of {name}. Mend its rows."
            raise InputError(msg)
    return _sized(left, len(parts[0]), parts[0]), _sized(right, len(parts[1]), parts[1])


def _sized(side: Side, n: int, kept: Any = None) -> Side:
    kept = None if kept is None else np.asarray(kept)
    return replace(side, n=n, kept=kept)
