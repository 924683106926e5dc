"""Account: what a run has spent, what it is charged, and what it may still spend."""

from fewpairs.errors import BudgetError
from fewpairs.ledger.ledger import Ledger
from fewpairs.matrix.limits import Limits
from fewpairs.progress import Progress

__all__ = ["Account"]


class Account:
    """Counts evaluations, and refuses what the budget does not cover.

    Attributes
    ----------
    limit
        Evaluations that the budget allows; ``None``: no limit.
    evaluations, money
        Calls of the similarity made so far, one per pair, and what they cost.
    for_store
        Those among them that checked values of the ledger.
    charged
        Calls that the requests take, made now or paid for before: the same whatever a
        ledger knows.
    limits
        Of money and time; ``None``: there are none.
    """

    def __init__(self, ledger: Ledger, progress: Progress) -> None:
        self.limit: int | None = None
        self.evaluations = 0
        self.for_store = 0
        self.charged = 0
        self.money = 0.0
        self.limits: Limits | None = None
        self._ledger, self._progress = ledger, progress

    @property
    def remaining(self) -> int | None:
        """Evaluations that the budget still allows; ``None``: no limit."""
        return None if self.limit is None else self.limit - self.evaluations

    def count(self, evaluations: int, money: float = 0.0) -> None:
        """Enter evaluations that were made, and what was charged for them."""
        self.evaluations += evaluations
        self.money += money
        if self.limits is not None:
            self.limits.count(evaluations, money)
        self._ledger.count(evaluations, money)
        spend = getattr(self._progress, "spend", None)
        if money and spend is not None:  # watchers need not listen to it
            spend(money)
        self._progress.advance(evaluations)

    def afford(self, price: int) -> None:
        """Refuse what the budget does not cover, before it is evaluated."""
        if self.remaining is not None and price > self.remaining:
            spent = f" after {self.for_store} checking the store" * bool(self.for_store)
            msg = (
                f"reading this takes {price:,} evaluations, and {self.remaining:,} of "
                f"the budget of {self.limit:,} are left{spent}. Raise budget= to "
                f"{self.evaluations + price:,} or more."
            )
            raise BudgetError(msg, needed=price, allowed=self.remaining)
