"""Binding: a similarity, a function or a matrix, bound to items that make sense."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from numpy.typing import NDArray

from fewpairs.errors import InputError
from fewpairs.similarity.base import Scorer, Similarity
from fewpairs.similarity.function import from_function
from fewpairs.similarity.items import Items, as_items
from fewpairs.similarity.matrix import from_matrix

__all__ = ["GivenSimilarity", "as_similarity", "bind", "listed"]

# What callers pass: a recipe, a function of two items (async too), or a matrix.
GivenSimilarity = (
    Similarity | Callable[[Any, Any], Any] | NDArray[Any] | Sequence[Sequence[float]]
)


def as_similarity(similarity: Any, call: str) -> Similarity:
    """Return a similarity, made of a function or a matrix where one is given."""
    if isinstance(similarity, Similarity):
        return similarity
    if hasattr(similarity, "__array__") or isinstance(similarity, (list, tuple)):
        return from_matrix(similarity)
    if callable(similarity) and not isinstance(similarity, type):
        if _is_async(similarity):
            from fewpairs.similarity.asynchronous import from_async

            return from_async(similarity)
        return from_function(similarity)
    cure = "Pass a fewpairs.Similarity, a function f(a, b) -> float or an n×n array."
    if isinstance(similarity, str):
        cure = f"Strings are compared by fewpairs.StringSimilarity({similarity!r})."
    elif isinstance(similarity, type):
        cure = f"Make an instance: {similarity.__name__}(...)."
    msg = f"{call}: similarity is {similarity!r:.60}. {cure}"
    raise InputError(msg)


def _is_async(function: Any) -> bool:
    """Tell a function that has to be awaited, or an object whose call has to be."""
    called = vars(type(function)).get("__call__")
    return any(map(inspect.iscoroutinefunction, (function, called)))


def listed(items: Any, column: Any, call: str, *, name: str = "items") -> Items | None:
    """Return items as a list; ``None``, for a matrix, stays what it is."""
    if items is None and column is None:
        return None
    return as_items(items, call, name=name, column=column)


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
