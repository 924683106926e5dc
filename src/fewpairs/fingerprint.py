"""Fingerprints: whether two runs are about the same items and similarity."""

import hashlib
import json
from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

__all__ = ["checksum_of", "fingerprint"]

_ROWS = 1 << 14  # of an array, hashed at once


def fingerprint(things: Iterable[Any]) -> str:
    """Return a hash of all ``things``: texts, numbers, arrays, tuples.

    An object with the default ``repr`` counts by its type and attributes, a function by
    its name: an address says nothing.

    >>> fingerprint(["a", "b"]) == fingerprint(["a", "b"])
    True
    >>> fingerprint(["a", "b"]) == fingerprint(["ab"])
    False
    """
    digest = hashlib.blake2b(digest_size=16)
    for thing in things:
        data = _bytes(thing)
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


def checksum_of(*parts: Any) -> str:
    """Return a hash of what JSON can hold, the same however it is written down.

    >>> checksum_of({"a": 1, "b": [2.5]}) == checksum_of({"b": [2.5], "a": 1})
    True
    """
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _bytes(part: Any) -> bytes | memoryview:
    if isinstance(part, bytes):
        return part
    if isinstance(part, np.ndarray) and part.dtype.kind != "O":
        kind = hashlib.blake2b(f"{part.dtype.str}{part.shape}".encode())
        for start in range(0, len(part), _ROWS) if part.ndim else [0]:
            rows = part[start : start + _ROWS] if part.ndim else part
            kind.update(np.ascontiguousarray(rows).view(np.uint8).data)
        return kind.digest()
    if isinstance(part, dict):
        return fingerprint(part.items()).encode()
    if isinstance(part, (list, tuple, np.ndarray)):
        return fingerprint(part).encode()
    return _text(part).encode("utf-8", errors="surrogatepass")


def _text(part: Any) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, partial):
        return fingerprint([part.func, part.args, part.keywords])
    shown: Any = type(part).__repr__
    if callable(part) and hasattr(part, "__qualname__"):
        return f"{part.__module__}.{part.__qualname__}"
    try:
        if shown is object.__repr__ or callable(part) or hasattr(shown, "short"):
            return type(part).__qualname__ + fingerprint(vars(part).items())
        return repr(sorted(part)) if isinstance(part, (set, frozenset)) else repr(part)
    except Exception:  # noqa: BLE001 - an item may refuse to be shown or sorted
        return type(part).__qualname__
