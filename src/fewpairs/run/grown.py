"""Grown: what a budget for new items buys, before any is paid for."""

import math
from dataclasses import dataclass

import numpy as np

from fewpairs.errors import BudgetError
from fewpairs.matrix.budget import Budget
from fewpairs.matrix.cost import Cost
from fewpairs.matrix.entries import Entries
from fewpairs.matrix.fresh import Fresh
from fewpairs.methods import Method
from fewpairs.result.certificate import HELD_OUT, pairs_for
from fewpairs.run.budget_split import BudgetSplit
from fewpairs.types import Indices

__all__ = ["Grown"]

_CALL = "Approximation.add"


@dataclass(frozen=True)
class Grown:
    """A matrix that has grown, and what reading its new part takes.

    Attributes
    ----------
    method
        What goes on with it.
    landmarks
        Of the smaller matrix, by their positions in the larger one.
    entries
        What is known of the larger one.
    cost, before
        Prices of the larger matrix and of the smaller one.
    """

    method: Method
    landmarks: Indices
    entries: Entries
    cost: Cost
    before: Cost

    @property
    def fresh(self) -> Fresh:
        """How many items are new; of two sets, of either side."""
        if self.cost.split is None:
            return Fresh(self.cost.n - self.before.n)
        (m, n), (a, b) = self.cost.shape, self.before.shape
        return Fresh(m - a, n - b)

    @property
    def most(self) -> int:
        """Evaluations that all pairs with new items take."""
        return self.cost.everything() - self.before.everything()

    @property
    def complete(self) -> bool:
        """Whether all pairs of old items have been read."""
        earlier = self.entries.earlier
        aside = 0 if earlier is None else sum(len(s[0]) for s in earlier.aside.values())
        unread = 0 if earlier is None else earlier.unread(self.entries)[0]
        return unread <= aside

    def limit(self, budget: Budget, per_item: tuple[float, float]) -> int:
        """Return the evaluations that a budget for the new items allows.

        Shares are of the pairs with new items, pairs per item are per new item: nearly
        all of them have one, so k of them are k·m evaluations for m new items. Without
        a budget ``per_item`` evaluations for each, and for each of the others: all,
        where all were read; for a method with landmarks what its columns and the
        certificate take.
        """
        each, fresh = self.cost.each, self.fresh
        if budget.share is not None:
            pairs = self.cost.pairs - self.before.pairs
            limit = math.floor(budget.share * pairs * each + 1e-9)
        elif budget.per_item is not None:
            limit = math.floor(budget.per_item * fresh.both + 1e-9) * each
        elif budget.evaluations is not None:
            limit = budget.evaluations
        elif self.complete:
            limit = self.most
        else:
            limit = math.ceil(per_item[0] * fresh.items + per_item[1] * fresh.others)
            held = self._held_out(limit) * self.cost.calls
            limit = max(limit, self._needed() + held) if self._needed() else limit
        if limit < 1:
            of_new = f"{fresh.both:,} new {'item' if fresh.both == 1 else 'items'}"
            msg = (
                f"{_CALL}: a budget of {budget.given} is less than one evaluation for "
                f"{of_new}. Pass a larger one, or leave it out."
            )
            raise BudgetError(msg, needed=1, allowed=limit)
        return min(limit, self.most)

    def split(
        self, budget: Budget, per_item: tuple[float, float]
    ) -> tuple[BudgetSplit, Indices]:
        """Return what the method gets, and the landmarks whose columns go on."""
        limit = self.limit(budget, per_item)
        none = np.empty(0, dtype=np.int64)
        everything = self.method.everything(self.cost)
        if limit >= self.most and self.complete and everything is not None:
            return BudgetSplit(everything, 0, limit), none
        needed = self._needed()
        if needed > limit:
            msg = (
                f"{_CALL}: {len(self.landmarks):,} landmarks take {needed:,} "
                f"evaluations for {self.fresh.both:,} new items, and the budget is "
                f"{limit:,}. Raise it, or leave it out."
            )
            raise BudgetError(msg, needed=needed, allowed=limit)
        calls = self.cost.calls
        held = min(self._held_out(limit), (limit - needed) // calls)
        method, whole = self.method.for_new_items(
            self.landmarks, self.fresh, self.cost, limit - held * calls
        )
        return BudgetSplit(method, held, limit), whole

    def _needed(self) -> int:
        return self.method.price_of_new(self.landmarks, self.fresh, self.cost)

    def _held_out(self, limit: int) -> int:
        """Return how many pairs with new items are held out.

        Their part of what would be held out of the larger matrix, at most as many as of
        a budget of their own, and no more than go with those of old items.
        """
        calls, earlier = self.cost.calls, self.entries.earlier
        most = pairs_for(limit, calls) or int(limit >= 2 * calls)
        if earlier is None:
            return most
        old, new = earlier.unread(self.entries)
        known = self.entries.moments().number * calls
        part = math.ceil(pairs_for(known + limit, calls) * new / max(1, old + new))
        return earlier.fair(self.entries, HELD_OUT, min(most, part))
