"""Given rows: what a caller passed as items, read once, with its names and gaps."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fewpairs.answers.sides import Side, check_names, side_of
from fewpairs.errors import FewpairsWarning, InputError
from fewpairs.similarity.items import Items, as_items, column_names
from fewpairs.similarity.missing import rows_present, without_missing
from fewpairs.types import Indices

__all__ = ["GivenRows", "read_rows"]


@dataclass(frozen=True, eq=False)
class GivenRows:
    """Items by position, and how their rows are called.

    Attributes
    ----------
    given
        What was passed; a list in place of an iterator.
    items
        Those that are there; ``None``: positions of a matrix.
    number
        How many were given, missing ones included.
    present
        Positions of those that are there; ``None``: all.
    """

    given: Any
    items: Items | None
    number: int
    present: Indices | None
    side: Side

    def stayed(self, n: int, kept: Indices | None = None) -> Side:
        """Return the side as it is compared, where a similarity drops more rows."""
        present = self.present
        if kept is not None:
            kept = np.asarray(kept)
            present = kept if present is None else present[kept]
        return replace(self.side, n=n, kept=present)

    def prior(self, prior: Any) -> Any:
        """Return a prior without the rows of items that are missing."""
        return rows_present(prior, self.present, self.number)


def read_rows(
    given: Any,
    call: str,
    *,
    name: str = "items",
    column: Any = None,
    ids: Any = None,
    empty: str = "error",
    unique: bool = False,
) -> GivenRows:
    """Read what was passed, and refuse what nobody could tell apart.

    Parameters
    ----------
    ids
        The column of a table that names its rows, or a name per row.
    empty
        What becomes of missing texts: ``"error"`` or ``"drop"``.
    unique
        Refuse a pandas index that repeats; else positions take its place, with a
        warning.
    """
    if given is None and column is None and ids is None:
        without_missing(None, empty, call)
        return GivenRows(None, None, 0, None, Side(0))
    given = list(given) if isinstance(given, Iterator) else given
    every = as_items(given, call, name=name, column=column)
    items, present = without_missing(every, empty, call, name=name)
    by_column = isinstance(ids, (str, int)) and not isinstance(ids, bool)
    if by_column:  # a column that is missing is told as any other
        as_items(given, call, name=name, column=ids, option="ids")
    column_of_ids = ids if by_column else None
    side = side_of(given, every, len(every), column=column, ids=column_of_ids)
    if ids is not None and not by_column:
        side = replace(side, names=_names(ids, len(every), call, name))
    if ids is not None or unique:
        check_names(side, call, name, ids if by_column else None)
    elif not getattr(side.names, "is_unique", True):
        warnings.warn(_repeats(call, name), FewpairsWarning, stacklevel=4)
        side = replace(side, names=None)
    return GivenRows(given, items, len(every), present, side)


def _repeats(call: str, name: str) -> str:
    return (
        f"{call}: the index of {name} repeats, as after pandas.concat: results name "
        f"rows by position. Pass {name}.reset_index(drop=True), or ids=."
    )


def _names(ids: Any, number: int, call: str, name: str) -> Sequence[Any]:
    """Return a name per row."""
    if column_names(ids) is not None or not hasattr(ids, "__len__"):
        msg = (
            f"{call}: ids is a {type(ids).__name__}. Pass the name of a column of "
            f"{name}, or a sequence with one id per row."
        )
        raise InputError(msg)
    names = as_items(ids, call, name="ids")
    if len(names) != number:
        msg = f"{call}: {len(names):,} ids for {number:,} rows. Pass one per row."
        raise InputError(msg)
    return names
