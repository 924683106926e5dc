"""Matches as a table: pandas, polars, CSV, with the input's names and columns."""

import csv
from typing import TYPE_CHECKING, Any

import numpy as np

from fewpairs.answers.sides import listed
from fewpairs.errors import MissingExtraError
from fewpairs.types import Indices

if TYPE_CHECKING:
    from fewpairs.answers.matches import Matches

__all__ = ["as_columns", "as_pandas", "as_polars", "write_csv"]


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


def as_pandas(matches: "Matches", *, unmatched: bool) -> Any:
    """Return a pandas DataFrame."""
    pandas = _library("pandas")
    columns = as_columns(matches, unmatched=unmatched)
    made = {name: _for_pandas(pandas, values) for name, values in columns.items()}
    return pandas.DataFrame(made)


def as_polars(matches: "Matches", *, unmatched: bool) -> Any:
    """Return a polars DataFrame."""
    polars = _library("polars")
    columns = as_columns(matches, unmatched=unmatched)
    made = {
        name: values
        if isinstance(values, (np.ndarray, polars.Series))
        else _for_polars(polars, name, list(listed(values)))
        for name, values in columns.items()
    }
    return polars.DataFrame(made)


def _for_polars(polars: Any, name: str, values: list[Any]) -> Any:
    """Return a column of the kind that its values have; of several kinds, objects."""
    try:
        return polars.Series(name, values)
    except (TypeError, polars.exceptions.PolarsError):
        there = [value for value in values if value is not None]
        if all(isinstance(value, (int, float)) for value in there):
            return polars.Series(name, values, strict=False)
        return polars.Series(name, values, dtype=polars.Object)


def write_csv(matches: "Matches", path: str, *, unmatched: bool) -> None:
    """Write a CSV file in UTF-8; nothing stands where there is nothing."""
    columns = as_columns(matches, unmatched=unmatched)
    rows = zip(*(_plain(values) for values in columns.values()), strict=True)
    with open(path, "w", encoding="utf-8", newline="") as file:  # noqa: PTH123 - a str
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)


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


def _for_pandas(pandas: Any, values: Any) -> Any:
    """Keep what is pandas' own; whole numbers with gaps stay whole numbers."""
    if isinstance(values, (np.ndarray, pandas.Series, pandas.Index)):
        return values.array if hasattr(values, "array") else values
    found = listed(values)
    if any(value is None for value in found):
        return pandas.array(found)
    return pandas.Series(found)


def _plain(values: Any) -> list[Any]:
    return [
        "" if value is None or (isinstance(value, float) and np.isnan(value)) else value
        for value in listed(values)
    ]


def _library(name: str) -> Any:
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError as error:
        msg = f"Matches.to_{name}: {name} is not installed. Run: pip install {name}"
        raise MissingExtraError(msg) from error
