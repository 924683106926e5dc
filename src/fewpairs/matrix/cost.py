"""Cost: what reading a part of the matrix costs, in evaluations."""

import math
from dataclasses import dataclass
from numbers import Integral, Real

from fewpairs.errors import InputError

__all__ = ["Budget", "Cost", "check_budget"]

Budget = float | int | None


@dataclass(frozen=True)
class Cost:
    """Prices of one matrix, in evaluations of the similarity.

    Attributes
    ----------
    n
        Number of items.
    symmetric
        Whether the matrix that is read is symmetric (by itself, or as ½(K + Kᵀ)).
    calls
        Evaluations an off-diagonal entry costs: 2 when ½(K + Kᵀ) is read of an
        asymmetric similarity, else 1.
    free_diagonal
        Whether the diagonal is declared and therefore free.
    """

    n: int
    symmetric: bool
    calls: int
    free_diagonal: bool

    @property
    def pairs(self) -> int:
        """Distinct pairs of items: n(n−1)/2."""
        return self.n * (self.n - 1) // 2

    def lines(self, k: int) -> int:
        """Price of k whole columns: n·k − k(k−1)/2 entries when symmetric, else n·k."""
        shared = k * (k - 1) // 2 if self.symmetric else 0
        return self._price(k * (self.n - 1) - shared, k)

    def cross(self, columns: int, rows: int, both: int = 0) -> int:
        """Price of whole columns and rows, at least ``both`` of which coincide.

        Of an asymmetric matrix all may: coinciding items share a diagonal entry, which
        leaves more others to pay for where the diagonal is free.
        """
        if self.symmetric:
            return self.lines(columns + rows - both)
        diagonal = max(columns, rows)
        entries = self.n * (columns + rows) - columns * rows
        return self._price(entries - diagonal, diagonal)

    def principal(self, k: int) -> int:
        """Price of a k×k principal block of which nothing is known."""
        pairs = k * (k - 1) // 2 if self.symmetric else k * (k - 1)
        return self._price(pairs, k)

    def everything(self) -> int:
        """Price of the whole matrix."""
        return self.principal(self.n)

    def limit(self, budget: Budget) -> int | None:
        """Return the evaluations that a checked budget allows; ``None``: no limit."""
        if budget is None:
            return None
        if isinstance(budget, Integral):
            return int(budget)
        if budget == 1.0:
            return self.everything()
        price_of_a_pair = self.calls if self.symmetric else 2
        return math.floor(float(budget) * self.pairs * price_of_a_pair + 1e-9)

    def share(self, evaluations: int) -> float:
        """Return evaluations as a share of the distinct pairs: a float budget."""
        price_of_a_pair = self.calls if self.symmetric else 2
        return evaluations / (self.pairs * price_of_a_pair)

    def _price(self, entries: int, diagonal: int) -> int:
        return entries * self.calls + (0 if self.free_diagonal else diagonal)


def check_budget(budget: Budget, call: str) -> Budget:
    """Return a budget that makes sense, or say what one is."""
    cure = (
        "Pass a share of the pairs, such as 0.05, a whole number of evaluations, "
        "such as 100_000, or None for what the method needs."
    )
    if budget is None:
        return None
    if isinstance(budget, bool) or not isinstance(budget, Real):
        msg = f"{call}: budget is {budget!r:.60}, which is not a number. {cure}"
        raise InputError(msg)
    if not isinstance(budget, Integral) and not 0 < float(budget) <= 1:
        msg = f"{call}: budget is {budget}; a share lies above 0 and up to 1.0. {cure}"
        raise InputError(msg)
    if isinstance(budget, Integral) and budget < 1:
        msg = f"{call}: budget is {budget}; nothing can be read for that. {cure}"
        raise InputError(msg)
    return int(budget) if isinstance(budget, Integral) else float(budget)
