"""Skeleton approximation: independent columns and rows joined by their crossing."""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from fewpairs.kernels.linalg.spectral import pseudo_inverse_factors
from fewpairs.matrix.cost import Cost
from fewpairs.methods.base import LandmarkMethod
from fewpairs.methods.cur import join, read_lines, refuse_average
from fewpairs.model.model import Model
from fewpairs.reading.oracle import Oracle

__all__ = ["Skeleton"]


@dataclass(frozen=True)
class Skeleton(LandmarkMethod):
    """Approximate K by K[:, S₁] · (K[S₂, S₁])⁺ · K[S₂, :], S₁ and S₂ independent.

    As unstable as Nyström on indefinite matrices, for the same reason: the square
    crossing K[S₂, S₁] may be nearly singular. See SiCUR for the cure.

    Evaluations: those of u = |S₁ ∪ S₂| ≤ landmarks whole lines, n·u − u(u−1)/2, for
    symmetric K; n(s₁ + s₂) − s₁s₂ for asymmetric K. Diagonal entries are free when
    known. Of two sets n·s₂ + m·s₁ − s₁s₂, with rows of left items and columns of right
    ones.

    Parameters
    ----------
    landmarks
        Columns and rows together; half of each. Given positions: first the columns,
        then as many rows.
    average
        Return ½(A + Aᵀ) instead of A.

    References
    ----------
    Goreinov, Tyrtyshnikov & Zamarashkin (1997), "A theory of pseudoskeleton
    approximations", Linear Algebra and its Applications.

    Examples
    --------
    >>> import numpy as np, fewpairs as fp
    >>> rng = np.random.default_rng(0)
    >>> K = rng.standard_normal((100, 4)) @ rng.standard_normal((4, 100))
    >>> approx = fp.approximate(
    ...     None, K, method=fp.Skeleton(landmarks=12), budget=0.3, symmetrize=False
    ... )
    >>> bool(np.allclose(approx.dense(), K))
    True
    """

    rcond: float = 1e-10
    average: bool = False

    needs_symmetric: ClassVar[bool] = False
    takes_two_sets: ClassVar[bool] = True

    @property
    def least(self) -> int:
        """One column and one row."""
        return 2

    def everything(self, cost: Cost) -> None:
        """Independent samples never read all of the matrix for certain."""

    def most(self, cost: Cost) -> int:
        """All items; of two sets as many columns and rows as the smaller one has."""
        return cost.n if cost.split is None else 2 * min(cost.shape)

    def resolve(self, cost: Cost, allowance: int | None) -> Self:
        """Take as many landmarks as the budget allows, unless they are given."""
        refuse_average(cost, "fewpairs.Skeleton", average=self.average)
        return super().resolve(cost, allowance)

    def price_of(self, landmarks: int, cost: Cost) -> int:
        """Price of the columns and rows if none coincide."""
        half = landmarks // 2
        if cost.symmetric and cost.split is None:
            return cost.lines(min(2 * half, cost.n))
        return cost.cross(half, half)

    def fit(self, oracle: Oracle, rng: np.random.Generator) -> Model:
        """Read columns and rows, and invert their crossing."""
        half, split = self.count // 2, oracle.cost.split
        if split is None:
            S1, S2 = self.draw_two(oracle.n, rng)
        else:
            S1, S2 = self.draw_across(oracle.cost, half, half, rng)
        C, R = read_lines(oracle, S1, S2)
        return join(
            C,
            pseudo_inverse_factors(C[S2], self.rcond),
            R,
            columns=S1,
            rows=S2,
            average=self.average,
            split=split,
            words=f"skeleton of {len(S1):,} columns and {len(S2):,} rows",
        )
