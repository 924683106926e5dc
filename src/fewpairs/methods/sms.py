"""SMS-Nyström: the Nyström method on a matrix shifted towards semidefinite."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from fewpairs.checks import check_choice, check_number, refuse
from fewpairs.kernels.linalg.spectral import (
    apply_core,
    signed_inverse_root,
    smallest_eigenvalue,
)
from fewpairs.matrix.cost import Cost
from fewpairs.methods.base import LandmarkMethod
from fewpairs.model.low_rank import LowRank
from fewpairs.model.model import Model
from fewpairs.model.row_maps import RowMap
from fewpairs.reading.oracle import Oracle
from fewpairs.types import Indices

__all__ = ["SMSNystrom"]


@dataclass(frozen=True)
class SMSNystrom(LandmarkMethod):
    """Approximate K by C̄ · W̄⁻¹ · C̄ᵀ, shifted by λmin of a larger block.

    S₁ ⊂ S₂ are drawn uniformly; e = max(0, −α·λmin(K[S₂, S₂])); W̄ = K[S₁, S₁] + eI
    is positive definite for α ≥ 1, and C̄ = K[:, S₁] with e added at (S₁[j], j).

    Works where the negative eigenvalues of K are small. Where λmin is large, so is
    the shift, and the result is poor.

    Evaluations: n·s₁ − s₁(s₁−1)/2 for the columns, plus t(t+1)/2 with
    t = s₂ − s₁ for the rest of the block (diagonal entries are free when known).

    Parameters
    ----------
    landmarks
        s₁.
    alpha
        Factor on the shift.
    multiplier
        s₂ / s₁.
    rescale
        Multiply W̄ by β = ‖W‖ / ‖W̄‖, which undoes some of the shift's shrinking
        (paper, "Rescaling").
    shift
        ``"both"`` shifts C and W, as the paper's Algorithm 1; ``"core"`` shifts W
        alone. ``None``: as the variant has it.
    unshift
        Take e off the landmarks' diagonal entries of the low-rank part again:
        C̄W̄⁻¹C̄ᵀ reproduces K + eI there. Doubles the rank of the factors. Answers
        are exact at those entries with or without it.
    variant
        ``"paper"`` follows the text, ``"code"`` the authors' published program: the
        core alone is shifted, s₂ ≤ n − 1, norms are Frobenius norms, and eigenvalues
        of the core are cut at 1e-15. The paper's figures come from the latter.

    References
    ----------
    Ray, Monath, McCallum & Musco (2022), "Sublinear time approximation of text
    similarity matrices", AAAI.

    Examples
    --------
    >>> import numpy as np, fewpairs as fp
    >>> X = np.random.default_rng(0).standard_normal((100, 5))
    >>> method = fp.SMSNystrom(landmarks=8, alpha=1.5, multiplier=2)
    >>> approx = fp.approximate(None, X @ X.T, method=method, budget=0.3)
    >>> approx.embedding().shape[0], len(approx.landmarks)
    (100, 8)
    """

    alpha: float = 1.5
    multiplier: float = 2.0
    rescale: bool = False
    shift: Literal["both", "core"] | None = None
    unshift: bool = False
    variant: Literal["paper", "code"] = "paper"
    rcond: float | None = None

    takes_more_items: ClassVar[bool] = False  # its block is of any items

    def __post_init__(self) -> None:
        super().__post_init__()
        call = "fewpairs.SMSNystrom"
        check_choice(call, "variant", self.variant, ("paper", "code"))
        check_choice(call, "shift", self.shift, ("both", "core", None))
        check_number(call, "alpha", self.alpha, least=0)
        check_number(call, "multiplier", self.multiplier, least=1)
        if self.unshift and self.shifts == "core":
            cure = "False where only the core is shifted"
            raise refuse(call, "unshift", self.unshift, cure)

    @property
    def shifts(self) -> Literal["both", "core"]:
        """What is shifted, after the variant's default."""
        return self.shift or ("core" if self.variant == "code" else "both")

    def block_size(self, landmarks: int, n: int) -> int:
        """Return s₂ for s₁ landmarks."""
        cap = n - 1 if self.variant == "code" else n
        return max(landmarks, min(round(self.multiplier * landmarks), cap))

    def price_of(self, landmarks: int, cost: Cost) -> int:
        """Price of the columns and of the rest of the block."""
        rest = self.block_size(landmarks, cost.n) - landmarks
        return cost.lines(landmarks) + cost.principal(rest)

    def fit(self, oracle: Oracle, rng: np.random.Generator) -> Model:
        """Read columns and block, shift, and invert the shifted core."""
        S = self.draw(oracle.n, rng)
        C = oracle.columns(S)
        e = self._shift_of(oracle.principal(self._block(S, oracle.n, rng)))
        W = C[S].astype(np.float64)
        shifted = W + e * np.eye(len(S))
        if self.rescale:
            shifted *= self._scale(W, shifted)
        default = 1e-15 if self.variant == "code" else 1e-10
        rcond = default if self.rcond is None else self.rcond
        M, signs = signed_inverse_root(shifted, rcond)
        Z = apply_core(C, M)
        if self.shifts == "both":
            # C̄ = C + e·(ones at the landmarks' own rows), so only those rows of
            # C̄M = CM + e·M differ. [Departure 1: Algorithm 1 writes the ones at
            # i = j, which is right only if the landmarks are the first items.]
            Z[S] += (e * M).astype(Z.dtype)
        words = (
            f"SMS-Nyström ({self.variant}) with {len(S):,} landmarks, "
            f"{'rescaled, ' if self.rescale else ''}shift {e:.4g} of "
            f"{'columns and core' if self.shifts == 'both' else 'the core'}"
        )
        if self.unshift and e > 0:
            left = np.hstack([Z, _own_columns(Z, S, np.sqrt(e))])
            signature = np.concatenate([signs, np.full(len(S), -1.0)])
            words += ", taken off again"
            entry = RowMap(S, M, zeros=len(S))
            return Model(LowRank(left, signature, left_map=entry), S, words)
        return Model(LowRank(Z, signs, left_map=RowMap(S, M)), S, words)

    def _block(self, S: Indices, n: int, rng: np.random.Generator) -> Indices:
        """Return S₂: the landmarks and others drawn uniformly."""
        others = np.setdiff1d(np.arange(n), S)
        extra = self.block_size(len(S), n) - len(S)
        return np.concatenate([S, rng.permutation(others)[:extra]])

    def _shift_of(self, block: NDArray[Any]) -> float:
        lowest = smallest_eigenvalue(block)
        if self.variant == "code":
            return -self.alpha * (min(0.0, lowest) - 1e-16)
        return max(0.0, -self.alpha * lowest)

    def _scale(self, W: NDArray[Any], shifted: NDArray[Any]) -> float:
        order: Any = "fro" if self.variant == "code" else 2
        below = float(np.linalg.norm(shifted, order))
        return float(np.linalg.norm(W, order)) / below if below > 0 else 1.0


def _own_columns(Z: NDArray[Any], S: Indices, value: float) -> NDArray[Any]:
    """Return columns with ``value`` at each landmark's own row: E·Eᵀ is diagonal."""
    own = np.zeros((len(Z), len(S)), dtype=Z.dtype)
    own[S, np.arange(len(S))] = value
    return own
