"""Positions: what names items, as NumPy reads it."""

from typing import Any

import numpy as np

from fewpairs.checks import shown
from fewpairs.errors import InputError
from fewpairs.types import Indices

__all__ = ["positions_of"]


def positions_of(where: Any, n: int, call: str, *, most: int | None = None) -> Indices:
    """Return positions below n, of at most so many dimensions, or say what they are.

    Numbers, lists and arrays of them, slices and boolean masks; negative ones count
    from the end.

    >>> positions_of([0, -1], 5, "call").tolist()
    [0, 4]
    """
    try:
        at = where if isinstance(where, slice) else np.asarray(where)
        if isinstance(at, np.ndarray) and at.size == 0:
            at = at.astype(np.int64)
        found = np.asarray(np.arange(n)[at])
    except Exception as error:
        raise _no_items(where, n, call) from error
    if most is not None and found.ndim > most:
        raise _no_items(where, n, call)
    return found


def _no_items(where: Any, n: int, call: str) -> InputError:
    return InputError(
        f"{call}: {shown(where)} does not name items; positions are whole numbers from "
        f"0 to {n - 1}."
    )
