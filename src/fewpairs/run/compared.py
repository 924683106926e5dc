"""Compared: what a job is about, the items of one set or of two, bound once."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fewpairs.answers.sides import Side
from fewpairs.errors import InputError
from fewpairs.ledger.opening import known_by
from fewpairs.run.given_rows import GivenRows, read_rows
from fewpairs.similarity.base import Scorer, Similarity
from fewpairs.similarity.binding import as_similarity, bind
from fewpairs.similarity.items import Items
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
    rows
        What was given of each; of one set, one.
    """

    recipe: Similarity
    scorer: Scorer
    items: Items | None
    known: Any
    given: dict[str, Any]
    sides: tuple[Side, Side]
    rows: tuple[GivenRows, ...]

    def prior(self, prior: Any) -> Any:
        """Return a prior without the rows of items that are missing."""
        if len(self.rows) == 1:
            return self.rows[0].prior(prior)
        if isinstance(prior, tuple) and len(prior) == 2:
            pairs = zip(self.rows, prior, strict=True)
            return tuple(rows.prior(part) for rows, part in pairs)
        return prior


def one_set(
    items: Any,
    similarity: Any,
    call: str,
    *,
    column: Any = None,
    ids: Any = None,
    empty: str = "error",
) -> Compared:
    """Return the items of one set, checked and bound."""
    recipe = as_similarity(similarity, call)
    rows = read_rows(items, call, column=column, ids=ids, empty=empty)
    scorer = bind(rows.items, recipe, call)
    known = rows.items
    if rows.present is None:
        known = known_by(rows.given, rows.items)
    side = rows.stayed(scorer.n, scorer.kept)
    given = {"items": known, "similarity": recipe}
    return Compared(recipe, scorer, rows.items, known, given, (side, side), (rows,))


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
    left: Any,
    right: Any,
    similarity: Any,
    how: ColumnsOfTwo,
    call: str,
    *,
    empty: str,
) -> Compared:
    """Return the items of two sets on one axis, checked and bound."""
    recipe = as_similarity(similarity, call)
    rows = {
        name: _read(given, how, call, name, empty)
        for name, given in (("left", left), ("right", right))
    }
    found = {name: part.items for name, part in rows.items()}
    shape = getattr(recipe, "shape", None)
    if found["right"] is None and shape is not None:
        found["right"] = range(shape[1])  # lest a square matrix be taken for one set
    two, joined = of_two_sets(found["left"], found["right"], recipe, call)
    scorer = bind(joined, two, call)
    two = two.bound_by(scorer)
    given = {"items": found["left"], "similarity": recipe, "others": found["right"]}
    both = _stayed(rows, two.given, scorer, call)
    return Compared(two, scorer, joined, joined, given, both, tuple(rows.values()))


def _read(given: Any, how: ColumnsOfTwo, call: str, name: str, empty: str) -> GivenRows:
    """Return the items of a side, and its rows, which have a name each."""
    column, ids = how.of(name)
    options = {"column": column, "ids": ids, "empty": empty}
    rows = read_rows(given, call, name=name, unique=True, **options)
    if rows.items is not None and not len(rows.items):
        msg = (
            f"{call}: {name} is empty; it takes a row on either side to have a pair. "
            "Check how it was read."
        )
        raise InputError(msg)
    return rows


def _stayed(
    rows: Mapping[str, GivenRows], m: int, scorer: Scorer, call: str
) -> tuple[Side, Side]:
    """Return the sides as they are compared, where a similarity drops rows."""
    kept = scorer.kept
    left, right = rows["left"], rows["right"]
    if kept is None:
        return left.stayed(m), right.stayed(scorer.n - m)
    parts = kept[kept < m], kept[kept >= m] - m
    for name, part in zip(rows, parts, strict=True):
        if not len(part):
            msg = f"{call}: the similarity dropped every row of {name}. Mend its rows."
            raise InputError(msg)
    first, second = parts
    return left.stayed(len(first), first), right.stayed(len(second), second)
