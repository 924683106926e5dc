"""Checks of single arguments: a number, a flag, one of several words, a function.

Each returns the argument, or raises an `InputError` that names the call, the argument,
what was got and what to pass.
"""

import math
from collections.abc import Sequence
from numbers import Integral, Real
from os import PathLike, fspath
from typing import Any

import numpy as np

from fewpairs.errors import InputError

__all__ = [
    "check_array",
    "check_choice",
    "check_flag",
    "check_function",
    "check_instance",
    "check_number",
    "check_path",
    "check_text",
    "check_whole",
    "refuse",
    "shown",
]

_LARGEST = 1 << 62  # whole numbers stay within 64 bits, sums of a few of them too


def shown(value: Any) -> str:
    """Return a value for a message: short, even if it refuses to be shown."""
    try:
        return f"{value!r:.60}"
    except Exception:  # noqa: BLE001 - an object may refuse to be shown
        return f"of type {type(value).__name__}"


def refuse(call: str, name: str, value: Any, cure: str) -> InputError:
    """Return the error of an argument that cannot work."""
    return InputError(f"{call}: {name} is {shown(value)}; pass {cure}.")


def check_whole(
    call: str,
    name: str,
    value: Any,
    *,
    least: int = 0,
    most: int = _LARGEST,
    none: bool = False,
) -> Any:
    """Return a whole number from ``least`` to ``most``, or ``None`` where it may be."""
    if value is None and none:
        return None
    whole = isinstance(value, Integral) and not isinstance(value, (bool, np.bool_))
    if not whole or not least <= int(value) <= most:
        end = "on" if most == _LARGEST else f"to {most:,}"
        or_none = ", or None" if none else ""
        cure = f"a whole number from {least:,} {end}{or_none}"
        raise refuse(call, name, value, cure)
    return int(value)


def check_number(
    call: str,
    name: str,
    value: Any,
    *,
    least: float | None = None,
    above: float | None = None,
    most: float | None = None,
    none: bool = False,
) -> Any:
    """Return a finite number within its range, or ``None`` where it may be."""
    if value is None and none:
        return None
    real = isinstance(value, Real) and not isinstance(value, (bool, np.bool_))
    number = _as_float(value) if real else math.nan
    good = (
        math.isfinite(number)
        and (least is None or number >= least)
        and (above is None or number > above)
        and (most is None or number <= most)
    )
    if not good:
        low = "" if least is None else f" from {least:g}"
        low = low if above is None else f" above {above:g}"
        high = "" if most is None else f" to {most:g}"
        end = " on" if least is not None and most is None and above is None else ""
        cure = f"a number{low}{high}{end}" if low or high else "one finite number"
        raise refuse(call, name, value, f"{cure}{', or None' if none else ''}")
    return number if isinstance(value, Real) and not isinstance(value, int) else value


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def check_flag(call: str, name: str, value: Any, *, none: bool = False) -> Any:
    """Return True or False, or ``None`` where it may be."""
    if value is None and none:
        return None
    if not isinstance(value, (bool, np.bool_)):
        cure = "True, False or None" if none else "True or False"
        raise refuse(call, name, value, cure)
    return bool(value)


def check_choice(call: str, name: str, value: Any, allowed: Sequence[Any]) -> Any:
    """Return one of several words; ``None`` counts as one where it is allowed."""
    words = [word for word in allowed if isinstance(word, str)]
    if (isinstance(value, str) and value in words) or (
        value is None and None in allowed
    ):
        return value
    *most, last = [repr(word) for word in allowed]
    raise refuse(call, name, value, f"{', '.join(most)} or {last}")


def check_text(call: str, name: str, value: Any, *, none: bool = False) -> Any:
    """Return a text that is not empty and can be written, or ``None``."""
    if value is None and none:
        return None
    if not isinstance(value, str) or not value or not _encodable(value):
        raise refuse(call, name, value, f"a text{', or None' if none else ''}")
    return value


def check_function(
    call: str, name: str, value: Any, *, cure: str = "a function", none: bool = False
) -> Any:
    """Return what can be called, or ``None`` where it may be."""
    if value is None and none:
        return None
    if not callable(value):
        raise refuse(call, name, value, f"{cure}{', or None' if none else ''}")
    return value


def check_instance(
    call: str, name: str, value: Any, kind: type, cure: str, *, none: bool = False
) -> Any:
    """Return an object of a kind, or ``None`` where it may be."""
    if (value is None and none) or isinstance(value, kind):
        return value
    raise refuse(call, name, value, f"{cure}{', or None' if none else ''}")


def check_path(call: str, name: str, value: Any) -> str:
    """Return a path that a file system can have."""
    cure = "the path of a folder or file"
    if not isinstance(value, (str, PathLike)):
        raise refuse(call, name, value, cure)
    path = fspath(value)
    if not isinstance(path, str) or not path or "\0" in path or not _encodable(path):
        raise refuse(call, name, value, cure)
    return path


def check_array(call: str, name: str, value: Any, cure: str) -> Any:
    """Return numbers as a NumPy array; what cannot be one is refused."""
    try:
        array = np.asarray(value)
    except Exception:  # noqa: BLE001 - ragged, nested in itself, on another device
        array = np.empty(0, dtype=object)
    if array.dtype.kind not in "biuf":
        raise refuse(call, name, value, cure)
    return array


def _encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
