"""What the CUR methods share: K ≈ C · U · R, kept as two factors."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.kernels.linalg.spectral import apply_core
from fewpairs.model.low_rank import LowRank
from fewpairs.model.model import Model
from fewpairs.model.row_maps import RowMap
from fewpairs.types import Indices

__all__ = ["join"]


def join(
    C: NDArray[Any],
    core: tuple[NDArray[Any], NDArray[Any], NDArray[Any]],
    R: NDArray[Any],
    *,
    columns: Indices,
    rows: Indices,
    average: bool,
    words: str,
) -> Model:
    """Return C · U · R as factors, for U = P diag(σ) Qᵀ.

    C are the lines ``columns``, R the lines ``rows``.

    The square root of σ goes to either side, so that left = C·P·σ^½ are the paper's
    document features. With ``average``, ½(A + Aᵀ) is returned instead of A = CUR, at
    twice the rank; it is never farther from a symmetric K in the Frobenius norm.
    """
    P, sigma, Q = core
    root = np.sqrt(sigma)
    left = apply_core(C, P * root)
    right = apply_core(R.T, Q * root)
    maps = RowMap(columns, P * root), RowMap(rows, Q * root)
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
