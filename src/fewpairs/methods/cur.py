"""What the CUR methods share: K ≈ C · U · R, kept as two factors."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.errors import InputError
from fewpairs.kernels.linalg.spectral import apply_core
from fewpairs.matrix.cost import Cost
from fewpairs.model.low_rank import LowRank
from fewpairs.model.model import Model
from fewpairs.model.row_maps import RowMap
from fewpairs.reading.oracle import Oracle
from fewpairs.types import Indices

__all__ = ["join", "read_lines", "refuse_average"]


def refuse_average(cost: Cost, call: str, *, average: bool) -> None:
    """Refuse the average of a matrix of two sets with its transpose."""
    if average and cost.split is not None:
        msg = (
            f"{call}: average=True returns ½(A + Aᵀ), and a matrix of two sets has no "
            "such average. Leave average= out."
        )
        raise InputError(msg)


def read_lines(
    oracle: Oracle, columns: Indices, rows: Indices
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Read whole columns and rows; of two sets, what of them lies across."""
    C, R = oracle.columns(columns), oracle.rows(rows)
    split = oracle.cost.split
    return (C, R) if split is None else (C[:split], R[:, split:])


def join(
    C: NDArray[Any],
    core: tuple[NDArray[Any], NDArray[Any], NDArray[Any]],
    R: NDArray[Any],
    *,
    columns: Indices,
    rows: Indices,
    words: str,
    average: bool = False,
    split: int | None = None,
) -> Model:
    """Return C · U · R as factors, for U = P diag(σ) Qᵀ.

    C are the lines ``columns``, R the lines ``rows``.

    The square root of σ goes to either side, so that left = C·P·σ^½ are the paper's
    document features. With ``average``, ½(A + Aᵀ) is returned instead of A = CUR, at
    twice the rank; it is never farther from a symmetric K in the Frobenius norm. With
    ``split``, the rows of C and the columns of R are two sets, left and right items.
    """
    P, sigma, Q = core
    root = np.sqrt(sigma)
    left = apply_core(C, P * root)
    right = apply_core(R.T, Q * root)
    maps = RowMap(columns, P * root), RowMap(rows, Q * root)
    if split is not None:
        both = np.vstack([left, right])
        one_axis = LowRank(
            both, np.ones(both.shape[1]), left_map=maps[0], right_map=maps[1]
        )
        return Model(one_axis, np.concatenate([rows, columns]), words)
    landmarks = rows if np.isin(columns, rows).all() else np.union1d(columns, rows)
    if not average:
        low_rank = LowRank(left, other=right, left_map=maps[0], right_map=maps[1])
        return Model(low_rank, landmarks, words)
    half = left.dtype.type(np.sqrt(0.5))
    both = np.hstack([left, right]) * half
    other = np.roll(both, len(sigma), axis=1)
    words += ", averaged with its transpose"
    low_rank = LowRank(
        both, other=other, left_map=maps[0], right_map=maps[1], averaged=True
    )
    return Model(low_rank, landmarks, words, features=left)
