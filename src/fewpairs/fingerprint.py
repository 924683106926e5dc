"""Fingerprints: whether two runs are about the same items and similarity."""

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np

__all__ = ["fingerprint"]


def fingerprint(things: Iterable[Any]) -> str:
    """Return a hash of all ``things``: texts, numbers, arrays, tuples.

    What has no value of its own (an object with the default ``repr``) counts by its
    type, because its address says nothing.

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


def _bytes(part: Any) -> bytes:
    if isinstance(part, bytes):
        return part
    if isinstance(part, np.ndarray) and part.dtype.kind != "O":
        return f"{part.dtype.str}{part.shape}".encode() + bytes(part.tobytes())
    if isinstance(part, (list, tuple, dict)):
        return fingerprint(part).encode()
    return _text(part).encode("utf-8", errors="surrogatepass")


def _text(part: Any) -> str:
    if isinstance(part, str):
        return part
    shown: Any = type(part).__repr__
    if shown is object.__repr__ or callable(part):
        return type(part).__qualname__
    try:
        return repr(sorted(part)) if isinstance(part, (set, frozenset)) else repr(part)
    except Exception:  # noqa: BLE001 - an item may refuse to be shown or sorted
        return type(part).__qualname__
