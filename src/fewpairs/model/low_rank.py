"""LowRank: K ≈ left @ right.T, and how new items get rows of it."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.errors import InputError
from fewpairs.kernels.linalg.selection import rows_of
from fewpairs.model.row_maps import RowMap
from fewpairs.types import Indices

__all__ = ["LowRank"]

_GATHER = 1 << 19  # numbers gathered at once: near the cache, and few calls


@dataclass(frozen=True, eq=False)
class LowRank:
    """K ≈ left @ right.T.

    Attributes
    ----------
    left
        (n, r) array.
    signature
        ±1 for each column of ``left`` where right = left · signature; such factors
        are kept once.
    other
        ``right`` where it is an array of its own.
    left_map, right_map
        How new items get rows of ``left``, and of ``other``; ``None``: they cannot.
    averaged
        Whether left = [L, R]·√½ and right = [R, L]·√½ for what the maps give, L and R.
    """

    left: NDArray[Any]
    signature: NDArray[Any] | None = None
    other: NDArray[Any] | None = None
    left_map: RowMap | None = None
    right_map: RowMap | None = None
    averaged: bool = False

    def __post_init__(self) -> None:
        if (self.other is None) == (self.signature is None):
            msg = "LowRank: give either a signature or the other factor."
            raise InputError(msg)
        for array in (self.left, self.other):
            if array is not None:  # every answer rests on them
                array.flags.writeable = False

    @classmethod
    def nothing(cls, n: int) -> "LowRank":
        """Return a low rank of rank 0: all entries are 0."""
        return cls(np.empty((n, 0)), signature=np.empty(0))

    @cached_property
    def right(self) -> NDArray[Any]:
        """(n, r) array; made when it is asked for, where signs alone set it apart."""
        if self.other is not None:
            return self.other
        return self.left if self._semidefinite else self.left * self._signs

    def pairs(self, i: Indices, j: Indices) -> NDArray[Any]:
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

    def times(self, x: NDArray[Any]) -> NDArray[Any]:
        """Return left @ (right.T @ x)."""
        if self.other is not None:
            return np.asarray(self.left @ (self.other.T @ x))
        return np.asarray(self.left @ ((self.left.T @ x).T * self._signs).T)

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
