"""Cautious correction: values are calibrated, orders change as far as rows say so.

With b what prior and low rank say of a pair and p the prior's curve alone, partners of
an item stay in the order of λ·b + (1 − λ)·p where pairs look similar; λ is the one that
puts couples of pairs which were read most often in their order, and ½ unless another
does so by a standard error. A rising curve takes that to the values, and every item has
a regression of its own on what is left, shrunk so much that a few pairs move little.

Low rank and items' effects are fitted to random pairs. Among the most similar they may
count for more or for less, and the prior alone for more or less: half of each is never
far from the better of both.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.methods.auto.candidates import Candidates
from fewpairs.methods.auto.couples import Couples, ahead
from fewpairs.methods.auto.item_regressions import ItemRegressions, mean_square
from fewpairs.methods.auto.knots import hats, knots_of
from fewpairs.model.correction import Correction
from fewpairs.model.curve import Curve
from fewpairs.model.pair_inputs import PairInputs
from fewpairs.model.training_pairs import TrainingPairs

__all__ = [
    "NEAR",
    "TELLING",
    "Halfway",
    "as_high",
    "as_steep",
    "cautious",
    "levels_by",
    "levels_of",
    "share_of_base",
]

_SHARES = 0.0, 0.25, 0.5, 0.75, 1.0  # λ
_USUAL = 2  # of them, without evidence
_SURE = 1.0  # standard errors that are evidence
_LEAST = 0.3  # slope of the curve: what it ties would be put in order by chance
_RIDGE = 20.0  # of the items' own regressions
_RISE = 0.3  # of the spread of random pairs, over which g rises
NEAR = 32  # candidates of an item that count as its most similar
_ROWS = 1 << 14  # items looked at at once
TELLING = 500  # items whose candidates tell how far they differ
_STEEPEST = 8.0  # times as steep as it was
_PER_KNOT = 20  # pairs, at least
_CURVED = 100_000  # pairs of either kind that tell the curve, at most


@dataclass(frozen=True, eq=False)
class Halfway:
    """½ b + ½ p: what looks similar while nothing is known but random pairs."""

    curve: Curve

    def __call__(self, inputs: PairInputs) -> NDArray[Any]:
        """Return what it says of pairs."""
        by_prior = self.curve(np.asarray(inputs.cheap))
        both = inputs.base + by_prior.astype(inputs.base.dtype, copy=False)
        return np.asarray(both / 2)


def share_of_base(
    chosen: TrainingPairs, couples: Couples, by_prior: NDArray[Any]
) -> float:
    """Return λ: how far items' partners are in the order of b, not of the prior."""
    if not len(couples):
        return _SHARES[_USUAL]
    base = chosen.inputs.base
    found = [
        couples.agreement(chosen.values, share * base + (1 - share) * by_prior)
        for share in _SHARES
    ]
    best = int(np.argmax([agreement.mean() for agreement in found]))
    sure = ahead(found[best], found[_USUAL]) > _SURE
    return _SHARES[best if sure else _USUAL]


def levels_of(n: int, inputs: PairInputs, height: NDArray[Any]) -> NDArray[np.float32]:
    """Return, of every item, the lowest that was read of it for looking similar.

    At most the median of all: so of items of which nothing was read.
    """
    out = np.full(n, np.quantile(height, 0.5), np.float32)
    low = height.astype(np.float32, copy=False)
    for ends in (inputs.i, inputs.j):
        np.minimum.at(out, ends, low)
    return out


def levels_by(found: Candidates, curve: Curve) -> NDArray[np.float32]:
    """Return, of every item, what its most similar candidates have in common.

    The larger of b and p of the 32nd of them; +∞ where there are none.
    """
    n, m = found.base.shape
    out = np.empty(n, dtype=np.float32)
    at = max(0, m - NEAR)
    for start in range(0, n, _ROWS):
        part = slice(start, start + _ROWS)
        live = np.isfinite(found.score[part])
        height = found.base[part]
        if found.cheap is not None:  # −∞ of what was read already
            cheap = np.where(live, found.cheap[part], np.float32(0))
            height = np.maximum(height, curve(cheap))
        low = np.where(live, height, np.inf).min(axis=1)  # of all, where they are fewer
        height = np.where(live, height, -np.inf)
        out[part] = np.maximum(np.partition(height, at, axis=1)[:, at], low)
    return out


def as_steep(curve: Curve, found: Candidates) -> Curve:
    """Return the prior's curve p, steeper where low rank would drown it.

    A cubic of random pairs may be all but flat where the most similar ones lie. Half of
    b and half of p is then nothing but low rank and effects: among the candidates of an
    item these differ by more than p does. So p is made steeper by the ratio of both
    variances, where that is above 1.
    """
    rows = slice(None, None, max(1, len(found.score) // TELLING))
    live = np.isfinite(found.score[rows])
    if found.cheap is None or not live.any():
        return curve
    said = curve(np.where(live, found.cheap[rows], np.float32(0)))
    mine, others = (
        _variance_in_rows(part, live) for part in (said, found.base[rows] - said)
    )
    if not 0 < mine < others:
        return curve
    return curve.steeper(min(others / mine, _STEEPEST), float(np.median(said[live])))


def as_high(curve: Curve, found: Candidates) -> Curve:
    """Return the prior's curve p, raised to where what low rank says of as many lies.

    Where p is the lower one, pairs that are not among an item's most similar by either
    would keep a b that is above the p of those that are. By the median of items.
    """
    rows = slice(None, None, max(1, len(found.score) // TELLING))
    live = np.isfinite(found.score[rows])
    if found.cheap is None or not live.any():
        return curve
    said = curve(np.where(live, found.cheap[rows], np.float32(0)))
    at = max(0, live.shape[1] - NEAR)
    by_base, by_prior = (
        np.partition(np.where(live, part, -np.inf), at, axis=1)[:, at]
        for part in (found.base[rows], said)
    )
    told = np.isfinite(by_base)
    missing = float(np.median(by_base[told] - by_prior[told])) if told.any() else 0.0
    return curve.raised(missing) if missing > 0 else curve


def _variance_in_rows(values: NDArray[Any], live: NDArray[np.bool_]) -> float:
    """Return how far live values differ from their rows' means, squared."""
    number = np.maximum(live.sum(axis=1), 1)
    mean = np.where(live, values, 0).sum(axis=1) / number
    return float(np.mean((values - mean[:, None])[live] ** 2, dtype=np.float64))


def cautious(
    features: NDArray[np.float32],
    curve: Curve,
    uniform: TrainingPairs,
    chosen: TrainingPairs,
    *,
    share: float,
    levels: NDArray[np.float32] | None = None,
    items: NDArray[np.bool_] | None = None,
    device: str | None = None,
) -> Correction:
    """Return the correction of this module; ``share`` is λ.

    ``levels``: where an item's most similar begin; else where what was read of them
    does. ``items``: those whose own regressions are asked for; ``device``: where torch
    solves them, ``None``: NumPy does.
    """
    if levels is None:
        inputs = chosen.inputs
        height = np.maximum(inputs.base, curve(np.asarray(inputs.cheap)))
        levels = levels_of(len(features), inputs, height)
    none = np.empty(0)
    bent = Correction(
        none,
        none,
        none,
        none,
        levels,
        _RISE * float(np.std(uniform.inputs.base)) or 1.0,
        features,
        np.zeros_like(features),
        curve,
        1.0 - share,
    )
    parts = [part.evenly(_CURVED) for part in (chosen, uniform)]
    knots, heights = _rising(
        [bent.mixture(part.inputs) for part in parts], [part.values for part in parts]
    )
    bent = replace(bent, base_knots=knots, base_levels=heights)
    both = chosen + uniform
    scale = float(both.values.std()) or 1.0
    if items is not None:
        both = both.some(items[both.inputs.i] | items[both.inputs.j])
    left = ItemRegressions.left_by(bent, both.inputs, both.values, device)
    left = replace(left, values=(left.values / scale).astype(np.float32)).clipped()
    vectors = left.vectors([_RIDGE], items)[0]
    return replace(bent, vectors=vectors * np.float32(scale))


def _rising(
    said: list[NDArray[Any]], values: list[NDArray[Any]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return knots and levels of a rising curve, by least squares.

    Chosen and random pairs count alike, each by the inverse of its error. Increments
    of at least ``_LEAST`` are least squares with parameters that are not negative
    (Lawson & Hanson 1974); beyond the ends it goes on that steeply.
    """
    from scipy.optimize import nnls

    knots = knots_of(*said, most=max(2, min(map(len, said)) // _PER_KNOT))
    least = _LEAST * np.diff(knots, prepend=knots[0])
    parts = []
    for x, y in zip(said, values, strict=True):
        X = np.cumsum(hats(x, knots)[:, ::-1], axis=1)[:, ::-1].astype(np.float64)
        rest = np.asarray(y, dtype=np.float64) - X @ least
        X = np.hstack([X, -X[:, :1]])  # the first level has any sign
        parts.append((X.T @ X / len(x), X.T @ rest / len(x), mean_square(rest)))
    sizes, steps = [1.0, 1.0], least
    for _ in range(2):
        pairs = list(zip(parts, sizes, strict=True))
        gram = np.asarray(sum(part[0] / size for part, size in pairs))
        aim = sum(part[1] / size for part, size in pairs)
        gram = gram + 1e-9 * np.trace(gram) * np.eye(len(gram))
        L = np.linalg.cholesky(gram)
        found = nnls(L.T, np.linalg.solve(L, aim))[0]
        left = [float(s - 2 * found @ m + found @ (g @ found)) for g, m, s in parts]
        sizes = [max(part, 1e-3 * max(left) + 1e-300) ** 0.5 for part in left]
        steps = found[:-1] + least
        steps[0] -= found[-1]
    levels = np.cumsum(steps)
    far = float(knots[-1] - knots[0]) or 1.0
    beyond = np.array([-far, far])
    knots = np.concatenate([[knots[0] - far], knots, [knots[-1] + far]])
    ends = levels[[0, -1]] + _LEAST * beyond
    return knots, np.concatenate([ends[:1], levels, ends[1:]])
