"""The Nyström method, for indefinite matrices too."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fewpairs.kernels.linalg.spectral import apply_core, signed_inverse_root
from fewpairs.matrix.cost import Cost
from fewpairs.methods.base import LandmarkMethod
from fewpairs.model.low_rank import LowRank
from fewpairs.model.model import Model
from fewpairs.model.row_maps import RowMap
from fewpairs.reading.oracle import Oracle

__all__ = ["Nystrom"]


@dataclass(frozen=True)
class Nystrom(LandmarkMethod):
    """Approximate K by C · W⁺ · Cᵀ, with C = K[:, S] and W = K[S, S].

    Exact when rank(K) = rank(W). The standard choice for positive semidefinite K.
    On an indefinite K, W may have eigenvalues near 0 that blow up in W⁺: the result
    is then useless, and the certificate says so. The signs of W are kept (some
    implementations take |W|, which approximates another matrix).

    Evaluations: n·s − s(s−1)/2 for s landmarks; s fewer when the diagonal is known.

    Parameters
    ----------
    rcond
        Eigenvalues of W below this share of the largest count as 0.

    References
    ----------
    Williams & Seeger (2001), "Using the Nyström method to speed up kernel machines",
    NIPS.

    Examples
    --------
    >>> import numpy as np, fewpairs as fp
    >>> X = np.random.default_rng(0).standard_normal((100, 5))
    >>> approx = fp.approximate(None, X @ X.T, method=fp.Nystrom(8), budget=0.2)
    >>> bool(np.allclose(approx.dense(), X @ X.T))
    True
    """

    rcond: float = 1e-10

    reuses_columns: ClassVar[bool] = True

    def price_of(self, landmarks: int, cost: Cost) -> int:
        """Price of the landmarks' columns."""
        return cost.lines(landmarks)

    def fit(self, oracle: Oracle, rng: np.random.Generator) -> Model:
        """Read the landmarks' columns and invert their core."""
        S = self.draw(oracle.n, rng)
        C = oracle.columns(S)
        M, signs = signed_inverse_root(C[S], self.rcond)
        Z = apply_core(C, M)
        negative = int((signs < 0).sum())
        words = f"Nyström with {len(S):,} landmarks"
        if negative:
            words += f"; the core is indefinite: {negative} of {len(signs)} eigenvalues"
            words += " are negative"
        return Model(LowRank(Z, signs, left_map=RowMap(S, M)), S, words)
