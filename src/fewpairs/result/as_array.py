"""As an array: length, entries and rows in brackets, products, the whole for NumPy."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from fewpairs.errors import InputError
from fewpairs.matrix.entries import Entries
from fewpairs.model.model import Model
from fewpairs.once import once
from fewpairs.types import Indices

__all__ = ["AsArray"]

_BLOCK = 1 << 22  # entries at once


class AsArray(ABC):
    """What NumPy's users expect of a matrix; the entries are those of ``pairs``."""

    model: Model
    known: Entries

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""

    @property
    @abstractmethod
    def left(self) -> NDArray[Any]:
        """Factors of the rows."""

    @abstractmethod
    def pairs(self, i: ArrayLike, j: ArrayLike) -> NDArray[Any]:
        """Return entries."""

    @abstractmethod
    def block(self, rows: Any, columns: Any) -> NDArray[Any]:
        """Return all rows by all columns."""

    @abstractmethod
    def dense(self, *, force: bool = False) -> NDArray[Any]:
        """Return everything."""

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.shape[0]

    def __iter__(self) -> Iterator[NDArray[Any]]:
        """Yield the rows, made as many at once as fit a block."""
        m, n = self.shape
        step = max(1, _BLOCK // max(1, n))
        for start in range(0, m, step):
            yield from self.block(slice(start, start + step), slice(None))

    @overload
    def __getitem__(self, key: tuple[int, int]) -> float: ...
    @overload
    def __getitem__(self, key: int | slice | Indices) -> NDArray[Any]: ...
    @overload
    def __getitem__(self, key: Any) -> Any: ...
    def __getitem__(self, key: Any) -> Any:
        """Return ``approx[i, j]``, a row ``approx[i]``, or parts, as NumPy would.

        Two lists of positions are pairs; with a slice it is a block.
        """
        if isinstance(key, tuple) and len(key) != 2:
            msg = f"Approximation[...]: {len(key)} positions; a matrix has two axes."
            raise InputError(msg)
        rows, columns = key if isinstance(key, tuple) else (key, slice(None))
        if not isinstance(rows, slice) and not isinstance(columns, slice):
            found = self.pairs(_places(rows), _places(columns))
            return found[()]
        found = self.block(_places(rows), _places(columns))
        if _is_one(rows):
            return found[0]
        return found[:, 0] if _is_one(columns) else found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return the whole matrix for NumPy, where `dense` does."""
        if copy is False:
            msg = (
                "Approximation.__array__: the matrix is made now; copy=False cannot be"
            )
            raise ValueError(msg)
        return np.asarray(self.dense(), dtype=dtype)

    def __matmul__(self, x: ArrayLike) -> NDArray[Any]:
        """Return the product with a vector or a matrix of n rows.

        Known lines are multiplied as they are, everything else through the factors.
        """
        try:
            X = np.asarray(x)
        except Exception:  # noqa: BLE001 - ragged, or no array at all
            X = np.empty(0, dtype=object)
        numbers = X.dtype.kind in "biufc"
        m, n = self.shape
        if not numbers or X.ndim not in (1, 2) or X.shape[0] != n:
            msg = (
                f"Approximation @ x: x has shape {X.shape} and dtype {X.dtype}; it "
                f"must have {n} rows of numbers."
            )
            raise InputError(msg)
        if self.known.sides is not None:
            step = max(1, _BLOCK // n)
            parts = [slice(start, start + step) for start in range(0, m, step)]
            return np.concatenate([self.block(part, slice(None)) @ X for part in parts])
        columns = self.known.columns
        rows = columns if self.known.symmetric else self.known.rows
        rest = X.astype(np.result_type(X, self.left), copy=True)
        rest[self.known.line_indices("columns")] = 0
        out = self.model.times(rest)
        out += self._corrections @ rest
        for lines in columns:
            out += lines.values.T @ X[lines.indices]
        for lines in rows:
            out[lines.indices] = lines.values @ X
        return out

    @once
    def _corrections(self) -> sparse.csr_array:
        """What known entries outside known lines add to the low-rank part."""
        n = self.known.n
        i, j, values = self.known.uncovered()
        if self.known.diagonal is not None:
            own = np.setdiff1d(np.arange(n), self._lined())
            i, j = np.concatenate([i, own]), np.concatenate([j, own])
            values = np.concatenate([values, np.full(len(own), self.known.diagonal)])
        if self.known.symmetric:
            off = i != j
            i, j, values = (
                np.concatenate([i, j[off]]),
                np.concatenate([j, i[off]]),
                np.concatenate([values, values[off]]),
            )
        change = values - self.model.pairs(i, j)
        return sparse.csr_array((change, (i, j)), shape=(n, n))

    def _lined(self) -> Indices:
        """Items whose diagonal entry lies in a known line."""
        return np.concatenate(
            [self.known.line_indices("columns"), self.known.line_indices("rows")]
        )


def _is_one(where: Any) -> bool:
    """Tell a position from several."""
    return not isinstance(where, slice) and np.ndim(where) == 0


def _places(where: Any) -> Any:
    """Return positions; of a boolean mask, where it is true."""
    if isinstance(where, slice):
        return where
    if where is None or where is Ellipsis:
        msg = f"Approximation[...]: {where} is no position. Pass numbers or slices."
        raise InputError(msg)
    at = np.asarray(where)
    return np.flatnonzero(at) if at.dtype == bool and at.ndim == 1 else where
