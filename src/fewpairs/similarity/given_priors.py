"""Given priors: whatever a caller passes as prior= becomes a prior, or is refused."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from fewpairs.errors import InputError
from fewpairs.similarity.base import Similarity
from fewpairs.similarity.lexical import Lexical, texts_of
from fewpairs.similarity.priors import Prior
from fewpairs.similarity.unit_vectors import unit_rows
from fewpairs.types import Indices

__all__ = ["as_prior"]

_FEWEST = 50  # texts that are worth a prior of their own making
_NAMES = ("auto", "lexical")


def as_prior(
    prior: Any,
    items: Sequence[Any] | None,
    n: int,
    call: str,
    *,
    kept: Indices | None = None,
) -> Prior | None:
    """Return a prior of embeddings, of a cheap similarity or of the items' own texts.

    Of a list, the sum of its priors. ``kept`` are the positions of the n items that
    stayed, where some were dropped.
    """
    if prior is None or isinstance(prior, Prior):
        return prior
    if isinstance(prior, str) and prior in _NAMES:
        return _of_texts(prior, items, n, call, kept)
    if isinstance(prior, list) and any(_is_one(part) for part in prior):
        made = [as_prior(part, items, n, call, kept=kept) for part in prior]
        parts = [part for part in made if part is not None]
        return Prior.of_parts(parts) if len(parts) > 1 else next(iter(parts), None)
    if isinstance(prior, Similarity):
        stayed = _stayed(items, kept)
        cheap = prior.bind(range(n) if stayed is None else stayed)
        if cheap.n != n:
            msg = f"{call}: the prior has {cheap.n:,} items, and there are {n:,}."
            raise InputError(msg)
        return Prior(
            cheap,
            prior.name,
            symmetric=prior.symmetric is True,
            recipe=prior,
            items=range(n) if stayed is None else stayed,
        )
    if kept is not None and items is not None and np.shape(prior)[:1] == (len(items),):
        prior = np.asarray(prior)[kept]
    return Prior.of_embeddings(unit_rows(prior, n, call))


def _is_one(part: Any) -> bool:
    """Tell a prior among several from a row of embeddings."""
    if isinstance(part, str):
        return part in _NAMES
    return isinstance(part, (Similarity, Prior)) or getattr(part, "ndim", 1) == 2


def _stayed(items: Sequence[Any] | None, kept: Indices | None) -> Sequence[Any] | None:
    return items if items is None or kept is None else [items[t] for t in kept]


def _of_texts(
    name: str,
    items: Sequence[Any] | None,
    n: int,
    call: str,
    kept: Indices | None,
) -> Prior | None:
    """Return the lexical prior; without texts that tell anything none, or say so."""
    stayed = _stayed(items, kept)
    asked = name == "lexical"
    texts = None
    if stayed is not None and (asked or n >= _FEWEST):
        texts = texts_of(stayed)
    if texts is None:
        if asked:
            msg = (
                f'{call}: prior is "lexical", and most items have no text. Pass texts, '
                "lists of tokens or records with text fields, or prior=None."
            )
            raise InputError(msg)
        return None
    lexical = Lexical.fit(texts)
    if lexical is None:
        return None
    return Prior.of_texts(lexical, lexical.embed(texts), asked=asked)
