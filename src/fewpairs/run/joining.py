"""Joining: the items of a run and new ones after them, bound together.

Of two sets new ones come after those of their own side: left, new left, right, new
right.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from fewpairs.errors import InputError
from fewpairs.ledger.larger import larger_ledger
from fewpairs.ledger.opening import identity_of
from fewpairs.ledger.subject import FingerprintOnce
from fewpairs.methods import Method
from fewpairs.run.arguments import told_of_prior
from fewpairs.run.run import Run
from fewpairs.similarity.base import Scorer, Similarity
from fewpairs.similarity.binding import bind
from fewpairs.similarity.items import Items, as_items
from fewpairs.similarity.larger_priors import larger_prior
from fewpairs.similarity.two_sets import TwoSets, two_sets
from fewpairs.types import Indices

__all__ = ["Joining"]

_CALL = "Approximation.add"


@dataclass(frozen=True, eq=False)
class Joining:
    """Old items and new ones, as one list.

    Attributes
    ----------
    run
        Of the old ones.
    items
        All of them.
    old, new
        Where both stand among them.
    recipe, scorer
        The similarity, and it bound to all.
    """

    run: Run
    items: Items
    old: Indices
    new: Indices
    recipe: Similarity
    scorer: Scorer

    @classmethod
    def of(cls, run: Run, items: Items, others: Items) -> "Joining":
        """Bind everything; ``others`` are new items of the second set."""
        before = run.items if run.items is not None else ()
        recipe, first, a = run.recipe, len(before), len(items)
        joined = _joined([before, items])
        if isinstance(recipe, TwoSets):
            first = recipe.given
            parts = before[:first], items, before[first:], others
            joined = _joined([part for part in parts if len(part)])
            recipe = two_sets(recipe.similarity, first + a)
        at = np.arange(len(before))
        old = at + a * (at >= first)
        scorer = bind(joined, recipe, _CALL)
        made = cls(
            run,
            joined,
            old,
            np.setdiff1d(np.arange(len(joined)), old),
            recipe.bound_by(scorer),
            scorer,
        )
        made._check_old_stay()
        return made

    def _check_old_stay(self) -> None:
        """Refuse a similarity that drops other items now, or all new ones."""
        scorer, before = self.scorer, self.run.scorer.kept
        stayed = self.old if before is None else self.old[before]
        kept = np.arange(scorer.n) if scorer.kept is None else scorer.kept
        if not np.array_equal(kept[np.isin(kept, self.old)], stayed):
            msg = f"{_CALL}: beside new items, others of the fitted ones are dropped."
            raise InputError(msg)
        if len(kept) == len(stayed):
            msg = f"{_CALL}: all new items are dropped; there is nothing to add."
            raise InputError(msg)

    @property
    def dropped(self) -> int:
        """How many of the new items the similarity leaves out."""
        return len(self.new) - (self.scorer.n - self.run.scorer.n)

    def larger(self, prior: Any) -> Run:
        """Return the run of all items, of which nothing is read yet."""
        run = self.run
        larger = replace(
            run,
            recipe=self.recipe,
            scorer=self.scorer,
            items=self.items,
            method=self._method(prior),
            dropped=len(self.items) - self.scorer.n,
            identity=FingerprintOnce(partial(identity_of, self.recipe, self.items)),
        )
        if run.store is None:
            return larger
        return replace(larger, store=larger_ledger(run.store, larger.identity()[1]))

    def _method(self, given: Any) -> Method:
        """Return the method with its prior, which knows the new items too."""
        run, kept = self.run, self.scorer.kept
        prior = getattr(run.method, "prior", None)
        if prior is not None:
            split = getattr(self.recipe, "given", None)
            made = larger_prior(
                prior, given, self.items, self.new, _CALL, kept=kept, split=split
            )
            return replace(run.method, prior=made)  # type: ignore[type-var]
        if given is not None:
            msg = (
                f"{_CALL}: prior is given for the new items, and the fit used none. "
                "Leave it out."
            )
            raise InputError(msg)
        if not run.own_prior:
            return run.method
        return told_of_prior(
            run.method,
            "auto",
            self.recipe,
            scorer=self.scorer,
            items=self.items,
            everything=False,
            call=_CALL,
        )


def _joined(parts: list[Items]) -> Items:
    """Return lists one after the other, as an array where all are."""
    arrays = all(isinstance(part, np.ndarray) for part in parts)
    if arrays and len({np.shape(part)[1:] for part in parts}) == 1:
        return as_items(np.concatenate(parts), _CALL)
    return [item for part in parts for item in part]
