"""Method: landmarks and a core. It turns oracle reads into factors."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from fewpairs.errors import BudgetError, InputError
from fewpairs.kernels.selection import rows_of
from fewpairs.landmarks import Sampling, Uniform
from fewpairs.methods.mapping import RowMap
from fewpairs.oracle import Oracle
from fewpairs.similarity.base import Indices
from fewpairs.tariff import Tariff

__all__ = ["Factors", "LandmarkMethod", "Method"]

_GATHER = 1 << 17  # numbers gathered at once: they should stay in the cache


@dataclass(frozen=True, eq=False)
class Factors:
    """What a method returns: K ≈ left @ right.T, and how it came about.

    Attributes
    ----------
    left
        (n, r) array.
    landmarks
        Items whose full row or column was read.
    words
        What was done and why, for the receipt.
    signature
        ±1 for each column of ``left`` where right = left · signature; such factors
        are kept once.
    other
        ``right`` where it is an array of its own.
    features
        (n, k) features of the items for classifiers, clustering and plots; ``left``
        if not given.
    exact
        Whether answers take the known entries instead of the factors. Only the
        best-rank yardstick, which has read everything, says no.
    left_map, right_map
        How new items get rows of ``left``, and of ``other``; ``None``: they cannot.
    averaged
        Whether left = [L, R]·√½ and right = [R, L]·√½ for what the maps give, L and R.
    """

    left: NDArray[Any]
    landmarks: Indices
    words: str
    signature: NDArray[Any] | None = None
    other: NDArray[Any] | None = None
    features: NDArray[Any] = None  # type: ignore[assignment]
    exact: bool = True
    left_map: RowMap | None = None
    right_map: RowMap | None = None
    averaged: bool = False

    def __post_init__(self) -> None:
        if (self.other is None) == (self.signature is None):
            msg = "Factors: give either a signature or the other factor."
            raise InputError(msg)
        if self.features is None:
            object.__setattr__(self, "features", self.left)
        for array in (self.left, self.other, self.features):
            if array is not None:  # every answer rests on them
                array.flags.writeable = False

    @cached_property
    def right(self) -> NDArray[Any]:
        """(n, r) array; made when it is asked for, where signs alone set it apart."""
        if self.other is not None:
            return self.other
        return self.left if self._semidefinite else self.left * self._signs

    @property
    def feature_signature(self) -> NDArray[Any] | None:
        """±1 for each column of ``features``, where they are two-sided."""
        return self.signature

    def predict(self, i: Indices, j: Indices) -> NDArray[Any]:
        """Return (left @ right.T)[i[t], j[t]] for every t."""
        out = np.empty(len(i), dtype=self.left.dtype)
        for part in _parts(len(i), self.left.shape[1]):
            left, right = self._sides(i[part], j[part])
            out[part] = np.einsum("tr,tr->t", left, right)
        return out

    def block(self, rows: Indices, columns: Indices) -> NDArray[Any]:
        """Return (left @ right.T)[rows][:, columns]."""
        left, right = self._sides(rows, columns)
        return np.asarray(left @ right.T)

    def bare(self) -> "Factors":
        """Return the low-rank part alone."""
        return self

    def row_norms(self, rows: Indices) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return ‖left[i]‖² and ‖right[i]‖² for every i in ``rows``."""
        norms: list[NDArray[Any]] = []
        for side in (self.left, self.other):
            if side is None:  # right differs from left in signs alone
                norms.append(norms[0])
                continue
            squares = np.empty(len(rows))
            for part in _parts(len(rows), side.shape[1]):
                gathered = side[rows[part]]
                squares[part] = np.einsum("nr,nr->n", gathered, gathered)
            norms.append(squares)
        return norms[0], norms[1]

    def times(self, x: NDArray[Any]) -> NDArray[Any]:
        """Return left @ (right.T @ x)."""
        if self.other is not None:
            return np.asarray(self.left @ (self.other.T @ x))
        return np.asarray(self.left @ ((self.left.T @ x).T * self._signs).T)

    @property
    def _semidefinite(self) -> bool:
        return bool((np.asarray(self.signature) > 0).all())

    @property
    def _signs(self) -> NDArray[Any]:
        return np.asarray(self.signature).astype(self.left.dtype)

    def _sides(self, i: Indices, j: Indices) -> tuple[NDArray[Any], NDArray[Any]]:
        if self.other is not None:
            return rows_of(self.left, i), rows_of(self.other, j)
        left, right = rows_of(self.left, i), rows_of(self.left, j)
        return left if self._semidefinite else left * self._signs, right


def _parts(rows: int, width: int) -> Iterator[slice]:
    """Cut rows into parts that stay in the cache."""
    step = max(1, _GATHER // max(1, width))
    return (slice(start, start + step) for start in range(0, rows, step))


class Method(ABC):
    """A way to approximate a matrix that is known through an oracle alone.

    Methods are frozen options: they hold no data, see no items, and take their
    randomness as an argument.
    """

    needs_symmetric: ClassVar[bool] = True

    @abstractmethod
    def price(self, tariff: Tariff) -> int:
        """Return the most evaluations that ``fit`` makes."""

    @abstractmethod
    def fit(self, oracle: Oracle, rng: np.random.Generator) -> Factors:
        """Read what is needed through ``oracle`` and return factors."""

    def resolve(self, tariff: Tariff, allowance: int | None) -> Self:
        """Settle what follows from the budget; raise if it is not enough."""
        self._check_symmetric(tariff)
        needed = self.price(tariff)
        if allowance is not None and needed > allowance:
            raise _too_dear(self, tariff, needed, allowance)
        return self

    def everything(self, tariff: Tariff) -> "Method | None":  # noqa: ARG002
        """Return this method with all items as landmarks, if the budget decides."""
        return None

    def _check_symmetric(self, tariff: Tariff) -> None:
        if self.needs_symmetric and not tariff.symmetric:
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

    def __post_init__(self) -> None:
        if self.landmarks is None:
            return
        call = f"fewpairs.{type(self).__name__}"
        if isinstance(self.landmarks, (int, np.integer)):
            count = int(self.landmarks)
            object.__setattr__(self, "landmarks", count)
        else:
            chosen = np.asarray(self.landmarks)
            if chosen.ndim != 1 or chosen.dtype.kind not in "iu":
                msg = (
                    f"{call}: landmarks is {self.landmarks!r:.60}; pass a whole number "
                    "or a list of positions of items."
                )
                raise InputError(msg)
            count = len(chosen)
            if len(np.unique(chosen)) < count or chosen.min(initial=0) < 0:
                msg = f"{call}: landmarks must be distinct positions from 0 on."
                raise InputError(msg)
            object.__setattr__(self, "landmarks", tuple(int(t) for t in chosen))
        if count < self.least:
            msg = f"{call}: landmarks is {count}; it takes at least {self.least}."
            raise InputError(msg)

    @property
    def least(self) -> int:
        """The fewest landmarks that the method can work with."""
        return 1

    @property
    def count(self) -> int:
        """Number of landmarks; known once resolved."""
        if self.landmarks is None:
            msg = (
                f"{type(self).__name__}.fit: the number of landmarks is not settled. "
                "Pass landmarks=, or go through fewpairs.approximate."
            )
            raise InputError(msg)
        return (
            self.landmarks if isinstance(self.landmarks, int) else len(self.landmarks)
        )

    def price(self, tariff: Tariff) -> int:
        """Return the most evaluations that ``fit`` makes."""
        return self.price_of(self.count, tariff)

    @abstractmethod
    def price_of(self, landmarks: int, tariff: Tariff) -> int:
        """Return the most evaluations that this many landmarks take."""

    def everything(self, tariff: Tariff) -> Method | None:
        """Return this method with all items as landmarks, if the budget decides."""
        return replace(self, landmarks=tariff.n) if self.landmarks is None else None

    def resolve(self, tariff: Tariff, allowance: int | None) -> Self:
        """Take as many landmarks as the budget allows, unless they are given."""
        self._check_symmetric(tariff)
        if self.landmarks is not None:
            self._check_given(tariff.n)
            return super().resolve(tariff, allowance)
        if allowance is None:
            msg = (
                f"{type(self).__name__}: neither landmarks nor a budget is given. Pass "
                "landmarks= to the method, or a budget."
            )
            raise InputError(msg)
        needed = self.price_of(self.least, tariff)
        if needed > allowance:
            raise _too_dear(self, tariff, needed, allowance)
        low, high = self.least, tariff.n  # price_of rises with the number of landmarks
        while low < high:
            middle = (low + high + 1) // 2
            if self.price_of(middle, tariff) <= allowance:
                low = middle
            else:
                high = middle - 1
        return replace(self, landmarks=low)

    def _check_given(self, n: int) -> None:
        given = self.landmarks
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

    def draw_two(self, n: int, rng: np.random.Generator) -> tuple[Indices, Indices]:
        """Return two independent samples, half of the landmarks each."""
        half = self.count // 2
        if isinstance(self.landmarks, tuple):
            given = np.array(self.landmarks, dtype=np.int64)
            return given[:half], given[half : 2 * half]
        return self.sampling.draw(n, half, rng), self.sampling.draw(n, half, rng)


def _too_dear(
    method: Method, tariff: Tariff, needed: int, allowance: int
) -> BudgetError:
    shown = repr(method) if getattr(method, "landmarks", 0) else type(method).__name__
    msg = (
        f"{shown:.120} needs {needed:,} evaluations for {tariff.n:,} items, and the "
        f"budget leaves {allowance:,} to it."
    )
    return BudgetError(msg, needed=needed, allowed=allowance)
