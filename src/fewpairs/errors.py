"""Every error and warning of fewpairs.

A message states the call, what was got and the cure. Errors also carry the facts
as attributes, so that a program can act on them.
"""

from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fewpairs.ledger.ledger import Ledger

__all__ = [
    "BudgetError",
    "DamageError",
    "FewpairsError",
    "FewpairsWarning",
    "InputError",
    "MissingExtraError",
    "SimilarityError",
    "SpentError",
    "StaleWarning",
    "StoreError",
]


class FewpairsError(Exception):
    """Base of every error that fewpairs raises on purpose."""


class InputError(FewpairsError, ValueError):
    """An argument cannot work. Raised before anything is paid for."""


class BudgetError(FewpairsError, ValueError):
    """The budget does not cover what is asked for.

    Attributes
    ----------
    needed, allowed
        Evaluations that the call needs and that the budget allows.
    """

    def __init__(self, message: str, *, needed: int, allowed: int) -> None:
        super().__init__(message)
        self.needed = needed
        self.allowed = allowed

    def __reduce__(self) -> tuple[Any, ...]:
        """Come through a process pool, which pickles what is raised."""
        rebuild = partial(type(self), needed=self.needed, allowed=self.allowed)
        return rebuild, self.args, self.__dict__


class SpentError(BudgetError):
    """Money or time ended before there was a result; what was paid for is kept.

    Attributes
    ----------
    ledger
        Everything paid for so far. Pass it as ``store=`` to go on without paying for it
        again.
    """

    def __init__(self, message: str = "", *, needed: int = 1, allowed: int = 0) -> None:
        what = "the budget of money or time ends here; what was paid for is kept."
        super().__init__(message or what, needed=needed, allowed=allowed)
        self.ledger: Ledger | None = None


class SimilarityError(FewpairsError, RuntimeError):
    """The similarity raised, or returned something that is no similarity.

    Attributes
    ----------
    pair
        Positions of the two items, when a single pair is to blame.
    ledger
        Everything paid for so far. Pass it as ``store=`` to go on without paying
        for it again.
    """

    def __init__(self, message: str, *, pair: tuple[int, int] | None = None) -> None:
        super().__init__(message)
        self.pair = pair
        self.ledger: Ledger | None = None


class StoreError(FewpairsError, OSError):
    """A ledger cannot be used: damaged, full, in use, too new, of another function.

    What it holds stays readable.

    Attributes
    ----------
    ledger
        Where writing failed: everything paid for so far, in memory too. Pass it as
        ``store=`` to go on without paying for it again.
    pair
        Where the values are another function's: positions of the two items.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.ledger: Ledger | None = None
        self.pair: tuple[int, int] | None = None


class DamageError(StoreError):
    """A file of a ledger is missing, cut off or changed; `Ledger.repair` mends it."""


class MissingExtraError(FewpairsError, ImportError):
    """An optional library is needed and not installed."""


class FewpairsWarning(UserWarning):
    """Base of every warning that fewpairs issues."""


class StaleWarning(FewpairsWarning):
    """New items are not explained by the landmarks as well as the fitted ones are."""
