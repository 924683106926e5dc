"""Eigenvalues and inverses of small cores, and products with tall factors."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.sparse.linalg import ArpackError, eigsh

__all__ = [
    "apply_core",
    "gram",
    "largest_eigen",
    "pseudo_inverse_factors",
    "signed_inverse_root",
    "smallest_eigenvalue",
    "symmetric_eigen",
]

Array = NDArray[np.float64]

# Where Lanczos beats LAPACK (`python -m benchmarks eigenvalues`): one eigenvalue of
# a matrix of this size. Fewer eigenpairs than this share of it: measured on STS-B,
# 75 of 3,000 take a tenth of the time of all, 150 half of it.
_LANCZOS_FROM = 1_500
_LANCZOS_SHARE = 0.025
# A spectrum that crowds at its end (low rank, λmin ≈ 0) converges hardly ever: after
# so many restarts LAPACK is quicker.
_RESTARTS = 20
_GRAM_ROWS = 2_048


def symmetric_eigen(W: NDArray[Any]) -> tuple[Array, Array]:
    """Return eigenvalues (ascending) and eigenvectors of a symmetric matrix."""
    values, vectors = linalg.eigh(
        np.asarray(W, dtype=np.float64), driver="evd", check_finite=False
    )
    return values, vectors


def largest_eigen(K: NDArray[Any], rank: int) -> tuple[Array, Array]:
    """Return the ``rank`` eigenpairs of largest magnitude of a symmetric matrix."""
    n = len(K)
    if rank < _LANCZOS_SHARE * n:
        start = np.random.default_rng(0).standard_normal(n)
        try:
            W = np.asarray(K, dtype=np.float64)
            return eigsh(W, k=rank, which="LM", v0=start, maxiter=_RESTARTS)
        except ArpackError:
            pass
    values, vectors = symmetric_eigen(K)
    top = np.argsort(-np.abs(values), kind="stable")[:rank]
    return values[top], vectors[:, top]


def smallest_eigenvalue(W: NDArray[Any]) -> float:
    """Return λmin of a symmetric matrix.

    LAPACK for small matrices; Lanczos for large ones, falling back to LAPACK where
    it does not converge. Deterministic.
    """
    W = np.asarray(W, dtype=np.float64)
    n = len(W)
    if n >= _LANCZOS_FROM:
        start = np.random.default_rng(0).standard_normal(n)
        try:
            values = eigsh(
                W,
                k=1,
                which="SA",
                v0=start,
                maxiter=_RESTARTS,
                return_eigenvectors=False,
            )
            return float(values[0])
        except ArpackError:
            pass
    values = linalg.eigh(
        W, eigvals_only=True, subset_by_index=[0, 0], check_finite=False
    )
    return float(values[0])


def signed_inverse_root(W: NDArray[Any], rcond: float) -> tuple[Array, Array]:
    """Factor the pseudo-inverse of a symmetric W as M diag(signs) Mᵀ.

    With W = V diag(λ) Vᵀ, M = V |λ|^(−½) over the eigenvalues that are larger in
    magnitude than ``rcond`` times the largest; signs are those of λ. Nothing is
    assumed of the signs: an indefinite W stays indefinite.
    """
    values, vectors = symmetric_eigen(W)
    magnitude = np.abs(values)
    keep = magnitude > rcond * magnitude.max(initial=0.0)
    M = vectors[:, keep] / np.sqrt(magnitude[keep])
    return M, np.sign(values[keep])


def pseudo_inverse_factors(W: NDArray[Any], rcond: float) -> tuple[Array, Array, Array]:
    """Return P, σ, Q with W⁺ = P diag(σ) Qᵀ, σ falling."""
    U, s, Vt = linalg.svd(
        np.asarray(W, dtype=np.float64), full_matrices=False, check_finite=False
    )
    keep = s > rcond * s.max(initial=0.0)
    # Smallest singular values of W are the largest of its pseudo-inverse.
    order = np.flatnonzero(keep)[::-1]
    return Vt[order].T, 1.0 / s[order], U[:, order]


def gram(C: NDArray[Any], scale: float = 1.0) -> Array:
    """Return CᵀC / scale² in float64, whatever the precision of C, not copying C."""
    out = np.zeros((C.shape[1], C.shape[1]))
    for start in range(0, len(C), _GRAM_ROWS):
        part = np.asarray(C[start : start + _GRAM_ROWS], dtype=np.float64) / scale
        out += part.T @ part
    return out


def apply_core(C: NDArray[Any], M: NDArray[Any]) -> NDArray[Any]:
    """Return C @ M in the precision of C, laid out by rows."""
    return np.asarray(np.ascontiguousarray(C @ M.astype(C.dtype, copy=False)))
