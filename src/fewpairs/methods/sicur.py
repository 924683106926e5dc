"""SiCUR: a skeleton approximation with twice as many rows as columns."""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from fewpairs.checks import check_number
from fewpairs.kernels.linalg.spectral import pseudo_inverse_factors
from fewpairs.matrix.cost import Cost
from fewpairs.methods.base import LandmarkMethod, Method
from fewpairs.methods.cur import join, read_lines, refuse_average
from fewpairs.methods.whole import Whole
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
    diagonal entries are free when known. Of two sets n·s₂ + m·s₁ − s₁s₂: rows are left
    items, and columns right ones.

    Parameters
    ----------
    landmarks
        s₂, the number of rows; the columns are among them. Of two sets they are apart.
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
    takes_two_sets: ClassVar[bool] = True

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

    def most(self, cost: Cost) -> int:
        """All items; of two sets all rows."""
        return cost.shape[0]

    def everything(self, cost: Cost) -> Method | None:
        """Return this method with all rows, if the budget decides."""
        if cost.split is None or self.landmarks is not None:
            return super().everything(cost)
        return Whole()

    def resolve(self, cost: Cost, allowance: int | None) -> Self:
        """Take as many landmarks as the budget allows, unless they are given."""
        refuse_average(cost, "fewpairs.SiCUR", average=self.average)
        return super().resolve(cost, allowance)

    def price_of(self, landmarks: int, cost: Cost) -> int:
        """Price of the rows and the columns among them."""
        columns = min(self.columns_of(landmarks), cost.shape[1])
        return cost.cross(columns, landmarks, both=columns)

    def fit(self, oracle: Oracle, rng: np.random.Generator) -> Model:
        """Read rows, take columns from among them, and invert their crossing."""
        columns, split = self.columns_of(self.count), oracle.cost.split
        if split is None:
            S2 = self.draw(oracle.n, rng)
            S1 = np.sort(rng.permutation(S2)[:columns])
        else:
            S1, S2 = self.draw_across(oracle.cost, columns, self.count, rng)
        C, R = read_lines(oracle, S1, S2)
        among = " among them" if split is None else ""
        return join(
            C,
            pseudo_inverse_factors(C[S2], self.rcond),
            R,
            columns=S1,
            rows=S2,
            average=self.average,
            split=split,
            words=f"SiCUR with {len(S2):,} landmarks ({len(S1):,} columns{among})",
        )
