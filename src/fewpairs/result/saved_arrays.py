"""Saved arrays: whether what a folder holds can be what was saved, told at loading."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["check_saved_facts", "checked_arrays"]

Get = Callable[[str], NDArray[Any]]

_ROWS = 1 << 20  # numbers looked at at once
_POSITIONS = ("landmarks", "left-map-landmarks", "right-map-landmarks", "held-out")
# One row per item.
_BY_ITEM = (
    *("left", "right", "features", "prior", "proposer", "ceilings"),
    "correction-form-features",
)


def check_saved_facts(index: dict[str, Any]) -> int:
    """Return n; refuse facts that no approximation has."""
    n, symmetric, diagonal = index["n"], index["symmetric"], index["diagonal"]
    whole = isinstance(n, int) and not isinstance(n, bool) and n >= 2
    if not whole or not isinstance(symmetric, bool):
        msg = f"n is {n!r:.40} and symmetric is {symmetric!r:.40}"
        raise ValueError(msg)
    if diagonal is not None and not (
        isinstance(diagonal, (int, float)) and np.isfinite(diagonal)
    ):
        msg = f"diagonal is {diagonal!r:.40}"
        raise ValueError(msg)
    split = index.get("split")
    if split is not None and not (type(split) is int and 0 < split < n):
        msg = f"split is {split!r:.40}, of {n} items"
        raise ValueError(msg)
    return int(n)


def checked_arrays(get: Get, n: int) -> Get:
    """Return ``get`` that refuses NaN, positions of no item and misshapen arrays.

    Arrays that stay on disk (``mmap=True``) are not read for that; their shapes and
    types are looked at.
    """

    def checked(name: str) -> NDArray[Any]:
        array = get(name)
        if name in _BY_ITEM and (array.ndim not in (1, 2) or len(array) != n):
            msg = f"{name}.npy has shape {array.shape}, for {n:,} items"
            raise ValueError(msg)
        if name in _POSITIONS or name.endswith("-indices"):
            _check_positions(name, array, n)
        elif array.dtype.kind not in "biuf":
            msg = f"{name}.npy holds {array.dtype}, and not numbers"
            raise ValueError(msg)
        elif not isinstance(array, np.memmap):
            _check_finite(name, array)
        return array

    return checked


_MAY_BE_NONE = ("ceilings", "correction-levels")


def _check_positions(name: str, array: NDArray[Any], n: int) -> None:
    whole = array.dtype.kind in "iu" and array.ndim == (2 if name == "held-out" else 1)
    if not whole or array.min(initial=0) < 0 or array.max(initial=0) >= n:
        msg = (
            f"{name}.npy, {array.dtype} of shape {array.shape}, holds no positions of "
            f"{n:,} items"
        )
        raise ValueError(msg)


def _check_finite(name: str, array: NDArray[Any]) -> None:
    """Refuse NaN; infinity too, but in ceilings and levels, where it is none."""
    if array.dtype.kind != "f" or not array.size:
        return
    rows = array.reshape(len(array), -1) if array.ndim else array.reshape(1, 1)
    step = max(1, _ROWS // rows.shape[1])
    wrong = np.isnan if name in _MAY_BE_NONE else lambda part: ~np.isfinite(part)
    for start in range(0, len(rows), step):
        bad = np.argwhere(wrong(rows[start : start + step]))
        if len(bad):
            value = rows[start + bad[0][0], bad[0][1]]
            msg = f"{name}.npy holds {value} in row {start + bad[0][0]:,}"
            raise ValueError(msg)
