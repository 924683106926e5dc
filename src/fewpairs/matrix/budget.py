"""Budget: the most that a run may spend, parsed once."""

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from fewpairs.errors import InputError
from fewpairs.matrix.cost import Cost

__all__ = ["Budget", "GivenBudget"]

_CURE = (
    'Pass a share of the pairs, such as 0.05 or "5%", a whole number of evaluations, '
    'such as 100_000, pairs per item, such as "50/item", or None for what the method '
    "needs."
)


@dataclass(frozen=True)
class Budget:
    """A hard limit; without any, a run may spend what its method needs.

    Attributes
    ----------
    given
        What the caller asked for; a ledger knows a run by it.
    evaluations
        Calls of the similarity.
    share
        Of the n(n−1)/2 distinct pairs. All of them are everything: the diagonal too,
        and the check of an unproven symmetry on top.
    per_item
        Pairs read per item: k of them are k·n/2 pairs, up to all pairs.

    Examples
    --------
    >>> from fewpairs.matrix.budget import Budget
    >>> from fewpairs.matrix.cost import Cost
    >>> cost = Cost(100, symmetric=True, calls=1, free_diagonal=True)
    >>> some = 0.1, "10%", 700, "4/item"
    >>> [Budget.of(given, "budget").limit(cost) for given in some]
    [495, 495, 700, 200]
    """

    given: float | int | str | None = None
    evaluations: int | None = None
    share: float | None = None
    per_item: float | None = None

    @classmethod
    def of(cls, given: Any, name: str) -> "Budget":
        """Return a budget, or say what one is; ``name`` is what messages call it."""
        if given is None:
            return cls()
        if isinstance(given, cls):
            return given
        if isinstance(given, str):
            return cls._of_text(given, name)
        if isinstance(given, bool) or not isinstance(given, Real):
            msg = f"{name} is {given!r:.60}, which is not a number. {_CURE}"
            raise InputError(msg)
        if isinstance(given, Integral):
            if given < 1:
                msg = f"{name} is {given}; nothing can be read for that. {_CURE}"
                raise InputError(msg)
            return cls.of_evaluations(int(given))
        share = float(given)
        if not 0 < share <= 1:
            msg = f"{name} is {given}; a share lies above 0 and up to 1.0. {_CURE}"
            raise InputError(msg)
        return cls(share, share=share)

    @classmethod
    def of_evaluations(cls, evaluations: int) -> "Budget":
        """Return a budget of so many calls of the similarity."""
        return cls(evaluations, evaluations=evaluations)

    @classmethod
    def _of_text(cls, text: str, name: str) -> "Budget":
        plain = text.strip().replace(",", "").replace("_", "").replace(" ", "")
        number, kind = plain, ""
        for end in ("%", "/item"):
            if plain.endswith(end):
                number, kind = plain.removesuffix(end), end
        try:
            value = float(number)
        except ValueError:
            value = math.nan
        if math.isnan(value):
            msg = f"{name} is {text!r:.60}, which is not a number. {_CURE}"
            raise InputError(msg)
        if kind == "/item":
            if not 0 < value < math.inf:
                msg = f"{name} is {text}; nothing can be read for that. {_CURE}"
                raise InputError(msg)
            return cls(f"{value:g}/item", per_item=value)
        if not kind and number.lstrip("+-").isdigit():
            return cls.of(int(number), name)
        share = value / 100 if kind else value
        if not 0 < share <= 1:
            msg = f"{name} is {text}; a share lies above 0 and up to 100%. {_CURE}"
            raise InputError(msg)
        return cls.of(share, name)

    @property
    def is_limited(self) -> bool:
        """Whether there is any limit."""
        return self.given is not None

    @property
    def is_everything(self) -> bool:
        """Whether all pairs may be read."""
        return self.share is not None and self.share >= 1

    def limit(self, cost: Cost, *, on_top: int = 0) -> int | None:
        """Return the evaluations that it allows; ``None``: no limit.

        ``on_top`` is what the check of the symmetry takes, where everything is read.
        """
        if self.evaluations is not None:
            return self.evaluations
        if self.share is not None:
            if self.is_everything:
                return cost.everything() + on_top
            return math.floor(self.share * cost.pairs * cost.each + 1e-9)
        if self.per_item is not None:
            pairs = min(cost.pairs, math.floor(self.per_item * cost.n / 2 + 1e-9))
            return pairs * cost.each
        return None


GivenBudget = float | int | str | Budget | None
