"""SiCUR: a skeleton approximation with twice as many rows as columns."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fewpairs.checks import check_number
from fewpairs.kernels.linalg.spectral import pseudo_inverse_factors
from fewpairs.matrix.cost import Cost
from fewpairs.methods.base import LandmarkMethod
from fewpairs.methods.cur import join
from fewpairs.model.model import Model
from fewpairs.reading.oracle import Oracle

__all__ = ["SiCUR"]


@dataclass(frozen=True)
class SiCUR(LandmarkMethod):
    """Approximate K by C · W⁺ · R, with twice as many rows as columns.

    R = K[S₂, :], C = K[:, S₁], W = K[S₂, S₁] and S₁ ⊂ S₂, so a symmetric K is read
    once. Oversampling keeps the smallest singular value of W away from 0, which is
    what the plain skeleton lacks on indefinite matrices.

    Evaluations: n·s₂ − s₂(s₂−1)/2 for symmetric K, n(s₁ + s₂) − s₁s₂ otherwise;
    diagonal entries are free when known.

    Parameters
    ----------
    landmarks
        s₂, the number of rows; the columns are among them.
    oversampling
        s₂ / s₁.
    average
        Return ½(A + Aᵀ) instead of A.

    References
    ----------
    Ray, Monath, McCallum & Musco (2022), "Sublinear time approximation of text
    similarity matrices", AAAI.

    Examples
    --------
    >>> import numpy as np, fewpairs as fp
    >>> X = np.random.default_rng(0).standard_normal((100, 5))
    >>> K = X @ np.diag([1, 1, 1, -1, -1]) @ X.T  # indefinite, of rank 5
    >>> approx = fp.approximate(None, K, method=fp.SiCUR(landmarks=12), budget=0.3)
    >>> bool(np.allclose(approx.dense(), K))
    True
    """

    oversampling: float = 2.0
    rcond: float = 1e-10
    average: bool = False

    needs_symmetric: ClassVar[bool] = False

    @property
    def least(self) -> int:
        """One column and one row."""
        return 2

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("fewpairs.SiCUR", "oversampling", self.oversampling, least=1)

    def columns_of(self, landmarks: int) -> int:
        """Return s₁ for s₂ rows."""
        return max(1, int(landmarks // self.oversampling))

    def price_of(self, landmarks: int, cost: Cost) -> int:
        """Price of the rows and the columns among them."""
        columns = self.columns_of(landmarks)
        return cost.cross(columns, landmarks, both=columns)

    def fit(self, oracle: Oracle, rng: np.random.Generator) -> Model:
        """Read rows, take columns from among them, and invert their crossing."""
        S2 = self.draw(oracle.n, rng)
        S1 = np.sort(rng.permutation(S2)[: self.columns_of(len(S2))])
        R, C = oracle.rows(S2), oracle.columns(S1)
        return join(
            C,
            pseudo_inverse_factors(C[S2], self.rcond),
            R,
            columns=S1,
            rows=S2,
            average=self.average,
            words=f"SiCUR with {len(S2):,} landmarks ({len(S1):,} columns among them)",
        )
