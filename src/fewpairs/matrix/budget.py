"""Budget: the most that a run may spend, parsed once."""

import math
import re
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

from fewpairs.errors import InputError
from fewpairs.matrix.cost import Cost
from fewpairs.matrix.limits import Limits

__all__ = ["DEFAULT_BUDGET", "Budget", "GivenBudget"]

DEFAULT_BUDGET = "50/item"  # a share of the pairs would grow with the square of n

_CURE = (
    'Pass pairs per item, such as "50/item", a share of the pairs, such as 0.05 or '
    '"5%", a whole number of evaluations, such as 100_000, time or money, such as '
    '"20min" or "$5", or None for what the method needs.'
)
# What a text is made of; commas, underscores and spaces are taken out first.
_TEXT = re.compile(
    r"(?P<currency>[$€£¥]?)(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)(?P<unit>.*)"
)
_TIME = re.compile(
    r"(?P<s>s|secs?|seconds?)|(?P<m>m|mins?|minutes?)|(?P<h>h|hrs?|hours?)|d|days?"
)
_SECONDS = {"s": 1, "m": 60, "h": 3_600, None: 86_400}
_MONEY = re.compile(r"[$€£¥]|usd|eur|gbp|dollars?|euros?")


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
        Pairs read per item: k of them are k·n/2 pairs, since a pair has two items;
        n − 1 or more are everything. Of two sets, pairs read per left item: k of them
        are k·m, and n or more are everything.
    money, seconds
        Money in the unit of the similarity's price, and time from the call to its
        result. How many evaluations they buy is measured when the run begins.
    limits
        What is left of money and time, where a run is part of another one.

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
    money: float | None = None
    seconds: float | None = None
    limits: Limits | None = field(default=None, compare=False, repr=False)

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
        found = _TEXT.fullmatch(re.sub(r"[,_\s]", "", text).lower())
        if found is None:
            msg = f"{name} is {text!r:.60}, which is not a number. {_CURE}"
            raise InputError(msg)
        number, unit = found["number"], found["unit"]
        timed = _TIME.fullmatch(unit)
        if found["currency"] or _MONEY.fullmatch(unit) or timed:
            if found["currency"] and unit:
                msg = f"{name} is {text!r:.60}, and {unit!r:.20} is no unit. {_CURE}"
                raise InputError(msg)
            amount = float(number) * (_SECONDS[timed.lastgroup] if timed else 1)
            if not 0 < amount < math.inf:
                msg = f"{name} is {text}; nothing can be read for that. {_CURE}"
                raise InputError(msg)
            given = re.sub(r"[,_\s]", "", text)
            if timed:
                return cls(given, seconds=amount)
            return cls(given, money=amount)
        if unit == "/item":
            return cls._of_pairs_per_item(float(number), name, text)
        if unit not in ("", "%"):
            msg = f"{name} is {text!r:.60}, and {unit!r:.20} is no unit. {_CURE}"
            raise InputError(msg)
        if not unit and number.lstrip("+-").isdigit():
            return cls.of(int(number), name)
        share = float(number) / 100 if unit else float(number)
        if not 0 < share <= 1:
            msg = f"{name} is {text}; a share lies above 0 and up to 100%. {_CURE}"
            raise InputError(msg)
        return cls.of(share, name)

    @classmethod
    def _of_pairs_per_item(cls, value: float, name: str, text: str) -> "Budget":
        if not 0 < value < math.inf:
            msg = f"{name} is {text}; nothing can be read for that. {_CURE}"
            raise InputError(msg)
        return cls(f"{value:g}/item", per_item=value)

    @property
    def is_scarce(self) -> bool:
        """Whether it is money or time: evaluations follow from what they take."""
        return self.money is not None or self.seconds is not None

    def begin(self) -> Limits | None:
        """Return limits of money and time, from now on; ``None``: there are none."""
        if self.is_scarce and self.limits is None:
            return Limits(self.money, self.seconds)
        return self.limits

    @property
    def is_limited(self) -> bool:
        """Whether there is any limit."""
        return self.given is not None

    def is_everything(self, cost: Cost) -> bool:
        """Whether all pairs may be read: of n items, each has n − 1 of them."""
        if self.per_item is not None:
            return self.per_item >= cost.shape[1] - (cost.split is None)
        return self.share is not None and self.share >= 1

    def limit(self, cost: Cost, *, on_top: int = 0) -> int | None:
        """Return the evaluations that it allows; ``None``: no limit.

        ``on_top`` is what the check of the symmetry takes, where everything is read.
        """
        if self.is_everything(cost):
            return cost.everything() + on_top
        if self.share is not None:
            return math.floor(self.share * cost.pairs * cost.each + 1e-9)
        if self.per_item is not None:
            items = cost.n / 2 if cost.split is None else cost.split
            return math.floor(self.per_item * items + 1e-9) * cost.each
        return self.evaluations


GivenBudget = float | int | str | Budget | None
