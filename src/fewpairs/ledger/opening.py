"""Opening a ledger: from a path, and for which similarity of which items."""

from collections.abc import Iterable
from os import PathLike
from typing import Any

import numpy as np

from fewpairs.checks import check_path
from fewpairs.errors import InputError
from fewpairs.fingerprint import fingerprint
from fewpairs.ledger.ledger import Ledger
from fewpairs.ledger.subject import Identity
from fewpairs.similarity.base import Similarity
from fewpairs.similarity.items import Items

__all__ = ["as_ledger", "identity_of", "known_by", "part_of"]


def known_by(given: Any, items: Items | None) -> Any:
    """Return what a ledger knows items by: the same as before they became a list."""
    return given if isinstance(given, np.ndarray) else items


def identity_of(similarity: Similarity, items: Any) -> Identity:
    """Return fingerprints of a similarity and of its items, for a ledger."""
    things: Iterable[Any] = () if items is None else items
    if isinstance(items, np.ndarray):  # at once, not row by row
        things = (items,)
    return fingerprint(similarity.identify()), fingerprint(things)


def part_of(ledger: Ledger, name: str) -> Ledger:
    """Return the ledger of something else that a run pays for, in the same place."""
    if name not in ledger.parts:
        path = None if ledger.path is None else f"{ledger.path}/{name}"
        ledger.parts[name] = Ledger(path, memory=ledger.memory, trust=ledger.trust)
    return ledger.parts[name]


def as_ledger(store: Any, call: str) -> Ledger | None:
    """Return a ledger: one that is given, or the one at a path."""
    if store is None or isinstance(store, Ledger):
        return store
    if isinstance(store, (str, PathLike)) and str(store):
        return Ledger(check_path(call, "store", store))
    msg = (
        f"{call}: store is {store!r:.60}; pass a path, a URL, a fewpairs.Ledger, or "
        "None."
    )
    raise InputError(msg)
