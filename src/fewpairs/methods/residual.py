"""Prior, row effects and a damped core, chosen by leaving out landmarks.

K[i, j] ≈ f(prior[i, j]) + m + aᵢ + aⱼ + rᵢᵀ · U · rⱼ, where rᵢ is what f and the
effects leave of the landmarks' entries of item i. Which parts are used, and how much
the core U is damped, is chosen by predicting landmarks from the other landmarks: their
columns are paid for, so this costs no evaluation.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewpairs.kernels.linalg import scratch
from fewpairs.kernels.linalg.spectral import (
    apply_core,
    largest_magnitude,
    symmetric_eigen,
)
from fewpairs.methods.cross_validation import (
    COMPARED,
    FEWEST,
    Shape,
    choose,
    damped_inverse,
    row_effects,
    spread,
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
    "shapes",
]

CENTERINGS = ("none", "constant", "additive")
_ROWS = 1_000
_CALIBRATED_ON = 200_000  # entries
_SAFE = 1e-60, 1e60

Array = NDArray[np.float64]


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


def features_of(
    left: NDArray[Any], signs: NDArray[Any], prior: Prior | None, curve: Curve | None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return features of the items and their signs: embeddings beside the low rank.

    As far as inner products go, the curve is its slope.
    """
    if prior is None or prior.embeddings is None or curve is None:
        return left, signs
    root = np.sqrt(abs(curve.slope))
    in_range = root < np.finfo(np.float32).max
    scaled = prior.embeddings * (np.float32(root) if in_range else root)
    ones = np.full(scaled.shape[1], 1.0 if curve.slope >= 0 else -1.0)
    return np.hstack([scaled.astype(left.dtype), left]), np.concatenate([ones, signs])


def with_features(model: Model) -> Model:
    """Return a model of a symmetric low rank with embeddings among its features."""
    signs = np.asarray(model.low_rank.signature)
    features, signs = features_of(model.left, signs, model.prior, model.curve)
    return replace(model, features=features, feature_signs=signs)


def model_of(fit: ResidualFit, S: Indices, words: str, prior: Prior | None) -> Model:
    """Return what was fitted to landmarks' columns.

    The prior is kept where the fit does not use it: it still proposes candidates.
    """
    features, signs = features_of(fit.left, fit.signs, prior, fit.curve)
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
    possible = shapes(prior, centerings)
    errors: dict[Shape, float] = {}
    shape, share = possible[0], 1e-3
    if like is not None:
        shape, share, errors = like.shape, like.share, like.errors
    elif len(S) >= FEWEST and (len(possible) > 1 or mu is None):
        shape, share, errors = choose(C, S, prior, possible, rng)
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
    most = min(len(S), COMPARED)
    half = most // 2
    if half < FEWEST:
        return 0.0
    possible = shapes(prior)
    few, many = (
        min(choose(C[:, :s], S[:s], prior, possible, rng)[2].values())
        for s in (half, most)
    )
    return 2 * float(np.log2(max(few, 1e-30) / max(many, 1e-30)))


def shapes(prior: Prior | None, centerings: Sequence[str] = CENTERINGS) -> list[Shape]:
    """Return the shapes to choose from."""
    out = [Shape(prior=False, centering=kind) for kind in centerings]
    if prior is not None:
        # The curve has a constant of its own.
        kinds = [kind for kind in centerings if kind != "none"] or ["constant"]
        out += [Shape(prior=True, centering=kind) for kind in kinds]
    return out


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
    effects, constant, kept = row_effects(
        sums / np.maximum(number, 1),
        S,
        spread(columns[rng.permutation(n)[:_ROWS]].astype(np.float64)) / s,
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
