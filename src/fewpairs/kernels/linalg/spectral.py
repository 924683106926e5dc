"""Eigenvalues and inverses of small cores, and products with tall factors."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.kernels.linalg import scratch

__all__ = [
    "apply_core",
    "gram",
    "largest_eigen",
    "largest_magnitude",
    "leading_features",
    "leading_of_two",
    "pseudo_inverse_factors",
    "signed_inverse_root",
    "smallest_eigenvalue",
    "symmetric_eigen",
    "triangle",
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
    from scipy import linalg  # takes a twentieth of a second

    values, vectors = linalg.eigh(
        np.asarray(W, dtype=np.float64), driver="evd", check_finite=False
    )
    return values, vectors


def largest_eigen(K: NDArray[Any], rank: int) -> tuple[Array, Array]:
    """Return the ``rank`` eigenpairs of largest magnitude of a symmetric matrix."""
    n = len(K)
    if rank < _LANCZOS_SHARE * n:
        found = _lanczos(np.asarray(K, dtype=np.float64), k=rank, which="LM")
        if found is not None:
            return found[0], found[1]
    values, vectors = symmetric_eigen(K)
    top = np.argsort(-np.abs(values), kind="stable")[:rank]
    return values[top], vectors[:, top]


def smallest_eigenvalue(W: NDArray[Any]) -> float:
    """Return λmin of a symmetric matrix.

    LAPACK for small matrices; Lanczos for large ones, falling back to LAPACK where
    it does not converge. Deterministic.
    """
    from scipy import linalg

    W = np.asarray(W, dtype=np.float64)
    if len(W) >= _LANCZOS_FROM:
        found = _lanczos(W, k=1, which="SA", return_eigenvectors=False)
        if found is not None:
            return float(found[0])
    values = linalg.eigh(
        W, eigvals_only=True, subset_by_index=[0, 0], check_finite=False
    )
    return float(values[0])


def _lanczos(W: Array, **options: Any) -> Any:
    """Return what ARPACK finds, or nothing where it does not converge in time."""
    from scipy.sparse.linalg import ArpackError, eigsh

    start = np.random.default_rng(0).standard_normal(len(W))
    try:
        return eigsh(W, v0=start, maxiter=_RESTARTS, **options)
    except ArpackError:
        return None


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
    from scipy import linalg

    U, s, Vt = linalg.svd(
        np.asarray(W, dtype=np.float64), full_matrices=False, check_finite=False
    )
    # What has no inverse in double precision counts as 0.
    keep = s > max(rcond * s.max(initial=0.0), np.finfo(np.float64).tiny)
    # Smallest singular values of W are the largest of its pseudo-inverse.
    order = np.flatnonzero(keep)[::-1]
    return Vt[order].T, 1.0 / s[order], U[:, order]


def largest_magnitude(C: NDArray[Any]) -> float:
    """Return the largest |C[i, j]|, and 0 of nothing."""
    largest = 0.0
    for part in scratch.parts(len(C), C.shape[1]) if C.size else ():
        rows = scratch.rows_of(C, part)
        largest = max(largest, float(rows.max()), -float(rows.min()))
    return largest


def gram(C: NDArray[Any], scale: float = 1.0) -> Array:
    """Return CᵀC / scale² in float64, whatever the precision of C, not copying C."""
    out = np.zeros((C.shape[1], C.shape[1]))
    for start in range(0, len(C), _GRAM_ROWS):
        part = np.asarray(C[start : start + _GRAM_ROWS], dtype=np.float64) / scale
        out += part.T @ part
        scratch.drop(C)
    return out


def apply_core(C: NDArray[Any], M: NDArray[Any]) -> NDArray[Any]:
    """Return C @ M in the precision of C, laid out by rows; on disk where C is."""
    M = M.astype(C.dtype, copy=False)
    if scratch.folder_of(C) is None:
        return np.asarray(np.ascontiguousarray(C @ M))
    out = scratch.like(C, (len(C), M.shape[1]), C.dtype)
    for part in scratch.parts(len(C), C.shape[1]):
        scratch.put_rows(out, part, scratch.rows_of(C, part) @ M)
    return out


def triangle(F: NDArray[Any]) -> Array:
    """Return R of F = QR, reading F part by part.

    R of two matrices on top of each other is R of their own Rs on top of each other.
    """
    R = np.empty((0, F.shape[1]))
    for part in scratch.parts(len(F), F.shape[1]):
        stacked = np.vstack([R, scratch.rows_of(F, part).astype(np.float64)])
        R = np.asarray(np.linalg.qr(stacked, mode="r"))
    return R


def leading_features(
    left: NDArray[Any],
    dim: int,
    *,
    signs: NDArray[Any] | None = None,
    right: NDArray[Any] | None = None,
) -> NDArray[Any]:
    """Return the ``dim`` leading directions of left·diag(signs)·leftᵀ or left·rightᵀ.

    With left = QR and the eigenvectors V of R·diag(signs)·Rᵀ they are Q·V|λ|^½, and
    Q·V = left·diag(signs)·Rᵀ·V/λ: Q itself is never formed, and ``left`` is read part
    by part. Likewise Q·U·s^½ = left·(R₂ᵀ·V)·s^(−½) for the singular vectors of R₁·R₂ᵀ.
    """
    R = triangle(left)
    if right is None:
        weights = np.ones(len(R.T)) if signs is None else np.asarray(signs)
        values, vectors = symmetric_eigen((R * weights) @ R.T)
        top = np.argsort(-np.abs(values), kind="stable")[:dim]
        sizes, sides = np.abs(values[top]), np.sign(values[top])
        core = weights[:, None] * (R.T @ vectors[:, top]) * sides
    else:
        R2 = triangle(right)
        _, singular, Vt = np.linalg.svd(R @ R2.T)
        sizes, core = singular[:dim], R2.T @ Vt[:dim].T
    usable = sizes > 1e-14 * sizes.max(initial=0.0)
    core[:, usable] /= np.sqrt(sizes[usable])
    core[:, ~usable] = 0.0
    return apply_core(left, core)


def leading_of_two(
    left: NDArray[Any], right: NDArray[Any], dim: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the ``dim`` leading directions of left·rightᵀ, as features of both sides.

    U·s^½ as of `leading_features`, and V·s^½ = right·leftᵀ·(U·s^½)/s.
    """
    features = leading_features(left, dim, right=right)
    sizes = np.einsum("nr,nr->r", features, features, dtype=np.float64)
    core = (left.T @ features) / np.where(sizes > 0, sizes, np.inf)
    return features, apply_core(right, core)
