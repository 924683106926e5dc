"""Given priors: whatever a caller passes as prior= becomes a prior, or is refused."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.checks import shown
from fewpairs.errors import InputError
from fewpairs.similarity.answered import AnswersPairs, prior_of_answers
from fewpairs.similarity.base import Similarity
from fewpairs.similarity.lexical import Lexical, texts_of
from fewpairs.similarity.priors import Prior
from fewpairs.similarity.two_sets import two_sets
from fewpairs.similarity.unit_vectors import unit_rows
from fewpairs.types import Indices

__all__ = ["GivenPrior", "as_prior"]

# One of them is a name, a cheap similarity, or embeddings (a pair of two sets).
_OnePrior = str | Similarity | NDArray[Any] | Sequence[Sequence[float]]
GivenPrior = (
    _OnePrior | tuple[NDArray[Any], NDArray[Any]] | list[_OnePrior] | Prior | None
)

_FEWEST = 50  # texts that are worth a prior of their own making
_NAMES = ("auto", "lexical")


def as_prior(
    prior: Any,
    items: Sequence[Any] | None,
    n: int,
    call: str,
    *,
    kept: Indices | None = None,
    given: int | None = None,
) -> Prior | None:
    """Return a prior of embeddings, of a cheap similarity or of the items' own texts.

    Of a list, the sum of its priors. ``kept`` are the positions of the n items that
    stayed, where some were dropped. ``given``: of two sets, the number of left items,
    which come first; embeddings are then a pair.
    """
    if given is not None:
        number = n if items is None else len(items)
        prior = _of_both(prior, given, number - given, call)
    if prior is None or isinstance(prior, Prior):
        return prior
    if isinstance(prior, str) and prior in _NAMES:
        return _of_texts(prior, items, n, call, kept)
    if isinstance(prior, list) and any(_is_one(part) for part in prior):
        made = [
            as_prior(part, items, n, call, kept=kept, given=given) for part in prior
        ]
        parts = [part for part in made if part is not None]
        return Prior.of_parts(parts) if len(parts) > 1 else next(iter(parts), None)
    if isinstance(prior, Similarity):
        return _of_recipe(prior, items, n, call, kept=kept, given=given)
    if isinstance(prior, AnswersPairs):
        split = _left_of(given, kept)
        return prior_of_answers(prior, "an approximation", n, split, call)
    if kept is not None and items is not None and np.shape(prior)[:1] == (len(items),):
        prior = np.asarray(prior)[kept]
    return Prior.of_embeddings(unit_rows(prior, n, call))


def _of_recipe(
    prior: Similarity,
    items: Sequence[Any] | None,
    n: int,
    call: str,
    *,
    kept: Indices | None,
    given: int | None,
) -> Prior:
    """Return a cheap similarity, bound to the items."""
    stayed = _stayed(items, kept)
    recipe = prior
    if given is not None:
        recipe = two_sets(prior, _left_of(given, kept) or 0)
    cheap = recipe.bind(range(n) if stayed is None else stayed)
    if cheap.n != n:
        msg = f"{call}: the prior has {cheap.n:,} items, and there are {n:,}."
        raise InputError(msg)
    return Prior(
        cheap,
        prior.name,
        symmetric=recipe.symmetric is True,
        recipe=recipe,
        items=range(n) if stayed is None else stayed,
    )


def _left_of(given: int | None, kept: Indices | None) -> int | None:
    """Return how many left items stayed; of one set, nothing."""
    if given is None or kept is None:
        return given
    return int(np.count_nonzero(kept < given))


def _of_both(prior: Any, m: int, n: int, call: str) -> Any:
    """Return the embeddings of two sets as one array; anything else as it is."""
    if prior is None or isinstance(prior, (str, Similarity, Prior, list, AnswersPairs)):
        return prior
    cure = (
        f"Of two sets pass a pair (left, right) of embeddings, ({m:,}, d) and ({n:,}, "
        'd) arrays, or a recipe for both: a cheap fewpairs.Similarity or "lexical".'
    )
    if not isinstance(prior, tuple) or len(prior) != 2:
        got = f"an array of shape {np.shape(prior)}" if _shaped(prior) else shown(prior)
        msg = f"{call}: prior is {got}, for two sets. {cure}"
        raise InputError(msg)
    if any(side is None for side in prior):
        missing = "others" if prior[1] is None else "items"
        msg = f"{call}: prior has no embeddings of the {missing}. {cure}"
        raise InputError(msg)
    left, right = (
        unit_rows(side, number, call)
        for side, number in zip(prior, (m, n), strict=True)
    )
    if left.shape[1] != right.shape[1]:
        msg = (
            f"{call}: prior has {left.shape[1]} dimensions on the left and "
            f"{right.shape[1]} on the right. Both sides must be embedded alike."
        )
        raise InputError(msg)
    return np.vstack([left, right])


def _shaped(prior: Any) -> bool:
    try:
        return np.ndim(prior) > 0
    except ValueError:  # lists of different lengths
        return False


def _is_one(part: Any) -> bool:
    """Tell a prior among several from a row of embeddings."""
    if isinstance(part, tuple):  # of two sets
        return True
    if isinstance(part, str):
        return part in _NAMES
    return (
        isinstance(part, (Similarity, Prior, AnswersPairs))
        or getattr(part, "ndim", 1) == 2
    )


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
