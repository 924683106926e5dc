"""Arguments of a run, checked."""

from typing import Any

from fewpairs.checks import check_number, check_whole
from fewpairs.methods import Method, with_prior
from fewpairs.similarity.base import Scorer, Similarity
from fewpairs.similarity.given_priors import as_prior
from fewpairs.similarity.items import Items

__all__ = ["check_seed", "check_target", "told_of_prior"]

_SEED = 1 << 256  # NumPy takes any; a whole number of this size is no accident


def check_seed(seed: Any, call: str) -> int:
    """Return a seed, or say what one is."""
    return int(check_whole(call, "seed", seed, most=_SEED))


def check_target(target: Any, call: str) -> None:
    """Refuse an error that cannot be aimed at."""
    check_number(call, "target_error", target, above=0, none=True)


def told_of_prior(
    method: Method,
    prior: Any,
    recipe: Similarity,
    *,
    scorer: Scorer,
    items: Items | None,
    everything: bool,
    call: str,
) -> Method:
    """Return a method that knows the prior: the given one, or one of the items' texts.

    ``"auto"`` is one of texts for the default, where the similarity looks at items and
    not ``everything`` is read.
    """
    by_itself = isinstance(prior, str) and prior == "auto"
    none = not method.wants_prior or recipe.by_position or everything
    if by_itself and none:
        return method
    return with_prior(
        method,
        as_prior(
            prior,
            items,
            scorer.n,
            call,
            kept=scorer.kept,
            given=getattr(recipe, "given", None),
        ),
        call,
    )
