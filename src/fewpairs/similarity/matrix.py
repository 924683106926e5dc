"""A precomputed matrix as a similarity: entries count when they are read."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fewpairs.errors import InputError
from fewpairs.similarity.base import Scorer, Similarity
from fewpairs.similarity.facts import check_facts
from fewpairs.similarity.items import as_items
from fewpairs.types import Indices

__all__ = ["from_matrix"]

_SAMPLED_PAIRS = 2_000


def from_matrix(
    matrix: ArrayLike,
    *,
    symmetric: bool | None = None,
    diagonal: float | None = None,
    bounds: tuple[float, float] | None = None,
    psd: bool = False,
) -> Similarity:
    """Make a similarity of an n×n array; nothing of it is copied.

    An m×n array is that of two sets: ``fewpairs.approximate(None, matrix)`` takes it as
    one, rows are items and columns others.

    Parameters
    ----------
    matrix
        Real; memory-mapped arrays work.
    symmetric
        Whether the matrix is symmetric. ``None`` looks at 2,000 sampled entries and
        their mirrors. A claim that those contradict is an error.
    diagonal
        The value of the diagonal, when all of it is one number; it is then free.
    bounds
        Smallest and largest possible value.
    psd
        Whether the matrix is positive semidefinite.

    Examples
    --------
    >>> import numpy as np, fewpairs as fp
    >>> fp.from_matrix(np.eye(3)).symmetric
    True
    """
    K = _checked(matrix)
    call = "fewpairs.from_matrix"
    check_facts(call, symmetric=symmetric, diagonal=diagonal, bounds=bounds, psd=psd)
    bounds = None if bounds is None else (bounds[0], bounds[1])
    if K.shape[0] != K.shape[1]:
        if symmetric or diagonal is not None or psd:
            msg = (
                f"{call}: got an array of shape {K.shape}, two sets; symmetric=, "
                "diagonal= and psd= are of square ones. Leave them out."
            )
            raise InputError(msg)
        return _MatrixSimilarity(K, False, None, bounds, False)
    if diagonal is not None and not np.allclose(np.diagonal(K), diagonal, rtol=1e-3):
        worst = int(np.argmax(np.abs(np.diagonal(K) - diagonal)))
        msg = (
            f"fewpairs.from_matrix: diagonal={diagonal}, but matrix[{worst}, {worst}] "
            f"= {K[worst, worst]:g}. Leave diagonal= out."
        )
        raise InputError(msg)
    pair = _asymmetric_pair(K)
    if symmetric is None:
        symmetric = pair is None
    elif symmetric and pair is not None:
        i, j = pair
        msg = (
            f"fewpairs.from_matrix: symmetric=True, but matrix[{i}, {j}] = {K[i, j]:g} "
            f"and matrix[{j}, {i}] = {K[j, i]:g}. Pass symmetric=False, or "
            "(matrix + matrix.T) / 2."
        )
        raise InputError(msg)
    return _MatrixSimilarity(K, symmetric, diagonal, bounds, psd)


def _checked(matrix: ArrayLike) -> NDArray[Any]:
    if hasattr(matrix, "toarray"):
        msg = (
            "fewpairs.from_matrix: got a sparse matrix; missing entries are not "
            "similarities of 0. Pass matrix.toarray() if they are."
        )
        raise InputError(msg)
    if np.ma.is_masked(matrix):
        msg = (
            "fewpairs.from_matrix: got a masked array; every entry may be read. Fill "
            "the mask first."
        )
        raise InputError(msg)
    try:
        K = np.asarray(matrix)  # a view of a memory map stays on disk
    except Exception:  # noqa: BLE001 - ragged, or no array at all
        K = np.empty(0, dtype=object)
    if K.ndim != 2 or not K.size:
        msg = (
            f"fewpairs.from_matrix: got an array of shape {K.shape}; a similarity "
            "matrix has one row and one column per item, or of two sets m rows and n "
            "columns."
        )
        raise InputError(msg)
    if K.dtype.kind not in "biuf":
        msg = (
            f"fewpairs.from_matrix: got an array of dtype {K.dtype}; similarities are "
            "real numbers. Convert it first, for example with matrix.astype(float)."
        )
        raise InputError(msg)
    return K


def _asymmetric_pair(K: NDArray[Any]) -> tuple[int, int] | None:
    """Return a sampled pair whose two entries differ beyond rounding, or None."""
    n = len(K)
    if n < 2:
        return None
    rng = np.random.default_rng(0)
    i, j = rng.integers(n, size=(2, min(_SAMPLED_PAIRS, n * n)))
    a, b = K[i, j].astype(np.float64), K[j, i].astype(np.float64)
    # A product X @ X.T is symmetric up to rounding, relative to its largest entries.
    eps = np.finfo(K.dtype).eps if K.dtype.kind == "f" else 0.0
    size = np.max(np.abs(a), initial=0.0, where=np.isfinite(a))
    with np.errstate(invalid="ignore"):
        different = np.flatnonzero(np.abs(a - b) > 64 * eps * size)
    return (int(i[different[0]]), int(j[different[0]])) if different.size else None


@dataclass(frozen=True, repr=False, eq=False)
class _MatrixSimilarity(Similarity):
    matrix: NDArray[Any]
    symmetric: bool
    diagonal: float | None
    bounds: tuple[float, float] | None
    psd: bool
    proven = True
    fingerprinted = True
    by_position = True

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns, so that items need not be given."""
        return self.matrix.shape[0], self.matrix.shape[1]

    @property
    def size(self) -> int:
        """Number of items, so that they need not be given."""
        return len(self.matrix)

    @property
    def name(self) -> str:
        return f"matrix of {self.matrix.dtype}"

    def identify(self) -> Iterable[Any]:
        """Return its shape, its type and a sample of its entries."""
        rng, (m, n) = np.random.default_rng(1), self.shape
        high = n if m == n else np.array([[m], [n]])
        i, j = rng.integers(high, size=(2, _SAMPLED_PAIRS))
        return (self.matrix.shape, self.matrix.dtype.str, self.matrix[i, j])

    def bind(self, items: Sequence[Any]) -> Scorer:
        n = len(self.matrix)
        items = as_items(items, "fewpairs.from_matrix")
        if self.shape != (n, n):
            msg = (
                f"fewpairs.from_matrix: the matrix is {n} × {self.shape[1]}, of two "
                "sets; this takes the square one of one set."
            )
            raise InputError(msg)
        if len(items) != n:
            msg = (
                f"fewpairs.from_matrix: the matrix is {n} × {n}, and there are "
                f"{len(items)} items. Pass one item a row (or items=None)."
            )
            raise InputError(msg)
        return _MatrixScorer(self.matrix, symmetric=self.symmetric)

    def bind_two(self, left: Sequence[Any], right: Sequence[Any]) -> Scorer:
        if (len(left), len(right)) != self.shape:
            msg = (
                f"fewpairs.from_matrix: the matrix is {self.shape[0]} × "
                f"{self.shape[1]}, and there are {len(left)} items and {len(right)} "
                "others. Pass one item a row and one of the others a column."
            )
            raise InputError(msg)
        return _TableScorer(self.matrix)

    def beside_two(
        self,
        new_items: Sequence[Any],
        items: Sequence[Any],  # noqa: ARG002
        positions: Indices,
    ) -> Scorer:
        """Return a scorer of new rows: their similarities to all columns."""
        m, n = self.shape
        rows = _new_rows(new_items, n, "others")
        return _TableScorer(rows[:, positions - m])

    def beside(
        self,
        new_items: Sequence[Any],
        items: Sequence[Any],  # noqa: ARG002
        positions: Indices,
    ) -> Scorer:
        """Return a scorer of new items that are rows: their similarities to all."""
        n = len(self.matrix)
        rows = _new_rows(new_items, n, "fitted ones")
        if not self.symmetric:
            msg = (
                "fewpairs.from_matrix: new items of an asymmetric matrix would have a "
                "row and a column each. Use fewpairs.from_function."
            )
            raise InputError(msg)
        return _RowsScorer(rows, self.matrix, positions)


class _MatrixScorer(Scorer):
    backend = "NumPy"

    # Reading is all this scorer does: larger chunks keep the overhead small.
    chunk = 1 << 20

    def __init__(self, matrix: NDArray[Any], *, symmetric: bool) -> None:
        self.n = len(matrix)
        small = matrix.dtype in (np.float16, np.float32)
        self.dtype = np.dtype(np.float32 if small else np.float64)
        self._matrix = matrix
        self._symmetric = symmetric

    def pairs(self, i: Indices, j: Indices) -> NDArray[Any]:
        return np.asarray(self._matrix[i, j])

    def block(self, rows: Indices, columns: Indices) -> NDArray[Any]:
        # Whole rows lie together in memory, whole columns do not.
        if self._symmetric and len(columns) < len(rows):
            return np.asarray(self._matrix[np.ix_(columns, rows)]).T
        return np.asarray(self._matrix[np.ix_(rows, columns)])


class _TableScorer(Scorer):
    """A matrix of two sets: position m + j is column j."""

    backend = "NumPy"

    chunk = _MatrixScorer.chunk

    def __init__(self, matrix: NDArray[Any]) -> None:
        self.n = sum(matrix.shape)
        small = matrix.dtype in (np.float16, np.float32)
        self.dtype = np.dtype(np.float32 if small else np.float64)
        self._matrix = matrix

    def pairs(self, i: Indices, j: Indices) -> NDArray[Any]:
        return np.asarray(self._matrix[i, j - len(self._matrix)])

    def block(self, rows: Indices, columns: Indices) -> NDArray[Any]:
        return np.asarray(self._matrix[np.ix_(rows, columns - len(self._matrix))])


class _RowsScorer(Scorer):
    """New items, which are rows of similarities, before some items of a matrix."""

    backend = "NumPy"

    chunk = _MatrixScorer.chunk

    def __init__(
        self, rows: NDArray[Any], matrix: NDArray[Any], positions: Indices
    ) -> None:
        self.n = len(rows) + len(positions)
        self._rows, self._matrix, self._positions = rows, matrix, positions

    def pairs(self, i: Indices, j: Indices) -> NDArray[Any]:
        m = len(self._rows)
        first, second = np.minimum(i, j), np.maximum(i, j)
        out = np.empty(len(i))
        new = first < m
        # The new items' similarities to each other are not known.
        out[new] = np.where(
            second[new] < m,
            np.nan,
            self._rows[first[new], self._positions[np.maximum(second[new] - m, 0)]],
        )
        old = ~new
        rows, columns = first[old] - m, second[old] - m
        out[old] = self._matrix[self._positions[rows], self._positions[columns]]
        return out


def _new_rows(new_items: Sequence[Any], n: int, to: str) -> NDArray[Any]:
    """Return new items as rows of n similarities, or say what they must be."""
    try:
        rows = np.asarray(new_items)
    except Exception:  # noqa: BLE001 - ragged, or no array at all
        rows = np.empty(0, dtype=object)
    if rows.shape != (len(new_items), n) or rows.dtype.kind not in "biuf":
        msg = (
            f"fewpairs.from_matrix: new items of shape {rows.shape} and dtype "
            f"{rows.dtype}; a precomputed matrix knows no items. Pass an (m, {n}) "
            f"array: the similarities of m new items to the {to}."
        )
        raise InputError(msg)
    return rows
