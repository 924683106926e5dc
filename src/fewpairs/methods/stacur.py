"""StaCUR: the CUR decomposition with a sampled product as its core."""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from fewpairs.kernels.linalg.spectral import gram, pseudo_inverse_factors
from fewpairs.matrix.cost import Cost
from fewpairs.methods.base import LandmarkMethod, Method
from fewpairs.methods.cur import join, read_lines, refuse_average
from fewpairs.methods.whole import Whole
from fewpairs.model.model import Model
from fewpairs.reading.oracle import Oracle

__all__ = ["StaCUR"]


@dataclass(frozen=True)
class StaCUR(LandmarkMethod):
    """Approximate K by (n/s) · C (CᵀC)⁺ K[S₂, S₁]ᵀ · R.

    C = K[:, S₁] and R = K[S₂, :]; for symmetric K the middle is the paper's K[S₁, S₂].
    The core is an estimate of C⁺ K R⁺ from a sample of s rows, so it is stable, never
    exact below s = n, and rarely the best.

    Evaluations: n·s − s(s−1)/2 for symmetric K and the same sample ("s");
    those of u = |S₁ ∪ S₂| ≤ landmarks lines for independent samples ("d"). For
    asymmetric K, n·2s − s². Diagonal entries are free when known. Of two sets, with s
    left items as rows and s right ones as columns, (m + n)·s − s².

    Parameters
    ----------
    landmarks
        s for the same sample; columns and rows together for independent ones.
        Given positions: first the columns, then as many rows.
    independent
        Draw S₂ apart from S₁ (the paper's StaCUR(d)) instead of S₂ = S₁ (StaCUR(s)).
    average
        Return ½(A + Aᵀ) instead of A.

    References
    ----------
    Drineas, Kannan & Mahoney (2006), "Fast Monte Carlo algorithms for matrices III",
    SIAM Journal on Computing. Ray et al. (2022), AAAI. [Departure 8: the joining
    matrix as the paper prints it has impossible dimensions; this is Drineas's.]

    Examples
    --------
    >>> import numpy as np, fewpairs as fp
    >>> X = np.random.default_rng(0).random((100, 3))
    >>> approx = fp.approximate(None, X @ X.T, method=fp.StaCUR(40), budget=None)
    >>> approx.left.shape == approx.right.shape
    True
    """

    independent: bool = False
    rcond: float = 1e-10
    average: bool = False

    needs_symmetric: ClassVar[bool] = False
    takes_two_sets: ClassVar[bool] = True

    @property
    def least(self) -> int:
        """One column and one row, which may be the same item's."""
        return 2 if self.independent else 1

    def everything(self, cost: Cost) -> Method | None:
        """Independent samples never read all of the matrix for certain."""
        if self.independent or self.landmarks is not None:
            return None
        return super().everything(cost) if cost.split is None else Whole()

    def most(self, cost: Cost) -> int:
        """All items; of two sets as many columns and rows as the smaller one has."""
        if cost.split is None:
            return cost.n
        return min(cost.shape) * (2 if self.independent else 1)

    def resolve(self, cost: Cost, allowance: int | None) -> Self:
        """Take as many landmarks as the budget allows, unless they are given."""
        refuse_average(cost, "fewpairs.StaCUR", average=self.average)
        return super().resolve(cost, allowance)

    def price_of(self, landmarks: int, cost: Cost) -> int:
        """Price of the columns and rows if no two samples coincide."""
        if not self.independent:
            return cost.cross(landmarks, landmarks, both=landmarks)
        half = landmarks // 2
        if cost.symmetric and cost.split is None:
            return cost.lines(min(2 * half, cost.n))
        return cost.cross(half, half)

    def fit(self, oracle: Oracle, rng: np.random.Generator) -> Model:
        """Read columns and rows, and estimate the core."""
        split = oracle.cost.split
        if split is not None:
            size = self.count // 2 if self.independent else self.count
            S1, S2 = self.draw_across(oracle.cost, size, size, rng)
        elif not self.independent:
            S1 = S2 = self.draw(oracle.n, rng)
        else:
            S1, S2 = self.draw_two(oracle.n, rng)
        C, R = read_lines(oracle, S1, S2)
        W = C[S2].astype(np.float64)
        scale = float(np.abs(W).max())  # keeps squares in range
        if scale < np.finfo(np.float64).tiny:  # 0, or without an inverse
            W, scale = np.zeros_like(W), 1.0
        P, sigma, Q = pseudo_inverse_factors(gram(C, scale), self.rcond)
        # CᵀK ≈ (n/s)·C[S₂]ᵀ·R is a matrix product sampled at the rows S₂.
        U = (P * sigma) @ (Q.T @ (len(C) / len(S2) / scale * W.T)) / scale
        left, weights, right = np.linalg.svd(U)
        same = not self.independent and split is None
        kind = "the same rows" if same else "independent rows"
        return join(
            C,
            (left, weights, right.T),
            R,
            columns=S1,
            rows=S2,
            average=self.average,
            split=split,
            words=f"StaCUR with {len(S1):,} columns and {kind}",
        )
