"""Correcting: fits what bends the predictions of prior and low rank to what was read.

Two steps, both closed forms. A ridge regression on all pairs, random ones and those
that looked most similar at equal weight, gives the curves. What it leaves is regressed
item by item on features of the partners (a ridge per item, as Axn has it: Yadav et al.
2024, arXiv:2405.03651), shrunk as much as predicts left-out pairs best.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from operator import attrgetter
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fewpairs.kernels.linalg.item_moments import item_moments, ridge_solutions
from fewpairs.model.correction import Correction
from fewpairs.model.pair_inputs import PairInputs
from fewpairs.model.training_pairs import TrainingPairs

__all__ = ["Correcting", "CorrectionScorer"]

_RANDOM_AT = 0.02, 0.25, 0.5, 0.75, 0.9, 0.98  # quantiles of random pairs: knots
_CHOSEN_AT = 0.05, 0.25, 0.5, 0.75, 0.95, 1.0  # and of those that were chosen
_APART = 0.02  # of the whole range, between knots
_RISE = 0.3  # of the spread of random pairs, over which an item's vector comes in
_FEWEST = 250  # pairs of either kind that tell more than prior and low rank
_RIDGE = 1e-3
_RIDGES = 1.0, 4.0, 20.0  # of the items' own regressions, to choose from
_BOTH = 0.6  # of it: both items of a pair explain the same
_LEFT_OUT = 0.15  # share of the pairs that choose
_OUTLYING = 4.0  # standard deviations that an item's own regression believes
_CHUNK = 1 << 14  # pairs whose features are made at once


class Correcting:
    """Fits corrections, round after round.

    Parameters
    ----------
    features
        (n, d) features of the items, rows of norm about 1; ``None``: a constant.
    n
        Number of items.
    """

    def __init__(
        self, features: NDArray[np.float32] | None, n: int, rng: np.random.Generator
    ) -> None:
        ones = np.ones((n, 1), dtype=np.float32)
        parts = [ones] if features is None else [ones, features]
        self._features = np.hstack(parts).astype(np.float32, copy=False)
        self._rng = rng
        self._ridge: float | None = None

    def fit(
        self, uniform: TrainingPairs, chosen: TrainingPairs, *, anew: bool = True
    ) -> Correction | None:
        """Return what these pairs call for; ``None`` where prior and low rank do.

        ``anew``: whether to find out anew how far to shrink.
        """
        both = uniform + chosen
        inputs, values = both.inputs, both.values.astype(np.float64)
        is_chosen = np.arange(len(values)) >= len(uniform)
        center, scale = float(values.mean()), float(values.std()) or 1.0
        bent = self._curves(inputs, (values - center) / scale, is_chosen)
        left = (values - center) / scale - _said(bent, inputs)
        before = values - inputs.base.astype(np.float64)
        usual = [_square(before[part] / scale) for part in (is_chosen, ~is_chosen)]
        gate = bent.opened(inputs)
        far = _OUTLYING * float(np.sqrt(np.mean(left**2)))
        rows = _Rows(inputs, gate, np.clip(left, -far, far), self._features)
        if anew or self._ridge is None:
            self._ridge = self._shrinking(rows, left, is_chosen, usual)
        if self._ridge == 0:
            return None
        vectors = rows.vectors(self._ridge)
        bent = replace(bent, vectors=bent.vectors + vectors)
        return replace(
            bent,
            base_levels=bent.base_levels * scale + center,
            cheap_levels=bent.cheap_levels * scale,
            vectors=bent.vectors * np.float32(scale),
        )

    def _curves(
        self, inputs: PairInputs, y: NDArray[np.float64], is_chosen: NDArray[np.bool_]
    ) -> Correction:
        """Return both curves, and a diagonal form of the features, by least squares."""
        base_knots = _knots(inputs.base, is_chosen)
        cheap_knots = np.empty(0)
        if inputs.cheap is not None:
            cheap_knots = _knots(inputs.cheap, is_chosen)
        f = self._features
        levels = np.full(len(f), np.quantile(inputs.base[is_chosen], 0.5), np.float32)
        for ends in (inputs.i[is_chosen], inputs.j[is_chosen]):
            np.minimum.at(levels, ends, inputs.base[is_chosen].astype(np.float32))
        rise = _RISE * float(np.std(inputs.base[~is_chosen])) or 1.0
        bent = Correction(
            base_knots,
            np.zeros(len(base_knots)),
            cheap_knots,
            np.zeros(len(cheap_knots)),
            levels,
            rise,
            f,
            np.zeros_like(f),
        )
        groups = [
            _moments(bent, inputs.some(part), y[part])
            for part in (is_chosen, ~is_chosen)
        ]
        size = len(groups[0][1])
        solved, sizes = np.zeros(size), [1.0, 1.0]
        # Similar pairs are predicted worst and matter most, so a group counts by the
        # inverse of its error, not of its squared error.
        for _ in range(2):
            gram = sum(
                part[0] / scale for part, scale in zip(groups, sizes, strict=True)
            )
            moment = sum(
                part[1] / scale for part, scale in zip(groups, sizes, strict=True)
            )
            ridge = _RIDGE * np.diagonal(gram) + 1e-6 * np.trace(gram) / size
            solved = np.linalg.solve(gram + np.diag(ridge), moment)
            left = [
                float(square - 2 * solved @ aim + solved @ (product @ solved))
                for product, aim, square in groups
            ]
            least = 1e-3 * max(left) + 1e-12
            sizes = [max(part, least) ** 0.5 for part in left]
        s, t = len(base_knots), size - f.shape[1] + 1
        form = np.concatenate([[0.0], solved[t:]]).astype(np.float32)
        bends = np.concatenate([[0.0], solved[s:t]])[: len(cheap_knots)]
        return replace(
            bent,
            base_levels=solved[:s],
            cheap_levels=bends,
            vectors=f * (form * np.float32(0.5)),
        )

    def _shrinking(
        self,
        rows: "_Rows",
        left: NDArray[np.float64],
        is_chosen: NDArray[np.bool_],
        usual: list[float],
    ) -> float:
        """Return the ridge that predicts left-out pairs best; 0: prior and low rank do.

        ``usual``: the mean squared errors of these, of pairs that looked most similar
        and of random ones. Both count alike.
        """
        out = self._rng.random(len(left)) < _LEFT_OUT
        kept, tested = rows.some(~out), rows.some(out)
        groups = is_chosen[out], ~is_chosen[out]
        best, lowest = 0.0, 0.0
        for ridge in _RIDGES:
            apart = left[out] - tested.said(kept.vectors(ridge))
            missed = sum(
                math.log(_square(apart[part]) / size)
                for part, size in zip(groups, usual, strict=True)
            )
            if missed < lowest:
                best, lowest = ridge, missed
        return best


class _BothKinds(Protocol):
    """What was read: random pairs, and those that looked most similar."""

    uniform: TrainingPairs
    chosen: TrainingPairs


class CorrectionScorer:
    """Scores pairs by a correction of prior and low rank, fitted anew in every round.

    Evaluations are quick where nothing is trained: so should this be.
    """

    answers = False  # in doubt or at the top: it finds as much, and this is quicker
    rounds, expands, scores_all = 6, 2, 1

    def __init__(
        self, features: NDArray[np.float32] | None, n: int, rng: np.random.Generator
    ) -> None:
        self._correcting = Correcting(features, n, rng)
        self.correction: Correction | None = None

    def learn(self, training: _BothKinds, *, last: bool, label: str) -> None:  # noqa: ARG002
        """Fit to random pairs and to those that looked most similar."""
        uniform, chosen = training.uniform, training.chosen
        if min(len(chosen), len(uniform)) >= _FEWEST:
            self.correction = self._correcting.fit(uniform, chosen, anew=last)

    @property
    def score(self) -> Callable[[PairInputs], NDArray[Any]]:
        """What says how similar pairs are: before anything is fitted, the model."""
        if self.correction is None:
            return attrgetter("base")
        return self.correction.pairs


class _Rows:
    """What the items' own regressions are fitted to."""

    def __init__(
        self,
        inputs: PairInputs,
        gate: NDArray[np.float32],
        values: NDArray[np.float64],
        features: NDArray[np.float32],
    ) -> None:
        self._inputs, self._gate, self._values = inputs, gate, values
        self._features = features
        self._moments: tuple[NDArray[Any], NDArray[Any]] | None = None

    def some(self, where: NDArray[np.bool_]) -> "_Rows":
        """Return those of some of the pairs."""
        inputs = self._inputs.some(where)
        return _Rows(inputs, self._gate[where], self._values[where], self._features)

    def vectors(self, ridge: float) -> NDArray[np.float32]:
        """Return every item's weights of its partners' features."""
        if self._moments is None:
            i, j = self._inputs.i, self._inputs.j
            self._moments = item_moments(
                len(self._features),
                np.concatenate([i, j]),
                np.concatenate([j, i]),
                np.tile(self._gate, 2),
                np.tile(self._values, 2),
                self._features,
            )
        gram, moment = self._moments
        return np.float32(_BOTH) * ridge_solutions(gram, moment, ridge)

    def said(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return what such weights say of the pairs."""
        i, j, f = self._inputs.i, self._inputs.j, self._features
        own = np.einsum("td,td->t", vectors[i], f[j])
        return np.asarray(self._gate * (own + np.einsum("td,td->t", vectors[j], f[i])))


def _moments(
    bent: Correction, inputs: PairInputs, y: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Return XᵀX, Xᵀy and yᵀy of some pairs, each divided by their number."""
    gram: NDArray[Any] = np.zeros(())
    moment: NDArray[Any] = np.zeros(())
    for start in range(0, len(y), _CHUNK):
        part = slice(start, start + _CHUNK)
        X = _design(bent, inputs.some(part))
        gram = gram + (X.T @ X).astype(np.float64)
        moment = moment + (X.T @ y[part].astype(np.float32)).astype(np.float64)
    number = max(1, len(y))
    return gram / number, moment / number, float(y @ y) / number


def _square(values: NDArray[Any]) -> float:
    """Return the mean square, a little more than 0."""
    return float(np.mean(values**2)) + 1e-12 if len(values) else 1e-12


def _knots(values: NDArray[Any], is_chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return knots where there are pairs, and not too close to each other."""
    parts = [np.quantile(values[is_chosen], _CHOSEN_AT)]
    if not is_chosen.all():
        parts.append(np.quantile(values[~is_chosen], _RANDOM_AT))
    found = np.sort(np.concatenate(parts)).astype(np.float64)
    apart = _APART * (found[-2] - found[0]) + 1e-9 * (found[-1] - found[0])
    kept = [found[0]]
    for knot in found[1:]:
        if knot - kept[-1] > apart:
            kept.append(knot)
    return np.array(kept)


def _hats(x: NDArray[Any], knots: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return (m, k) weights of the knots: linear between two, constant beyond."""
    m, k = len(x), len(knots)
    out = np.zeros((m, k), dtype=np.float32)
    if k < 2:
        out[:] = 1.0
        return out
    at = np.clip(np.searchsorted(knots, x, side="right") - 1, 0, k - 2)
    share = np.clip((x - knots[at]) / (knots[at + 1] - knots[at]), 0, 1)
    rows = np.arange(m)
    out[rows, at] = 1 - share
    out[rows, at + 1] = share
    return out


def _design(bent: Correction, inputs: PairInputs) -> NDArray[np.float32]:
    """Return the features of pairs: both curves' knots, products where the gate is."""
    parts = [_hats(inputs.base, bent.base_knots)]
    if inputs.cheap is not None and len(bent.cheap_knots):
        parts.append(_hats(inputs.cheap, bent.cheap_knots)[:, 1:])
    f = bent.features[:, 1:]
    gate = bent.opened(inputs)
    parts.append(f[inputs.i] * f[inputs.j] * gate[:, None])
    return np.hstack(parts)


def _said(bent: Correction, inputs: PairInputs) -> NDArray[np.float64]:
    wide = inputs.base.astype(np.float64)
    return bent.pairs(PairInputs(inputs.i, inputs.j, wide, inputs.cheap))
