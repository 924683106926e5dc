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
    new_items: Sequence[Any],
    call: str,
    *,
    kept: Indices | None = None,
) -> Prior:
    """Return a prior of all ``items``, the last of which are the new ones.

    Embeddings of the new items stand below those that were given before; a recipe is
    bound to all; a lexical prior is fitted anew to up to 5,000 texts, and beyond that
    gives new texts vectors as it was fitted.
    """
    if prior.parts:
        each = prior.given_to_parts(given, call)
        parts = [
            larger_prior(part, own, items, new_items, call, kept=kept)
            for part, own in zip(prior.parts, each, strict=True)
        ]
        return Prior.of_parts(parts)
    if prior.recipe is not None:
        n = len(items) if kept is None else len(kept)
        made = as_prior(prior.recipe, items, n, call, kept=kept)
        if made is not None:
            return made
    stayed = items if kept is None else [items[t] for t in kept]
    new = stayed[prior.n :]
    if prior.lexical is not None and given is None:
        texts = texts_of(stayed)
        if texts is not None and len(texts) <= _FITTED_ANEW:
            lexical = Lexical.fit(texts)
            if lexical is not None:
                return Prior.of_texts(lexical, lexical.embed(texts), asked=prior.asked)
    if len(new) != len(new_items) and given is not None:
        msg = (
            f"{call}: {len(new_items) - len(new):,} of {len(new_items):,} new items "
            "are dropped; leave them out, of new_items and of prior."
        )
        raise InputError(msg)
    beside = prior.beside(given, new, np.empty((len(new), 0)), call)
    if prior.embeddings is None or beside.embeddings is None:
        msg = f"{call}: the prior, {prior.name}, cannot grow. Pass prior= again."
        raise AssertionError(msg)
    unit = np.vstack([prior.embeddings, beside.embeddings])
    if prior.lexical is not None and given is None:
        return Prior.of_texts(prior.lexical, unit, asked=prior.asked)
    return Prior.of_embeddings(unit)
