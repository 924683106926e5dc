"""Frames: columns by name as a pandas, polars or Arrow table, or as a CSV file."""

import csv
from importlib import import_module
from typing import Any

import numpy as np

from fewpairs.answers.sides import listed
from fewpairs.errors import MissingExtraError

__all__ = ["as_arrow", "as_pandas", "as_polars", "write_csv"]

Columns = dict[str, Any]


def as_pandas(columns: Columns, call: str) -> Any:
    """Return a pandas DataFrame."""
    pandas = _library("pandas", call)
    made = {name: _for_pandas(pandas, values) for name, values in columns.items()}
    return pandas.DataFrame(made)


def as_polars(columns: Columns, call: str) -> Any:
    """Return a polars DataFrame."""
    polars = _library("polars", call)
    made = {
        name: values
        if isinstance(values, (np.ndarray, polars.Series))
        else _for_polars(polars, name, list(listed(values)))
        for name, values in columns.items()
    }
    return polars.DataFrame(made)


def as_arrow(columns: Columns, call: str) -> Any:
    """Return a pyarrow Table; values of several kinds become texts."""
    pyarrow = _library("pyarrow", call, to="arrow")
    return pyarrow.table(
        {name: _for_arrow(pyarrow, values) for name, values in columns.items()}
    )


def write_csv(columns: Columns, path: str) -> None:
    """Write a CSV file in UTF-8; nothing stands where there is nothing."""
    rows = zip(*(_plain(values) for values in columns.values()), strict=True)
    with open(path, "w", encoding="utf-8", newline="") as file:  # noqa: PTH123 - a str
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)


def _for_pandas(pandas: Any, values: Any) -> Any:
    """Keep what is pandas' own; whole numbers with gaps stay whole numbers."""
    if isinstance(values, (np.ndarray, pandas.Series, pandas.Index)):
        return values.array if hasattr(values, "array") else values
    found = listed(values)
    if any(value is None for value in found):
        return pandas.array(found)
    return pandas.Series(found)


def _for_polars(polars: Any, name: str, values: list[Any]) -> Any:
    """Return a column of the kind that its values have; of several kinds, objects."""
    try:
        return polars.Series(name, values)
    except (TypeError, polars.exceptions.PolarsError):
        there = [value for value in values if value is not None]
        if all(isinstance(value, (int, float)) for value in there):
            return polars.Series(name, values, strict=False)
        return polars.Series(name, values, dtype=polars.Object)


def _for_arrow(pyarrow: Any, values: Any) -> Any:
    if isinstance(values, np.ndarray):
        return pyarrow.array(values)
    if isinstance(values, (pyarrow.Array, pyarrow.ChunkedArray)):
        return values
    found = list(listed(values))
    try:
        return pyarrow.array(found)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError):
        return pyarrow.array([None if v is None else str(v) for v in found])


def _plain(values: Any) -> list[Any]:
    return [
        "" if value is None or (isinstance(value, float) and np.isnan(value)) else value
        for value in listed(values)
    ]


def _library(name: str, call: str, to: str | None = None) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        to = to or name
        msg = f"{call}.to_{to}: {name} is not installed. Run: pip install {name}"
        raise MissingExtraError(msg) from error
