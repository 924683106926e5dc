"""The Nyström method with a damped core: signs are kept, nothing explodes."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fewpairs.errors import InputError
from fewpairs.kernels.spectral import apply_core, symmetric_eigen
from fewpairs.methods.base import Factors, LandmarkMethod
from fewpairs.oracle import Oracle
from fewpairs.similarity.base import Indices
from fewpairs.tariff import Tariff

__all__ = ["Regularized"]

_FOLDS = 5
_ROWS = 1_000
_FEWEST = 3
# Damping from none to strong, as shares of the core's largest eigenvalue.
_GRID = np.concatenate([[1e-10], np.logspace(-6, 0, 49)])


@dataclass(frozen=True)
class Regularized(LandmarkMethod):
    """Approximate K by C · V diag(λ / (λ² + μ²)) Vᵀ · Cᵀ, with W = V diag(λ) Vᵀ.

    μ = 0 is Nyström. A core eigenvalue much larger than μ is inverted as there, one
    near 0, which would explode, is damped; signs are kept. μ is chosen by leaving
    out landmarks: their columns are known, so predicting them costs no evaluation.

    Evaluations: n·s − s(s−1)/2 for s landmarks; s fewer when the diagonal is known.

    Parameters
    ----------
    mu
        The damping; ``None`` chooses it by cross-validation.

    Examples
    --------
    >>> import numpy as np, fewpairs as fp
    >>> rng = np.random.default_rng(0)
    >>> K = np.ones((200, 200)) + 0.1 * rng.standard_normal((200, 200))
    >>> approx = fp.approximate(None, (K + K.T) / 2, method="regularized")
    >>> approx.certificate.relative_error < 0.2
    True
    """

    mu: float | None = None

    needs_symmetric: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.mu is not None and not (np.isfinite(self.mu) and self.mu >= 0):
            msg = f"fewpairs.Regularized: mu is {self.mu}; pass a number from 0 on."
            raise InputError(msg)

    def price_of(self, landmarks: int, tariff: Tariff) -> int:
        """Price of the landmarks' columns."""
        return tariff.lines(landmarks)

    def fit(self, oracle: Oracle, rng: np.random.Generator) -> Factors:
        """Read the landmarks' columns, choose μ, and damp the core."""
        S = self.draw(oracle.n, rng)
        C = oracle.columns(S)
        W = C[S].astype(np.float64)
        values, vectors = symmetric_eigen(W)
        mu = self.mu
        if mu is None:
            mu = _chosen_share(C, S, W, rng) * float(np.abs(values).max())
        weights = damped_inverse(values, mu)
        keep = weights != 0
        root = np.sqrt(np.abs(weights[keep]))
        signs = np.sign(weights[keep])
        Z = apply_core(C, vectors[:, keep] * root)
        how = "by leaving out landmarks"
        if self.mu is not None or len(S) < _FEWEST:
            how = "given" if self.mu is not None else "by rule (too few to choose)"
        share = float((values < -1e-9 * np.abs(values).max()).mean())
        kind = "semidefinite" if share == 0 else f"indefinite ({share:.0%} negative)"
        words = (
            f"regularized Nyström with {len(S):,} landmarks; core {kind}, "
            f"damping μ = {mu:.3g} {how}"
        )
        return Factors(Z, S, words, signature=signs)


def damped_inverse(values: NDArray[Any], mu: float) -> NDArray[np.float64]:
    """Return λ / (λ² + μ²), and 0 for eigenvalues that are 0 up to rounding."""
    magnitude = np.abs(values)
    usable = magnitude > 1e-12 * magnitude.max(initial=0.0)
    out = np.zeros(len(values))
    # λ / (λ² + μ²), without squares that leave the range of float64.
    out[usable] = 1 / (values[usable] + mu * (mu / values[usable]))
    return out


def _chosen_share(
    C: NDArray[Any], S: Indices, W: NDArray[Any], rng: np.random.Generator
) -> float:
    """Return the μ, as a share of |λ|max, that best predicts left-out landmarks.

    The price of a left-out landmark's column has been paid; predicting it from the
    other landmarks is the situation of every item that is not a landmark.
    """
    if len(S) < _FEWEST:
        return 1e-3
    others = np.setdiff1d(np.arange(len(C)), S)
    rows = rng.permutation(others if len(others) else np.arange(len(C)))[:_ROWS]
    # The share does not depend on the scale, and squares stay in range without it.
    scale = float(np.abs(W).max()) or 1.0
    W, X = W / scale, C[rows].astype(np.float64) / scale
    errors = np.zeros(len(_GRID))
    for fold in np.array_split(rng.permutation(len(S)), min(_FOLDS, len(S))):
        kept = np.setdiff1d(np.arange(len(S)), fold)
        values, V = symmetric_eigen(W[np.ix_(kept, kept)])
        errors += _fold_errors(
            X[:, kept] @ V, values, W[np.ix_(fold, kept)] @ V, X[:, fold]
        )
    # Errors closer than rounding are equal: take the least damping among them.
    best = errors <= errors.min() + 1e-12 * float(np.sum(X**2))
    return float(_GRID[np.argmax(best)])


def _fold_errors(
    left: NDArray[Any], values: NDArray[Any], right: NDArray[Any], truth: NDArray[Any]
) -> NDArray[np.float64]:
    """Return ‖truth − left diag(w) rightᵀ‖² for the weights w of every μ of the grid.

    ‖T − L diag(w) Rᵀ‖² = ‖T‖² − 2·w·diag(LᵀTR) + wᵀ(LᵀL ∘ RᵀR)w: after three
    products, each μ costs a quadratic form.
    """
    linear = np.einsum("tk,tk->k", left, truth @ right)
    quadratic = (left.T @ left) * (right.T @ right)
    largest = np.abs(values).max(initial=0.0)
    weights = np.array([damped_inverse(values, share * largest) for share in _GRID])
    squares = np.einsum("gk,gk->g", weights @ quadratic, weights)
    return np.asarray(np.sum(truth**2) - 2 * weights @ linear + squares)
