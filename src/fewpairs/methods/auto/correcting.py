"""Correcting: fits what bends the predictions of prior and low rank to what was read.

Two steps, both closed forms. A ridge regression on all pairs, random ones and those
that looked most similar at equal weight, gives the curves. What it leaves is regressed
item by item on features of the partners (a ridge per item, as Axn has it: Yadav et al.
2024, arXiv:2405.03651), shrunk as much as predicts left-out pairs best.

What is one for all items, curves and shrinkage, is learned from some of the pairs:
tens of thousands tell it as well as millions do.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from operator import attrgetter
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fewpairs.kernels.linalg.blas_threads import in_threads, single_threaded
from fewpairs.kernels.linalg.top_products import EXACT
from fewpairs.methods.auto.item_regressions import ItemRegressions, mean_square
from fewpairs.model.correction import Correction
from fewpairs.model.pair_inputs import PairInputs
from fewpairs.model.training_pairs import TrainingPairs
from fewpairs.types import Indices

__all__ = ["Correcting", "CorrectionScorer"]

_RANDOM_AT = 0.02, 0.25, 0.5, 0.75, 0.9, 0.98  # quantiles of random pairs: knots
_CHOSEN_AT = 0.05, 0.25, 0.5, 0.75, 0.95, 1.0  # and of those that were chosen
_APART = 0.02  # of the whole range, between knots
_RISE = 0.3  # of the spread of random pairs, over which an item's vector comes in
_FEWEST = 250  # pairs of either kind that tell more than prior and low rank
_RIDGE = 1e-3
_RIDGES = 1.0, 4.0, 20.0  # of the items' own regressions, to choose from
_RIDGES_ACROSS = 4.0, 20.0  # the same, of two sets
_LEFT_OUT, _MOST_LEFT_OUT = 0.15, 20_000  # share of the pairs that choose; at most
_TOLD = 40_000  # pairs of either kind that curves are fitted to, at most
_CHUNK = 1 << 14  # pairs whose features are made at once


class Correcting:
    """Fits corrections, round after round.

    Parameters
    ----------
    features
        (n, d) features of the items, rows of norm about 1; ``None``: a constant.
    n
        Number of items.
    always
        Whether items have regressions of their own whatever random pairs say: of two
        sets, where nearly all that is read lies at the top.
    """

    def __init__(
        self,
        features: NDArray[np.float32] | None,
        n: int,
        rng: np.random.Generator,
        *,
        always: bool = False,
    ) -> None:
        self._always = always
        self._ridges = _RIDGES_ACROSS if always else _RIDGES
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
        inputs, values = both.inputs, both.values
        is_chosen = np.arange(len(values)) >= len(uniform)
        center, scale = float(values.mean()), float(values.std()) or 1.0
        y = ((values - center) / scale).astype(np.float32)
        bent = self._curves(inputs, y, is_chosen)
        rows = ItemRegressions.left_by(bent, inputs, y)
        if anew or not self._ridge:
            before = (values - inputs.base) / scale
            usual = [mean_square(before[part]) for part in (is_chosen, ~is_chosen)]
            self._ridge = self._shrinking(rows, is_chosen, usual)
        if self._ridge == 0:
            return None
        if self._ridge < np.inf:
            vectors = rows.clipped().vectors([self._ridge])[0]
            bent = replace(bent, vectors=bent.vectors + vectors)
        return replace(
            bent,
            base_levels=bent.base_levels * scale + center,
            cheap_levels=bent.cheap_levels * scale,
            vectors=bent.vectors * np.float32(scale),
        )

    def _curves(
        self, inputs: PairInputs, y: NDArray[np.float32], is_chosen: NDArray[np.bool_]
    ) -> Correction:
        """Return both curves, and a diagonal form of the features, by least squares."""
        some = [_some(np.flatnonzero(part)) for part in (is_chosen, ~is_chosen)]
        base_knots = _knots(*(inputs.base[part] for part in some))
        cheap_knots = np.empty(0)
        if inputs.cheap is not None:
            cheap_knots = _knots(*(inputs.cheap[part] for part in some))
        f = self._features
        levels = np.full(len(f), np.quantile(inputs.base[some[0]], 0.5), np.float32)
        lowest = inputs.base[is_chosen].astype(np.float32, copy=False)
        for ends in (inputs.i, inputs.j):
            np.minimum.at(levels, ends[is_chosen], lowest)
        rise = _RISE * float(np.std(inputs.base[some[1]])) or 1.0
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
        groups = [_moments(bent, inputs.some(part), y[part]) for part in some]
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
        self, rows: ItemRegressions, is_chosen: NDArray[np.bool_], usual: list[float]
    ) -> float:
        """Return the ridge that predicts left-out pairs best.

        0: prior and low rank do; ∞: curves alone. ``usual``: the mean squared errors of
        prior and low rank, of pairs that looked most similar and of random ones. Both
        count alike.
        """
        share = min(_LEFT_OUT, _MOST_LEFT_OUT / len(is_chosen))
        out = self._rng.random(len(is_chosen)) < share
        tested = rows.some(out)
        groups = is_chosen[out], ~is_chosen[out]
        concerned = np.zeros(len(self._features), dtype=bool)
        for ends in (tested.inputs.i, tested.inputs.j):
            concerned[ends] = True
        said = rows.clipped().some(~out).vectors(self._ridges, concerned)
        left = [tested.values - tested.said(vectors) for vectors in said]
        best, lowest = 0.0, np.inf if self._always else 0.0
        for ridge, apart in zip(
            (np.inf, *self._ridges), (tested.values, *left), strict=True
        ):
            missed = sum(
                math.log(mean_square(apart[part]) / size)
                for part, size in zip(groups, usual, strict=True)
            )
            if missed < lowest and (ridge < np.inf or not self._always):
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
    rounds, scores_all = 6, 3

    def __init__(
        self,
        features: NDArray[np.float32] | None,
        n: int,
        rng: np.random.Generator,
        *,
        always: bool = False,
    ) -> None:
        self._correcting = Correcting(features, n, rng, always=always)
        self.correction: Correction | None = None
        # Where all pairs are looked at, neighbors of neighbors add nothing to them.
        self.expands = 2 if n > EXACT else 0

    def learn(self, training: _BothKinds, *, last: bool, label: str) -> None:  # noqa: ARG002
        """Fit to random pairs and to those that looked most similar."""
        uniform, chosen = training.uniform, training.chosen
        if min(len(chosen), len(uniform)) >= _FEWEST:
            with single_threaded():  # small products; what is large has its threads
                fitted = self._correcting.fit(uniform, chosen, anew=last)
            self.correction = fitted

    @property
    def score(self) -> Callable[[PairInputs], NDArray[Any]]:
        """What says how similar pairs are: before anything is fitted, the model."""
        if self.correction is None:
            return attrgetter("base")
        return self.correction.pairs


def _some(places: Indices) -> Indices:
    """Return not too many of them, evenly spread."""
    return places[:: max(1, -(-len(places) // _TOLD))]


def _moments(
    bent: Correction, inputs: PairInputs, y: NDArray[np.float32]
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Return XᵀX, Xᵀy and yᵀy of some pairs, each divided by their number."""
    starts = range(0, max(1, len(y)), _CHUNK)
    found: dict[int, tuple[NDArray[Any], NDArray[Any]]] = {}

    def look(start: int) -> None:
        part = slice(start, start + _CHUNK)
        X = _design(bent, inputs.some(part))
        found[start] = X.T @ X, X.T @ y[part]

    in_threads(look, starts)
    gram = np.zeros_like(found[0][0], dtype=np.float64)
    moment = np.zeros_like(found[0][1], dtype=np.float64)
    for start in starts:  # in their order: sums are the same on any number of cores
        gram += found[start][0]
        moment += found[start][1]
    number = max(1, len(y))
    return gram / number, moment / number, mean_square(y)


def _knots(chosen: NDArray[Any], random: NDArray[Any]) -> NDArray[np.float64]:
    """Return knots where there are pairs, and not too close to each other."""
    parts = [np.quantile(chosen, _CHOSEN_AT)]
    if len(random):
        parts.append(np.quantile(random, _RANDOM_AT))
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
