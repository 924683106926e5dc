"""Prior, row effects and a damped core, chosen by leaving out landmarks.

K[i, j] ≈ f(prior[i, j]) + m + aᵢ + aⱼ + rᵢᵀ · U · rⱼ, where rᵢ is what f and the
effects leave of the landmarks' entries of item i. Which parts are used, and how much
the core U is damped, is settled by predicting landmarks from the other landmarks: their
columns are paid for, so this costs no evaluation.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewpairs.kernels.linalg import scratch
from fewpairs.kernels.linalg.blas_threads import in_threads
from fewpairs.kernels.linalg.spectral import (
    apply_core,
    largest_magnitude,
    symmetric_eigen,
)
from fewpairs.model.curve import Curve
from fewpairs.model.low_rank import LowRank
from fewpairs.model.model import Model
from fewpairs.model.row_maps import RowMap, effect_columns
from fewpairs.similarity.priors import Prior
from fewpairs.types import Indices

__all__ = [
    "CENTERINGS",
    "ResidualFit",
    "Shape",
    "damped_inverse",
    "fit",
    "learning_rate",
    "model_of",
]

CENTERINGS = ("none", "constant", "additive")
FEWEST = 3  # landmarks that cross-validation needs
_FOLDS = 5
_ROWS = 1_000
_COMPARED = 128  # landmarks on which shapes are compared
_SIDE_BY_SIDE = 48  # landmarks from which folds are worth threads of their own
_CALIBRATED_ON = 200_000  # entries
# A richer shape has to lower the cross-validated error by this share of it.
_MARGIN = 0.005
_SAFE = 1e-60, 1e60
# Damping from none to strong, as shares of the core's largest eigenvalue.
_GRID = np.concatenate([[1e-10], np.logspace(-6, 0, 49)])

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


@dataclass(frozen=True)
class ResidualFit:
    """What was fitted: Z diag(signs) Zᵀ, effects among its columns, and a curve."""

    left: NDArray[Any]
    signs: NDArray[np.float64]
    curve: Curve | None
    shape: Shape
    mu: float
    share: float  # μ as a share of the largest eigenvalue
    given: bool  # whether μ was
    negative: float  # share of the core's eigenvalues below 0
    errors: dict[Shape, float]  # cross-validated root mean squares
    row_map: RowMap  # what makes rows of ``left``


def model_of(fit: ResidualFit, S: Indices, words: str, prior: Prior | None) -> Model:
    """Return what was fitted to landmarks' columns.

    The prior is kept where the fit does not use it: it still proposes candidates.
    """
    features, signs = fit.left, fit.signs
    if prior is not None and prior.embeddings is not None and fit.curve is not None:
        # As far as inner products go, the curve is its slope.
        slope = fit.curve.slope
        scaled = prior.embeddings * np.float32(np.sqrt(abs(slope)))
        features = np.hstack([scaled.astype(fit.left.dtype), fit.left])
        ones = np.full(scaled.shape[1], 1.0 if slope >= 0 else -1.0)
        signs = np.concatenate([ones, fit.signs])
    return Model(
        LowRank(fit.left, fit.signs, left_map=fit.row_map),
        S,
        words,
        prior=prior,
        curve=fit.curve,
        features=features,
        feature_signs=signs,
    )


def fit(
    C: NDArray[Any],
    S: Indices,
    prior: Prior | None,
    rng: np.random.Generator,
    *,
    mu: float | None = None,
    centerings: Sequence[str] = CENTERINGS,
    like: ResidualFit | None = None,
) -> ResidualFit:
    """Choose the parts, and fit them to the landmarks' columns C = K[:, S].

    Like another fit, to fewer landmarks: with its parts and its share of damping.
    """
    largest = largest_magnitude(C)
    if largest > 0 and not _SAFE[0] < largest < _SAFE[1]:  # squares must stay in range
        small = None if mu is None else mu / largest
        unit = fit(
            C.astype(np.float64) / largest,
            S,
            prior,
            rng,
            mu=small,
            centerings=centerings,
        )
        return _rescaled(unit, largest)
    shapes = _shapes(prior, centerings)
    errors: dict[Shape, float] = {}
    shape, share = shapes[0], 1e-3
    if like is not None:
        shape, share, errors = like.shape, like.share, like.errors
    elif len(S) >= FEWEST and (len(shapes) > 1 or mu is None):
        shape, share, errors = _choose(C, S, prior, shapes, rng)
    given = mu is not None
    parts = _whole(C, S, prior, shape, rng)
    values, vectors = symmetric_eigen(parts.core)
    largest = float(np.abs(values).max(initial=0.0))
    if mu is None:
        mu = share * largest
    weights = damped_inverse(values, mu)
    keep = weights != 0
    root = vectors[:, keep] * np.sqrt(np.abs(weights[keep]))
    left = apply_core(parts.columns, root)
    spread = 0.0
    if parts.effects is not None:
        spread = float(np.sqrt(np.mean((parts.effects + parts.constant / 2) ** 2)))
    effects, effect_signs = effect_columns(
        len(C), parts.effects, parts.constant, spread
    )
    signs = np.concatenate([np.sign(weights[keep]), effect_signs])
    return ResidualFit(
        left=scratch.beside(left, effects) if len(effect_signs) else left,
        signs=signs,
        curve=parts.curve,
        shape=shape,
        mu=mu,
        share=share,
        given=given,
        negative=float((values < -1e-9 * largest).mean()) if len(values) else 0.0,
        errors=errors,
        row_map=RowMap(
            S,
            root,
            constant=parts.constant,
            effects=None if parts.effects is None else parts.effects[S],
            kept=parts.kept,
            spread=spread,
        ),
    )


def _rescaled(unit: ResidualFit, scale: float) -> ResidualFit:
    """Return the fit to a matrix that is so many times as large."""
    curve = unit.curve
    if curve is not None:
        curve = replace(curve, coefficients=curve.coefficients * scale)
    before = unit.row_map
    row_map = replace(
        before,
        core=before.core / np.sqrt(scale),
        constant=before.constant * scale,
        effects=None if before.effects is None else before.effects * scale,
        spread=before.spread * scale,
    )
    return replace(
        unit,
        row_map=row_map,
        left=unit.left * np.sqrt(scale),
        curve=curve,
        mu=unit.mu * scale,
        errors={shape: error * scale for shape, error in unit.errors.items()},
    )


def learning_rate(
    C: NDArray[Any], S: Indices, prior: Prior | None, rng: np.random.Generator
) -> float:
    """Return a, where twice the landmarks lower the mean squared error by 2^−a.

    From predicting left-out landmarks by some 100 others, and by half of them.
    """
    most = min(len(S), _COMPARED)
    half = most // 2
    if half < FEWEST:
        return 0.0
    shapes = _shapes(prior, CENTERINGS)
    few, many = (
        min(_choose(C[:, :s], S[:s], prior, shapes, rng)[2].values())
        for s in (half, most)
    )
    return 2 * float(np.log2(max(few, 1e-30) / max(many, 1e-30)))


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


def _shapes(prior: Prior | None, centerings: Sequence[str]) -> list[Shape]:
    shapes = [Shape(prior=False, centering=kind) for kind in centerings]
    if prior is not None:
        # The curve has a constant of its own.
        kinds = [kind for kind in centerings if kind != "none"] or ["constant"]
        shapes += [Shape(prior=True, centering=kind) for kind in kinds]
    return shapes


# --- the parts, on all items --------------------------------------------------------


class _Parts(NamedTuple):
    columns: NDArray[Any]  # what is left of C
    core: Array
    curve: Curve | None
    effects: Array | None
    constant: float
    kept: float  # share of an item's mean that is its effect


def _whole(
    C: NDArray[Any],
    S: Indices,
    prior: Prior | None,
    shape: Shape,
    rng: np.random.Generator,
) -> _Parts:
    """Take the parts of a shape off the columns of all items."""
    n, s = C.shape
    if shape == Shape(prior=False, centering="none"):
        return _Parts(C, C[S].astype(np.float64), None, None, 0.0, 0.0)
    curve = None
    columns = scratch.copy_of(C)
    if shape.prior and prior is not None:
        everything = np.arange(n)
        rows = rng.permutation(n)[: max(1, _CALIBRATED_ON // s)]
        off = rows[:, None] != S[None, :]
        curve = Curve.through(prior.block(rows, S)[off], C[rows][off])
        step = max(1, (1 << 22) // s)
        for start in range(0, n, step):
            some = everything[start : start + step]
            columns[some] -= curve(prior.block(some, S)).astype(C.dtype)
            scratch.drop(columns)
    own = np.arange(s)
    diagonal = columns[S, own].astype(np.float64)
    sums = np.empty(n)
    for part in scratch.parts(n, s):
        sums[part] = columns[part].sum(axis=1, dtype=np.float64)
        scratch.drop(columns)
    sums[S] -= diagonal
    number = np.full(n, float(s))
    number[S] -= 1
    effects, constant, kept = _effects(
        sums / np.maximum(number, 1),
        S,
        _spread(columns[rng.permutation(n)[:_ROWS]].astype(np.float64)) / s,
        shape.centering,
    )
    for part in scratch.parts(n, s):
        columns[part] -= columns.dtype.type(constant)
        if effects is not None:
            columns[part] -= effects[part, None].astype(C.dtype)
            columns[part] -= effects[S][None, :].astype(C.dtype)
        scratch.drop(columns)
    core = columns[S].astype(np.float64)
    return _Parts(columns, core, curve, effects, constant, kept)


def _effects(
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


def _spread(rows: Array) -> float:
    """Return the variance of entries around their row's and column's mean."""
    centered = rows - rows.mean(axis=1, keepdims=True)
    centered -= centered.mean(axis=0)
    return float(np.mean(centered**2))


# --- leaving out landmarks ------------------------------------------------------------


def _choose(
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
    some = sample.of(rng.permutation(s)[:_COMPARED]) if s > _COMPARED else sample
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
        noise = _spread(X[:, kept]) / len(kept)
        everyone = np.concatenate([core_means[kept], core_means[fold], means])
        where = np.arange(len(kept))
        effects, constant, _ = _effects(everyone, where, noise, shape.centering)
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
