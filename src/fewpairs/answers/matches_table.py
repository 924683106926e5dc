"""Matches as columns by name: the input's names and columns, and what was found."""

from typing import TYPE_CHECKING, Any

import numpy as np

from fewpairs.answers.sides import listed
from fewpairs.types import Indices

if TYPE_CHECKING:
    from fewpairs.answers.matches import Matches

__all__ = ["as_columns"]


def as_columns(matches: "Matches", *, unmatched: bool) -> dict[str, Any]:
    """Return columns by name: rows' names, similarity, rank, margin, the input's own.

    With ``unmatched``, rows without a match follow: of the left side, then of the
    right, with nothing in the columns of the other.
    """
    number = len(matches)
    left, right = matches.left, matches.right
    extra = 0
    if unmatched:
        alone = matches.unmatched
        others = alone.right[:0] if matches.one_set else alone.right
        nobody = np.full(len(alone.left), -1), np.full(len(others), -1)
        left = np.concatenate([left, alone.left, nobody[1]])
        right = np.concatenate([right, nobody[0], others])
        extra = len(left) - number
    columns: dict[str, Any] = {
        "left": _called(matches, 0, left),
        "right": _called(matches, 1, right),
        "similarity": _longer(matches.similarity, extra),
        "rank": _longer(matches.rank, extra),
        "margin": _longer(matches.margin, extra),
    }
    for number, (name, positions) in enumerate((("left", left), ("right", right))):
        side = matches.sides[number]
        for column in side.columns:
            columns[_free(f"{name}_{column}", columns)] = _values(
                matches, number, column, positions
            )
    return columns


def _called(matches: "Matches", side: int, positions: Indices) -> Any:
    return _whole(matches.sides[side].called, positions)


def _values(matches: "Matches", side: int, column: str, positions: Indices) -> Any:
    def values(rows: Indices) -> Any:
        return matches.sides[side].values(column, rows)

    return _whole(values, positions)


def _whole(values: Any, positions: Indices) -> Any:
    """Return values at positions; where one is −1, a list with ``None`` there."""
    there = positions >= 0
    if there.all():
        return values(positions)
    out: list[Any] = [None] * len(positions)
    found = listed(values(positions[there]))
    for place, value in zip(np.flatnonzero(there), found, strict=True):
        out[place] = value
    return out


def _longer(values: Any, extra: int) -> Any:
    return [*values.tolist(), *[None] * extra] if extra else values


def _free(name: str, taken: dict[str, Any]) -> str:
    while name in taken:
        name += "_"
    return name
