"""Larger priors: a prior of some items becomes one of these and of new ones."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from fewpairs.errors import InputError
from fewpairs.similarity.given_priors import as_prior
from fewpairs.similarity.lexical import Lexical, texts_of
from fewpairs.similarity.priors import Prior
from fewpairs.types import Indices

__all__ = ["larger_prior"]

_FITTED_ANEW = 5_000  # texts, which is as many as a lexical prior is ever fitted to


def larger_prior(
    prior: Prior,
    given: Any,
    items: Sequence[Any],
    new: Indices,
    call: str,
    *,
    kept: Indices | None = None,
    split: int | None = None,
) -> Prior:
    """Return a prior of all ``items``; those at the positions ``new`` are new.

    Embeddings of the new items join those that were given before; a recipe is bound to
    all; a lexical prior is fitted anew to up to 5,000 texts, and beyond that gives new
    texts vectors as it was fitted. ``split``: of two sets, the number of left items,
    which come first.
    """
    if prior.parts:
        each = prior.given_to_parts(given, call)
        parts = [
            larger_prior(part, own, items, new, call, kept=kept, split=split)
            for part, own in zip(prior.parts, each, strict=True)
        ]
        return Prior.of_parts(parts)
    if prior.recipe is not None:
        n = len(items) if kept is None else len(kept)
        recipe = getattr(prior.recipe, "similarity", prior.recipe)  # of two sets
        recipe = prior.recipe if split is None else recipe
        made = as_prior(recipe, items, n, call, kept=kept, given=split)
        if made is not None:
            return made
    return _of_vectors(prior, given, items, new, call, kept=kept, split=split)


def _of_vectors(
    prior: Prior,
    given: Any,
    items: Sequence[Any],
    new: Indices,
    call: str,
    *,
    kept: Indices | None,
    split: int | None,
) -> Prior:
    """Return a larger prior of embeddings, given or made of texts."""
    stayed = items if kept is None else [items[t] for t in kept]
    fresh = new if kept is None else np.flatnonzero(np.isin(kept, new))
    if prior.lexical is not None and given is None:
        texts = texts_of(stayed)
        if texts is not None and len(texts) <= _FITTED_ANEW:
            lexical = Lexical.fit(texts)
            if lexical is not None:
                return Prior.of_texts(lexical, lexical.embed(texts), asked=prior.asked)
    if len(fresh) != len(new) and given is not None:
        msg = (
            f"{call}: {len(new) - len(fresh):,} of {len(new):,} new items "
            "are dropped; leave them out, of the new items and of prior."
        )
        raise InputError(msg)
    if split is not None and given is not None:
        left = int(np.count_nonzero(new < split))
        given = _of_both(given, left, len(new) - left, call)
    some = [stayed[t] for t in fresh]
    beside = prior.beside(given, some, np.empty((len(some), 0)), call)
    if prior.embeddings is None or beside.embeddings is None:
        msg = f"{call}: the prior, {prior.name}, cannot grow. Pass prior= again."
        raise AssertionError(msg)
    unit = np.empty((len(stayed), prior.embeddings.shape[1]), dtype=np.float32)
    unit[np.setdiff1d(np.arange(len(stayed)), fresh)] = prior.embeddings
    unit[fresh] = beside.embeddings
    if prior.lexical is not None and given is None:
        return Prior.of_texts(prior.lexical, unit, asked=prior.asked)
    return Prior.of_embeddings(unit)


def _of_both(given: Any, left: int, right: int, call: str) -> Any:
    """Return embeddings of new items of two sets as one array, left ones first.

    An array is that of the side that has new items; a pair is of both, None for a side
    without.
    """
    pair = given if isinstance(given, tuple) and len(given) == 2 else None
    if pair is None and not (left and right):
        return given
    if pair is None:
        msg = (
            f"{call}: prior is one array, and both sets have new items. Pass a pair "
            "(left, right) of arrays."
        )
        raise InputError(msg)
    wanted = (("new items", left, pair[0]), ("new others", right, pair[1]))
    for name, number, side in wanted:
        if number and side is None:
            msg = f"{call}: prior has no embeddings of the {name}. Pass both."
            raise InputError(msg)
        if side is not None and len(side) != number:
            msg = f"{call}: prior has {len(side):,} embeddings of {number:,} {name}."
            raise InputError(msg)
    return np.vstack([np.asarray(side) for _, number, side in wanted if number])
