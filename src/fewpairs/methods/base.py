"""Method: landmarks and a core. It turns oracle reads into factors."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import ClassVar, Self

import numpy as np

from fewpairs.checks import (
    check_array,
    check_flag,
    check_instance,
    check_number,
    refuse,
)
from fewpairs.errors import BudgetError, InputError
from fewpairs.matrix.cost import Cost
from fewpairs.matrix.fresh import Fresh
from fewpairs.methods.landmarks import Sampling, Uniform
from fewpairs.model.model import Model
from fewpairs.reading.oracle import Oracle
from fewpairs.types import Indices

__all__ = ["LandmarkMethod", "Method"]


class Method(ABC):
    """A way to approximate a matrix that is known through an oracle alone.

    Methods are frozen options: they hold no data, see no items, and take their
    randomness as an argument.
    """

    needs_symmetric: ClassVar[bool] = True
    takes_prior: ClassVar[bool] = False  # has a field ``prior``
    wants_prior: ClassVar[bool] = False  # is given one of texts, unless told otherwise
    # Whether growing reads the same columns again, which are then free.
    reuses_columns: ClassVar[bool] = False
    # Whether rows and columns may be of two sets.
    takes_two_sets: ClassVar[bool] = False
    # Whether items can be added, without pairs of old ones being read anew.
    takes_more_items: ClassVar[bool] = False

    @abstractmethod
    def price(self, cost: Cost) -> int:
        """Return the most evaluations that ``fit`` makes."""

    @abstractmethod
    def fit(self, oracle: Oracle, rng: np.random.Generator) -> Model:
        """Read what is needed through ``oracle`` and return factors."""

    def taking(self, cost: Cost, allowance: int) -> Self:
        """Return the method that goes on from what was read, with so many more."""
        return self.resolve(cost, allowance)

    def within(self, seconds: float, n: int) -> Self:  # noqa: ARG002 - who trains
        """Return the method of n items that trains for so many seconds at most."""
        return self

    def resolve(self, cost: Cost, allowance: int | None) -> Self:
        """Fix what follows from the budget; raise if it is not enough."""
        self._check_symmetric(cost)
        needed = self.price(cost)
        if allowance is not None and needed > allowance:
            raise _too_dear(self, cost, needed, allowance)
        return self

    def everything(self, cost: Cost) -> "Method | None":  # noqa: ARG002
        """Return this method with all items as landmarks, if the budget decides."""
        return None

    def with_landmarks(self, most: int) -> "Method | None":  # noqa: ARG002
        """Return this method with landmarks, ``most`` unless given, or ``None``."""
        return None

    def price_of_new(self, landmarks: Indices, fresh: Fresh, cost: Cost) -> int:  # noqa: ARG002
        """Return the fewest evaluations that adding so many items takes."""
        return 0

    def for_new_items(
        self,
        landmarks: Indices,
        fresh: Fresh,  # noqa: ARG002
        cost: Cost,  # noqa: ARG002
        allowance: int,  # noqa: ARG002
    ) -> "tuple[Method, Indices]":
        """Return what goes on with a matrix to which so many items were added.

        And the landmarks whose columns the new items complete first, out of the same
        allowance.
        """
        return self, landmarks[:0]

    def scattered(self, cost: Cost) -> float:  # noqa: ARG002
        """Return the share of its evaluations that are single pairs, not columns."""
        return 0.0

    def _check_symmetric(self, cost: Cost) -> None:
        if cost.split is not None and not self.takes_two_sets:
            msg = (
                f"{type(self).__name__} approximates K by factors of one set of items, "
                "which both sides of a symmetric matrix share; these are two sets. Use "
                "method='auto', Skeleton, SiCUR, StaCUR or Optimal."
            )
            raise InputError(msg)
        if self.needs_symmetric and not cost.symmetric:
            msg = (
                f"{type(self).__name__} needs a symmetric matrix, and symmetrize=False "
                "reads the similarity as it is. Use symmetrize=True, or Skeleton, "
                "SiCUR or StaCUR."
            )
            raise InputError(msg)


@dataclass(frozen=True)
class LandmarkMethod(Method):
    """A method whose price follows from its number of landmarks.

    Parameters
    ----------
    landmarks
        Number of items whose full row or column is read, or those items
        themselves. ``None``: as many as the budget allows.
    sampling
        How items are drawn when only their number is given.
    """

    landmarks: int | Sequence[int] | None = None
    sampling: Sampling = field(default_factory=Uniform)

    takes_more_items: ClassVar[bool] = True

    def __post_init__(self) -> None:
        call = f"fewpairs.{type(self).__name__}"
        cure = "fewpairs.Uniform() or fewpairs.KMeansMedoids(embeddings)"
        check_instance(call, "sampling", self.sampling, Sampling, cure)
        for option in self.flags:
            check_flag(call, option, getattr(self, option))
        rcond = getattr(self, "rcond", 0.0)
        none = getattr(type(self), "rcond", 0.0) is None
        check_number(call, "rcond", rcond, least=0, most=1, none=none)
        if self.landmarks is not None:
            self._check_landmarks(call)

    def _check_landmarks(self, call: str) -> None:
        cure = "a whole number or a list of positions of items"
        if isinstance(self.landmarks, bool):
            raise refuse(call, "landmarks", self.landmarks, cure)
        if isinstance(self.landmarks, (int, np.integer)):
            count = int(self.landmarks)
            object.__setattr__(self, "landmarks", count)
        else:
            chosen = check_array(call, "landmarks", self.landmarks, cure)
            if chosen.ndim != 1 or (chosen.size and chosen.dtype.kind not in "iu"):
                raise refuse(call, "landmarks", self.landmarks, cure)
            count = len(chosen)
            if len(np.unique(chosen)) < count or chosen.min(initial=0) < 0:
                msg = f"{call}: landmarks must be distinct positions from 0 on."
                raise InputError(msg)
            object.__setattr__(self, "landmarks", tuple(int(t) for t in chosen))
        if count < self.least:
            msg = f"{call}: landmarks is {count}; it takes at least {self.least}."
            raise InputError(msg)

    @property
    def flags(self) -> tuple[str, ...]:
        """Options that are True or False."""
        return tuple(part.name for part in fields(self) if part.type in (bool, "bool"))

    @property
    def least(self) -> int:
        """The fewest landmarks that the method can work with."""
        return 1

    def most(self, cost: Cost) -> int:
        """Return the most landmarks that there are."""
        return cost.n

    @property
    def count(self) -> int:
        """Number of landmarks; known once resolved."""
        if self.landmarks is None:
            msg = (
                f"{type(self).__name__}.fit: the number of landmarks is not fixed. "
                "Pass landmarks=, or go through fewpairs.approximate."
            )
            raise InputError(msg)
        return (
            self.landmarks if isinstance(self.landmarks, int) else len(self.landmarks)
        )

    def price(self, cost: Cost) -> int:
        """Return the most evaluations that ``fit`` makes."""
        return self.price_of(self.count, cost)

    @abstractmethod
    def price_of(self, landmarks: int, cost: Cost) -> int:
        """Return the most evaluations that this many landmarks take."""

    def everything(self, cost: Cost) -> Method | None:
        """Return this method with all items as landmarks, if the budget decides."""
        return replace(self, landmarks=cost.n) if self.landmarks is None else None

    def price_of_new(self, landmarks: Indices, fresh: Fresh, cost: Cost) -> int:
        """Return the price of the new items' entries at the landmarks."""
        return fresh.pairs_at(landmarks, cost) * cost.calls

    def for_new_items(
        self,
        landmarks: Indices,
        fresh: Fresh,  # noqa: ARG002
        cost: Cost,  # noqa: ARG002
        allowance: int,  # noqa: ARG002
    ) -> tuple[Method, Indices]:
        """Keep the landmarks."""
        return replace(self, landmarks=tuple(landmarks.tolist())), landmarks

    def with_landmarks(self, most: int) -> Method | None:
        """Return this method with landmarks, ``most`` unless they are given."""
        return replace(self, landmarks=most) if self.landmarks is None else self

    def resolve(self, cost: Cost, allowance: int | None) -> Self:
        """Take as many landmarks as the budget allows, unless they are given."""
        self._check_symmetric(cost)
        if self.landmarks is not None:
            self._check_given(cost)
            return super().resolve(cost, allowance)
        if allowance is None:
            msg = (
                f"{type(self).__name__}: neither landmarks nor a budget is given. Pass "
                "landmarks= to the method, or a budget."
            )
            raise InputError(msg)
        needed = self.price_of(self.least, cost)
        if needed > allowance:
            raise _too_dear(self, cost, needed, allowance)
        # price_of rises with the number of landmarks
        low, high = self.least, self.most(cost)
        while low < high:
            middle = (low + high + 1) // 2
            if self.price_of(middle, cost) <= allowance:
                low = middle
            else:
                high = middle - 1
        return replace(self, landmarks=low)

    def _check_given(self, cost: Cost) -> None:
        n, given = self.most(cost), self.landmarks
        if cost.split is not None and isinstance(given, tuple):
            msg = (
                f"fewpairs.{type(self).__name__}: landmarks are positions of items, "
                "and these are two sets: pass how many there are to be."
            )
            raise InputError(msg)
        largest = max(given) if isinstance(given, tuple) else -1
        if self.count > n or largest >= n:
            what = (
                f"{self.count} landmarks" if self.count > n else f"landmark {largest}"
            )
            msg = (
                f"fewpairs.{type(self).__name__}: {what} of {n} items. Landmarks are "
                f"items: at most {n}, at positions 0 to {n - 1}."
            )
            raise InputError(msg)

    def draw(self, n: int, rng: np.random.Generator) -> Indices:
        """Return the landmarks: those given, or a sample."""
        if isinstance(self.landmarks, tuple):
            return np.array(self.landmarks, dtype=np.int64)
        return self.sampling.draw(n, self.count, rng)

    def draw_across(
        self, cost: Cost, columns: int, rows: int, rng: np.random.Generator
    ) -> tuple[Indices, Indices]:
        """Return so many columns, right items, and so many rows, left ones.

        Those of a run before, where items were added to it.
        """
        m, n = cost.shape
        if isinstance(self.landmarks, tuple):
            given = np.array(self.landmarks, dtype=np.int64)
            return given[given >= m], given[given < m]
        right = self.sampling.draw(n, min(columns, n), rng)
        return m + right, self.sampling.draw(m, min(rows, m), rng)

    def draw_two(self, n: int, rng: np.random.Generator) -> tuple[Indices, Indices]:
        """Return two independent samples, half of the landmarks each."""
        half = self.count // 2
        if isinstance(self.landmarks, tuple):
            given = np.array(self.landmarks, dtype=np.int64)
            return given[:half], given[half : 2 * half]
        return self.sampling.draw(n, half, rng), self.sampling.draw(n, half, rng)


def _too_dear(method: Method, cost: Cost, needed: int, allowance: int) -> BudgetError:
    shown = repr(method) if getattr(method, "landmarks", 0) else type(method).__name__
    msg = (
        f"{shown:.120} needs {needed:,} evaluations for {cost.n:,} items, and the "
        f"budget leaves {allowance:,} to it."
    )
    return BudgetError(msg, needed=needed, allowed=allowance)
