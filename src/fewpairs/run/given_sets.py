"""Given sets: what a caller passed as items and others, as one list of items."""

from dataclasses import dataclass
from typing import Any

from fewpairs.ledger.opening import known_by
from fewpairs.run.given_rows import GivenRows, read_rows
from fewpairs.similarity.base import Similarity
from fewpairs.similarity.items import Items
from fewpairs.similarity.two_sets import is_of_two_sets, of_two_sets

__all__ = ["GivenSets", "read_sets"]


@dataclass(frozen=True, eq=False)
class GivenSets:
    """The items of one set, or of two on one axis.

    Attributes
    ----------
    recipe
        The similarity; of two sets, of both.
    items
        All of them; ``None``: positions of a matrix.
    rows, more
        As they were given: items, and others where there are any.
    """

    recipe: Similarity
    items: Items | None
    rows: GivenRows
    more: GivenRows | None

    def prior(self, prior: Any) -> Any:
        """Return a prior without the rows of items that are missing."""
        if self.more is None:
            return self.rows.prior(prior)
        if isinstance(prior, tuple) and len(prior) == 2:
            return self.rows.prior(prior[0]), self.more.prior(prior[1])
        return prior

    @property
    def known(self) -> Any:
        """What a ledger knows items by; of two sets, both in one list."""
        if self.recipe.split is not None or self.rows.present is not None:
            return self.items
        return known_by(self.rows.given, self.items)


def read_sets(
    items: Any, others: Any, recipe: Similarity, call: str, **how: Any
) -> GivenSets:
    """Read items, and others where they are given or a matrix has them.

    ``how``: as `read_rows` takes it; ids are those of the items.
    """
    rows = read_rows(items, call, **how)
    if others is None and not is_of_two_sets(recipe):
        return GivenSets(recipe, rows.items, rows, None)
    more: GivenRows | None = None
    if others is not None:
        how.pop("ids", None)
        more = read_rows(others, call, name="others", **how)
    second = None if more is None else more.items
    both, joined = of_two_sets(rows.items, second, recipe, call)
    return GivenSets(both, joined, rows, more)
