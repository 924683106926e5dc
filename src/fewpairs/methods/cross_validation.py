"""Leaving out landmarks: which parts stand before a damped core, and its damping.

Landmarks are predicted from the other landmarks. Their columns are paid for, so this
costs no evaluation.
"""

import itertools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewpairs.kernels.linalg.blas_threads import in_threads
from fewpairs.kernels.linalg.spectral import symmetric_eigen
from fewpairs.model.curve import Curve
from fewpairs.similarity.priors import Prior
from fewpairs.types import Indices

__all__ = [
    "COMPARED",
    "FEWEST",
    "Shape",
    "choose",
    "damped_inverse",
    "row_effects",
    "spread",
]

FEWEST = 3  # landmarks that cross-validation needs
_FOLDS = 5
COMPARED = 128  # landmarks on which shapes are compared
_SIDE_BY_SIDE = 48  # landmarks from which folds are worth threads of their own
# A richer shape has to lower the cross-validated error by this share of it.
_MARGIN = 0.005
# Damping from none to strong, as shares of the core's largest eigenvalue.
_GRID = np.concatenate([[1e-10], np.logspace(-6, 0, 49)])
_ROWS = 1_000

Array = NDArray[np.float64]


class Shape(NamedTuple):
    """Which parts stand before the core."""

    prior: bool
    centering: str

    def __str__(self) -> str:
        parts = ["prior"] if self.prior else []
        if self.centering == "additive":
            parts.append("row effects")
        elif self.centering == "constant" and not self.prior:
            parts.append("constant")
        return " and ".join(parts) or "nothing"


def damped_inverse(values: NDArray[Any], mu: float) -> Array:
    """Return λ / (λ² + μ²), and 0 for eigenvalues that are 0 up to rounding."""
    magnitude = np.abs(values)
    usable = magnitude > 1e-12 * magnitude.max(initial=0.0)
    out = np.zeros(len(values))
    # λ / (λ² + μ²), without squares that leave the range of float64: where μ²/λ does,
    # infinity is right, its inverse is 0.
    with np.errstate(over="ignore"):
        out[usable] = 1 / (values[usable] + mu * (mu / values[usable]))
    return out


def row_effects(
    means: Array, S: Indices, noise: float, centering: str
) -> tuple[Array | None, float, float]:
    """Return the effects a and the constant m of K[i, j] ≈ m + aᵢ + aⱼ.

    Also the share of a mean, less the constant, that an effect is.

    ``means`` are each item's mean over the landmarks, so the effects of the landmarks
    must add up to 0; they are shrunk by what the noise of a mean explains of their
    variance, which matters where landmarks are few.
    """
    constant = float(means[S].mean())
    if centering == "none":
        return None, 0.0, 0.0
    if centering == "constant":
        return None, float(means.mean()), 0.0
    effects = means - constant
    variance = float(np.var(effects))
    kept = max(0.0, 1 - noise / variance) if variance > 0 else 0.0
    return kept * effects, constant, kept


def spread(rows: Array) -> float:
    """Return the variance of entries around their row's and column's mean."""
    centered = rows - rows.mean(axis=1, keepdims=True)
    centered -= centered.mean(axis=0)
    return float(np.mean(centered**2))


def choose(
    C: NDArray[Any],
    S: Indices,
    prior: Prior | None,
    shapes: list[Shape],
    rng: np.random.Generator,
) -> tuple[Shape, float, dict[Shape, float]]:
    """Return the shape and the μ (a share of |λ|max) that predict landmarks best."""
    n, s = C.shape
    others = np.setdiff1d(np.arange(n), S)
    rows = rng.permutation(others if len(others) else np.arange(n))[:_ROWS]
    # The share does not depend on the scale, and squares stay in range without it.
    scale = float(np.abs(C[S]).max(initial=0.0)) or 1.0
    sample = _Sample(
        C[rows].astype(np.float64) / scale,
        C[S].astype(np.float64) / scale,
        None if prior is None else prior.block(rows, S).astype(np.float64),
        None if prior is None else prior.block(S, S).astype(np.float64),
    )
    # Shapes differ by more than some landmarks do; the damping wants all of them.
    some = sample.of(rng.permutation(s)[:COMPARED]) if s > COMPARED else sample
    total = _left_out(some, shapes, rng)
    rounding = 1e-12 * float(np.sum(some.entries**2))
    best = shapes[0]
    for shape in shapes[1:]:
        if total[shape].min() < (1 - _MARGIN) * total[best].min() - rounding:
            best = shape
    entries = some.entries.size
    errors = {
        shape: scale * float(np.sqrt(max(0.0, error.min()) / entries))
        for shape, error in total.items()
    }
    at_best = total[best]
    if some is not sample:
        at_best = _left_out(sample, [best], rng)[best]
        rounding = 1e-12 * float(np.sum(sample.entries**2))
    # Errors closer than rounding are equal: take the least damping among them.
    equal = at_best <= at_best.min() + rounding
    return best, float(_GRID[np.argmax(equal)]), errors


def _left_out(
    sample: "_Sample", shapes: list[Shape], rng: np.random.Generator
) -> dict[Shape, Array]:
    """Return the squared errors of left-out landmarks for every μ of the grid."""
    s = len(sample.core)
    folds = np.array_split(rng.permutation(s), min(_FOLDS, s))
    errors = np.zeros((len(shapes), len(folds), len(_GRID)))

    def leave_out(task: tuple[int, int]) -> None:
        shape, fold = shapes[task[0]], folds[task[1]]
        kept = np.setdiff1d(np.arange(s), fold)
        errors[task] = _fold_errors(sample, shape, kept, fold)

    tasks = list(itertools.product(range(len(shapes)), range(len(folds))))
    if s < _SIDE_BY_SIDE:
        for task in tasks:
            leave_out(task)
    else:
        in_threads(leave_out, tasks)
    return dict(zip(shapes, errors.sum(axis=1), strict=True))


class _Sample(NamedTuple):
    entries: Array  # some rows of C
    core: Array
    prior: Array | None
    prior_core: Array | None

    def of(self, landmarks: NDArray[Any]) -> "_Sample":
        """Return the same for some of the landmarks."""
        inner = np.ix_(landmarks, landmarks)
        return _Sample(
            self.entries[:, landmarks],
            self.core[inner],
            None if self.prior is None else self.prior[:, landmarks],
            None if self.prior_core is None else self.prior_core[inner],
        )


def _fold_errors(
    sample: _Sample, shape: Shape, kept: NDArray[Any], fold: NDArray[Any]
) -> Array:
    """Return the squared errors of the left-out landmarks for every μ of the grid."""
    X, W = sample.entries, sample.core
    off = ~np.eye(len(kept), dtype=bool)
    if shape.prior and sample.prior is not None and sample.prior_core is not None:
        curve = Curve.through(sample.prior[:, kept], X[:, kept])
        X, W = X - curve(sample.prior), W - curve(sample.prior_core)
    if shape.centering != "none":
        inner = W[np.ix_(kept, kept)]
        means = X[:, kept].mean(axis=1)
        core_means = W[:, kept].mean(axis=1)
        core_means[kept] = (inner * off).sum(axis=1) / max(1, len(kept) - 1)
        noise = spread(X[:, kept]) / len(kept)
        everyone = np.concatenate([core_means[kept], core_means[fold], means])
        where = np.arange(len(kept))
        effects, constant, _ = row_effects(everyone, where, noise, shape.centering)
        X, W = X - constant, W - constant
        if effects is not None:
            of_landmarks = np.empty(len(W))
            of_landmarks[kept] = effects[: len(kept)]
            of_landmarks[fold] = effects[len(kept) : len(W)]
            X = X - effects[len(W) :][:, None] - of_landmarks[None, :]
            W = W - of_landmarks[:, None] - of_landmarks[None, :]
    values, V = symmetric_eigen(W[np.ix_(kept, kept)])
    return _grid_errors(X[:, kept] @ V, values, W[np.ix_(fold, kept)] @ V, X[:, fold])


def _grid_errors(
    left: NDArray[Any], values: NDArray[Any], right: NDArray[Any], truth: NDArray[Any]
) -> Array:
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
