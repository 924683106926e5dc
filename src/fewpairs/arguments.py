"""Arguments: what calls are given, understood or refused by name."""

import math
from collections.abc import Iterable
from dataclasses import replace
from numbers import Integral, Real
from os import PathLike
from typing import Any

import numpy as np

from fewpairs.errors import InputError
from fewpairs.fingerprint import fingerprint
from fewpairs.ledger import Identity, Ledger
from fewpairs.methods import Auto, Method, Regularized
from fewpairs.priors import Prior
from fewpairs.similarity.base import Scorer, Similarity
from fewpairs.similarity.function import from_function
from fewpairs.similarity.items import Items, as_items
from fewpairs.similarity.matrix import from_matrix

__all__ = [
    "as_ledger",
    "as_similarity",
    "bind",
    "check_seed",
    "check_target",
    "identity_of",
    "known_by",
    "listed",
    "with_prior",
]


def as_similarity(similarity: Any, call: str) -> Similarity:
    """Return a similarity, made of a function or a matrix where one is given."""
    if isinstance(similarity, Similarity):
        return similarity
    if hasattr(similarity, "__array__") or isinstance(similarity, (list, tuple)):
        return from_matrix(similarity)
    if callable(similarity) and not isinstance(similarity, type):
        return from_function(similarity)
    cure = "Pass a fewpairs.Similarity, a function f(a, b) -> float or an n×n array."
    if isinstance(similarity, str):
        cure = f"Strings are compared by fewpairs.StringSimilarity({similarity!r})."
    elif isinstance(similarity, type):
        cure = f"Make an instance: {similarity.__name__}(...)."
    msg = f"{call}: similarity is {similarity!r:.60}. {cure}"
    raise InputError(msg)


def listed(items: Any, column: Any, call: str) -> Items | None:
    """Return items as a list; ``None``, for a matrix, stays what it is."""
    if items is None and column is None:
        return None
    return as_items(items, call, column=column)


def bind(items: Items | None, similarity: Similarity, call: str) -> Scorer:
    """Bind a similarity to items that make sense."""
    if items is None:
        size = getattr(similarity, "size", None)
        if size is None:
            msg = f"{call}: items is None; only a precomputed matrix needs no items."
            raise InputError(msg)
        items = list(range(size))
    if len(items) < 2:
        got = "no items" if len(items) == 0 else "one item"
        msg = f"{call}: got {got}; it takes at least two to have a pair."
        raise InputError(msg)
    scorer = similarity.bind(items)
    if scorer.kept is not None and scorer.n < 2:
        msg = (
            f"{call}: {similarity.name} dropped {len(items) - scorer.n:,} of "
            f"{len(items):,} items; it takes at least two to have a pair."
        )
        raise InputError(msg)
    if scorer.n != (len(items) if scorer.kept is None else len(scorer.kept)):
        msg = (
            f"{call}: {similarity.name} was bound to {len(items)} items and says it "
            f"has {scorer.n}. Its bind() must keep every item, in order."
        )
        raise InputError(msg)
    return scorer


def known_by(given: Any, items: Items | None) -> Any:
    """Return what a ledger knows items by: the same as before they became a list."""
    return given if isinstance(given, np.ndarray) else items


def identity_of(similarity: Similarity, items: Any) -> Identity:
    """Return fingerprints of a similarity and of its items, for a ledger."""
    things: Iterable[Any] = () if items is None else items
    if isinstance(items, np.ndarray):  # at once, not row by row
        things = (items,)
    return fingerprint(similarity.identify()), fingerprint(things)


def check_seed(seed: Any, call: str) -> int:
    """Return a seed, or say what one is."""
    if isinstance(seed, (bool, np.bool_)) or not isinstance(seed, Integral) or seed < 0:
        msg = f"{call}: seed is {seed!r:.60}; pass a whole number from 0 on."
        raise InputError(msg)
    return int(seed)


def with_prior(method: Method, prior: Prior | None, call: str) -> Method:
    """Return a method that knows a prior, or say that it takes none."""
    if prior is None:
        return method
    if not isinstance(method, (Auto, Regularized)):
        msg = (
            f"{call}: {type(method).__name__} takes no prior. Use method='auto' or "
            "'regularized', or leave prior= out."
        )
        raise InputError(msg)
    return replace(method, prior=prior)


def check_target(target: Any, call: str) -> None:
    """Refuse an error that cannot be aimed at."""
    if target is not None and not (
        isinstance(target, Real)
        and not isinstance(target, bool)
        and 0 < float(target) < math.inf
    ):
        msg = f"{call}: target_error is {target!r:.60}; pass a number above 0, or None."
        raise InputError(msg)


def as_ledger(store: Any, call: str) -> Ledger | None:
    """Return a ledger: one that is given, or the one at a path."""
    if store is None or isinstance(store, Ledger):
        return store
    if isinstance(store, (str, PathLike)) and str(store):
        return Ledger(store)
    msg = (
        f"{call}: store is {store!r:.60}; pass a path, a URL, a fewpairs.Ledger, or "
        "None."
    )
    raise InputError(msg)
