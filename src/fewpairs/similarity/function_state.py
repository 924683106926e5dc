"""The state of a function: its code, and the constants that it reads from outside.

The same function object with the same state gives the same values, as far as can be
seen. Containers are left out, and so are names that the function itself sets: caches
and counters change as it is called.
"""

import dis
from collections.abc import Iterator
from functools import partial
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from fewpairs.fingerprint import fingerprint

__all__ = ["by_itself", "state_of"]

_FIXED = (bool, int, float, complex, str, bytes, type(None))
_STORES = ("STORE_GLOBAL", "STORE_DEREF", "STORE_ATTR", "STORE_NAME")
_DEPTH = 3  # of functions that functions call
_ROWS = 1_000  # of an array, spread over it


def by_itself(value: Any) -> Any:
    """Return an object that is told by what it is, not by its state; else nothing."""
    return None if isinstance(value, _FIXED) else value


def state_of(function: Any) -> str:
    """Return a hash of the state of a function, of what can be called, of a constant.

    >>> limit = 1.0
    >>> def f(a, b):
    ...     return min(limit, a * b)
    >>> before = state_of(f)
    >>> limit = 2.0
    >>> state_of(f) == before
    False
    """
    if callable(function):
        return fingerprint(_parts(function, _DEPTH))
    return fingerprint([_fixed(function)])


def _parts(function: Any, depth: int) -> Iterator[Any]:
    while isinstance(function, partial):
        yield from map(_fixed, (*function.args, *function.keywords.values()))
        function = function.func
    owner = getattr(function, "__self__", None)
    if not hasattr(function, "__code__") and not hasattr(function, "__func__"):
        owner, kinds = function, type(function).__mro__
        called = (vars(kind).get("__call__") for kind in kinds)
        function = next(filter(None, called), None)
    function = getattr(function, "__func__", function)
    if not isinstance(function, FunctionType):
        return
    codes = list(_codes(function.__code__))
    stored = {
        step.argval
        for code in codes
        for step in dis.get_instructions(code)
        if step.opname in _STORES
    }
    for code in codes:
        yield code.co_code
        yield [_fixed(value) for value in code.co_consts]
    for name, value in _outside(function, codes, owner):
        if name not in stored:
            yield name
            if isinstance(value, FunctionType) and depth:
                yield list(_parts(value, depth - 1))
            else:
                yield _fixed(value)


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Return the code of a function, and of those that are written inside it."""
    yield code
    for value in code.co_consts:
        if isinstance(value, CodeType):
            yield from _codes(value)


def _outside(
    function: FunctionType, codes: list[CodeType], owner: Any
) -> Iterator[tuple[str, Any]]:
    """Return what a function sees besides its arguments, by name."""
    for name in sorted({name for code in codes for name in code.co_names}):
        if name in function.__globals__:
            yield name, function.__globals__[name]
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    for name, cell in cells:
        try:
            yield name, cell.cell_contents
        except ValueError:  # not set yet
            continue
    yield "defaults", function.__defaults__
    yield from sorted(getattr(owner, "__dict__", {}).items())


def _fixed(value: Any) -> Any:
    """Return a constant as it is, of arrays a part, and of anything else its type."""
    if isinstance(value, _FIXED):
        return value
    if isinstance(value, (tuple, frozenset)):
        parts = [repr(_fixed(part)) for part in value]
        return parts if isinstance(value, tuple) else sorted(parts)
    if isinstance(value, np.ndarray) and value.ndim and value.dtype.kind != "O":
        return value.shape, value[:: max(1, len(value) // _ROWS)]
    return type(value).__qualname__
