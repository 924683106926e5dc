"""Items: whatever holds them becomes a plain list, by position."""

from collections.abc import (
    ItemsView,
    Iterable,
    Iterator,
    KeysView,
    Mapping,
    Sequence,
    Set,
    ValuesView,
)
from typing import Any, cast

import numpy as np

from fewpairs.errors import InputError

__all__ = ["Items", "as_items", "column_names", "holds_items"]

Items = Sequence[Any]  # a list, or an array of numbers: its rows

_COLUMNS = ("items", "left", "right")  # arguments that a `column` goes with
_VIEWS: tuple[type, ...] = (
    type({}.keys()),
    type({}.items()),
)  # sets by name, but in a fixed order


def as_items(
    items: Any,
    call: str,
    *,
    name: str = "items",
    column: Any = None,
    option: str = "column",
) -> Items:
    """Return items as a list of its own, position by position.

    A pandas Series looks up labels and an Arrow array holds scalars of its own kind, so
    nothing but a list goes further than this: of Series, Index, NumPy, Arrow and polars
    arrays, columns of Hugging Face datasets, tuples, generators and views of dicts.
    Objects stay the objects that they are. Only an array of numbers of two or more
    dimensions remains an array: its rows are the items.

    Parameters
    ----------
    items
        Anything that can be iterated and has an order.
    call, name
        How messages name the caller and its argument.
    column
        Of a table, or of rows that are mappings: the column that holds the items; or a
        function that makes an item of a row, which it gets as a dict.
    option
        How messages name ``column``.

    Examples
    --------
    >>> as_items({"a": 1, "b": 2}.values(), "call")
    [1, 2]
    >>> as_items([{"id": 1, "text": "x"}, {"id": 2, "text": "y"}], "c", column="text")
    ['x', 'y']
    """
    if column is not None:
        return _column(items, column, call, name, option)
    if column_names(items) is not None:
        msg = f"{call}: {name} is {_table(items, takes_column=name in _COLUMNS)}"
        raise InputError(msg)
    unordered = isinstance(items, (Set, Mapping)) and not isinstance(items, _VIEWS)
    if unordered or isinstance(items, (str, bytes, bytearray, memoryview, type)):
        raise _refused(items, call, name)
    if np.ma.is_masked(items) or hasattr(items, "toarray"):
        what = "masked" if np.ma.is_masked(items) else "sparse"
        msg = (
            f"{call}: {name} is a {what} array; every entry may be looked at. Pass a "
            "dense one, without a mask."
        )
        raise InputError(msg)
    if getattr(items, "ndim", 1) != 1 and hasattr(items, "__array__"):
        return _rows(items, call, name)
    return _listed(items, call, name)


def holds_items(thing: Any) -> bool:
    """Tell what can only be many items, such as a Series, from what may be one."""
    array = hasattr(thing, "__array__") and not isinstance(
        thing, (np.ndarray, np.generic)
    )
    views = (KeysView, ValuesView, ItemsView, Iterator)
    return isinstance(thing, views) or (array and getattr(thing, "ndim", 1) > 0)


def _listed(items: Any, call: str, name: str) -> list[Any]:
    if hasattr(items, "to_pylist"):  # Arrow: its scalars are no texts
        return list(items.to_pylist())
    if hasattr(items, "gather") and hasattr(items, "to_list"):
        return list(items.to_list())  # polars: lists in it would be Series
    if isinstance(items, np.ndarray) and items.dtype.kind in "UST":  # str, not str_
        return list(items.tolist())
    try:
        iterator = iter(items)
    except TypeError:
        raise _refused(items, call, name) from None
    return list(iterator)


def _rows(items: Any, call: str, name: str) -> Items:
    """Return the rows of an array: as they are where they hold numbers."""
    try:
        array = np.asarray(items)
    except (TypeError, RuntimeError, ValueError) as error:  # a tensor on a GPU
        msg = f"{call}: {name} cannot be read as an array: {error}"
        raise InputError(msg) from error
    if array.ndim == 0:
        raise _refused(items, call, name)
    return cast("Items", array) if array.dtype.kind in "biufc" else list(array)


def column_names(items: Any) -> list[Any] | None:
    """Return the names of a table's columns; ``None``: it is no table."""
    if isinstance(items, (list, tuple, Mapping, np.ndarray, type)):
        return None
    if hasattr(items, "collect_schema") and not hasattr(items, "__len__"):
        return []  # a query that has not run; asking for its columns would warn
    for attribute in ("column_names", "columns"):  # Arrow, datasets; pandas, polars
        names = getattr(items, attribute, None)
        if isinstance(names, Iterable) and hasattr(items, "__getitem__"):
            return list(names)
    return None


def _column(items: Any, column: Any, call: str, name: str, option: str) -> Items:
    """Return one column of a table, or of rows that are mappings."""
    names = column_names(items)
    if callable(column):
        return _made_of_rows(items, names, column, call, name)
    if names is not None:
        if isinstance(column, bool) or names.count(column) != 1:
            there = f"{', '.join(map(repr, names)):.200}"
            msg = (
                f"{call}: {option} is {column!r:.60}; {name} is a "
                f"{type(items).__name__} with the columns {there}. Name one of them "
                "that comes once, or pass a function that makes a text of a row."
            )
            raise InputError(msg)
        return as_items(items[column], call, name=name)
    rows = as_items(items, call, name=name)
    for t, row in enumerate(rows):
        if not isinstance(column, (str, int)) or not (
            isinstance(row, Mapping) and column in row
        ):
            msg = (
                f"{call}: {option} is {column!r:.60}, and {name}[{t}] is {row!r:.60}. "
                f"{option}= takes a table, or rows that are dicts with that key."
            )
            raise InputError(msg)
    return [row[column] for row in rows]


def _made_of_rows(
    items: Any, names: list[Any] | None, function: Any, call: str, name: str
) -> list[Any]:
    """Return what a function makes of every row; rows of tables are dicts."""
    rows: Any = as_items(items, call, name=name) if names is None else None
    if names is not None:
        columns = [as_items(items[one], call, name=name) for one in names]
        rows = (
            dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)
        )
    made = []
    for t, row in enumerate(rows):
        try:
            made.append(function(row))
        except Exception as error:
            msg = (
                f"{call}: column raises {type(error).__name__}: {error} for row {t} of "
                f"{name}, {row!r:.80}. Pass a column's name, or a function of one row."
            )
            raise InputError(msg) from error
    return made


def _table(items: Any, *, takes_column: bool) -> str:
    """Say which table it is, and how to name what is meant of it."""
    names = [repr(name) for name in column_names(items) or []]
    if not names and hasattr(items, "collect"):
        return (
            f"a {type(items).__name__}, a query that has not run. Pass its .collect()."
        )
    shown = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
    one = names[0] if names else "'text'"
    named = " or rows with `column=`;" if takes_column else ""
    return (
        f"a {type(items).__name__} with the columns {shown or '(not known)'}. Pass one "
        f"column, such as table[{one}],{named} for rows of numbers an array."
    )


def _refused(items: Any, call: str, name: str) -> InputError:
    cure = "Pass a sequence with one entry per item, such as "
    one = name != "items" or isinstance(items, (str, bytes))
    cure += "[item]." if one else "list(items)."
    if isinstance(items, Set):
        cure = "It has no order. Pass a sequence with one entry per item, sorted."
    elif isinstance(items, Mapping) and any(map(column_names, items.values())):
        first = next(iter(items))
        cure = f"Pass one of its tables, such as {name}[{first!r}], with `column=`."
    elif isinstance(items, Mapping):
        cure = f"Pass a sequence: list({name}.values()), or list({name})."
    kind = type(items).__name__
    shown = " ".join(f"{items!r:.60}".split())
    return InputError(f"{call}: {name} is {shown}, of type {kind}. {cure}")
