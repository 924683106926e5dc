"""Missing texts: counted before anything is paid for, refused or left out."""

from typing import Any

import numpy as np

from fewpairs.checks import check_choice
from fewpairs.errors import InputError
from fewpairs.similarity.items import Items
from fewpairs.types import Indices

__all__ = ["EMPTY", "rows_present", "without_missing"]

EMPTY = ("error", "drop")


def without_missing(
    items: Items | None, empty: str, call: str, *, name: str = "items"
) -> tuple[Items | None, Indices | None]:
    """Return the texts that are there, and their positions; ``None``: all of them.

    Among texts, ``None``, NaN and pandas' NA are missing. They are refused, or with
    ``empty="drop"`` left out, and blank texts with them. Items of other kinds stay as
    they are.
    """
    check_choice(call, "empty", empty, EMPTY)
    if items is None or isinstance(items, np.ndarray):
        return items, None
    if not any(isinstance(item, str) for item in items):
        return items, None
    gone = [t for t, item in enumerate(items) if is_missing(item)]
    if gone and empty == "error":
        first = items[gone[0]]
        msg = (
            f"{call}: {name}[{gone[0]}] is {first!r}, of type {type(first).__name__}; "
            f"every item must be a str. {len(gone):,} of {len(items):,} texts are "
            "missing. Pass empty='drop' to leave them out, or fill them first."
        )
        raise InputError(msg)
    if empty == "drop":
        blank = (isinstance(item, str) and not item.strip() for item in items)
        gone = sorted({*gone, *(t for t, is_blank in enumerate(blank) if is_blank)})
    if not gone:
        return items, None
    present = np.setdiff1d(np.arange(len(items)), gone)
    return [items[int(t)] for t in present], present


def is_missing(item: Any) -> bool:
    """Tell None, NaN and NA: the last two are not equal to themselves.

    >>> [is_missing(item) for item in (None, float("nan"), "", 0)]
    [True, True, False, False]
    """
    if item is None:
        return True
    if isinstance(item, str):
        return False
    return type(item).__name__ in ("NAType", "NaTType") or (
        isinstance(item, float) and item != item  # noqa: PLR0124
    )


def rows_present(prior: Any, present: Indices | None, given: int) -> Any:
    """Return a prior of the texts that are there: rows of arrays, of lists too."""
    if present is None:
        return prior
    if isinstance(prior, list):
        return [rows_present(part, present, given) for part in prior]
    if hasattr(prior, "__array__") and len(prior) == given:
        return np.asarray(prior)[present]
    return prior
