"""Bending: curves of what prior and low rank say, and of the prior, by least squares.

All pairs that were read, random ones and those that looked most similar at equal
weight, and with them a diagonal form of the items' features where pairs look similar.

Items differ in how similar their most similar are, and a curve that is fitted to one
pair of each takes that for the effect of what it is a curve of. So the curves are
fitted by turns with a constant per item, which is shrunk and then forgotten.
"""

from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from fewpairs.kernels.linalg.blas_threads import in_threads
from fewpairs.methods.auto.cautious import levels_of
from fewpairs.methods.auto.item_regressions import mean_square
from fewpairs.methods.auto.knots import hats, knots_of
from fewpairs.model.correction import Correction, Form
from fewpairs.model.pair_inputs import PairInputs
from fewpairs.types import Indices

__all__ = ["bent_to"]

_RISE = 0.3  # of the spread of random pairs, over which an item's vector comes in
_RIDGE = 1e-3
_TOLD = 20_000  # pairs of either kind that curves are fitted to, at most
_CHUNK = 1 << 14  # pairs whose features are made at once
_PAIRS_PER_DIRECTION = 60  # at least
_CONSTANT = 10.0  # ridge of a constant per item
_TURNS, _STEPS = 2, 4  # of curves and constants; towards the constants
_OUTLYING = 4.0  # standard deviations that a constant believes


class _Kind(NamedTuple):
    """Pairs of one kind: what is known of them, and their features."""

    inputs: PairInputs
    y: NDArray[np.float32]
    gate: NDArray[np.float32]
    designs: list[NDArray[np.float32]]
    gram: NDArray[np.float64]

    @classmethod
    def of(cls, bent: Correction, inputs: PairInputs, y: NDArray[np.float32]) -> Self:
        """Make the features of pairs, chunk by chunk on all cores."""
        starts = range(0, max(1, len(y)), _CHUNK)
        found: dict[int, tuple[NDArray[Any], NDArray[Any]]] = {}

        def look(start: int) -> None:
            X = _design(bent, inputs.some(slice(start, start + _CHUNK)))
            found[start] = X, (X.T @ X).astype(np.float64)

        in_threads(look, starts)
        # In their order: sums are the same on any number of cores.
        gram = sum(found[start][1] for start in starts) / max(1, len(y))
        designs = [found[start][0] for start in starts]
        return cls(inputs, y, bent.opened(inputs), designs, np.asarray(gram))

    def moment(self, y: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return Xᵀy, divided by the number of pairs."""
        out = np.zeros(len(self.gram))
        for at, X in enumerate(self.designs):
            out += X.T @ y[at * _CHUNK : (at + 1) * _CHUNK]
        return out / max(1, len(y))

    def said(self, weights: NDArray[np.float64]) -> NDArray[np.float32]:
        """Return what the curves say of the pairs."""
        weights = weights.astype(np.float32)
        return np.concatenate([X @ weights for X in self.designs])

    def of_items(self, constants: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return what constants of the items say of the pairs."""
        return self.gate * (constants[self.inputs.i] + constants[self.inputs.j])

    def summed(self, values: NDArray[Any], n: int) -> NDArray[np.float64]:
        """Return the sums of values over the pairs of every item."""
        ends = self.inputs.i, self.inputs.j
        return np.asarray(
            sum(np.bincount(end, weights=values, minlength=n) for end in ends)
        )


def bent_to(
    features: NDArray[np.float32],
    inputs: PairInputs,
    y: NDArray[np.float32],
    is_chosen: NDArray[np.bool_],
    *,
    directions: NDArray[np.float32],
    apart: bool = True,
) -> Correction:
    """Return both curves, and a diagonal form of the ``directions``.

    ``apart``: whether what is constant in an item's pairs is kept apart from them; and
    whether no more directions count than there are pairs to tell.
    """
    some = [_some(np.flatnonzero(part)) for part in (is_chosen, ~is_chosen)]
    d = directions.shape[1]
    if apart:
        d = min(d, sum(map(len, some)) // _PAIRS_PER_DIRECTION)
    bent = _straight(features, inputs, some, is_chosen)
    form = Form(directions, np.zeros(d, dtype=np.float32))
    bent = replace(bent, form=form)
    parts = [_Kind.of(bent, inputs.some(part), y[part]) for part in some]
    constants = np.zeros(len(features), dtype=np.float32)
    weights = _solved(parts, constants)
    for _ in range(_TURNS if apart else 0):
        constants = _constants(weights, parts, constants)
        weights = _solved(parts, constants)
    s, t = len(bent.base_knots), len(weights) - d
    return replace(
        bent,
        base_levels=weights[:s],
        cheap_levels=np.concatenate([[0.0], weights[s:t]])[: len(bent.cheap_knots)],
        form=form._replace(weights=weights[t:].astype(np.float32)),
    )


def _straight(
    features: NDArray[np.float32],
    inputs: PairInputs,
    some: list[Indices],
    is_chosen: NDArray[np.bool_],
) -> Correction:
    """Return a correction with knots and levels, and nothing to say yet."""
    base_knots = knots_of(*(inputs.base[part] for part in some))
    cheap_knots = np.empty(0)
    if inputs.cheap is not None:
        cheap_knots = knots_of(*(inputs.cheap[part] for part in some))
    top = inputs.some(is_chosen)
    return Correction(
        base_knots,
        np.zeros(len(base_knots)),
        cheap_knots,
        np.zeros(len(cheap_knots)),
        levels_of(len(features), top, top.base),
        _RISE * float(np.std(inputs.base[some[1]])) or 1.0,
        features,
        np.zeros_like(features),
    )


def _solved(parts: list[_Kind], constants: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return weights of the curves that fit best what constants of the items leave."""
    left = [part.y - part.of_items(constants) for part in parts]
    groups = [
        (part.gram, part.moment(rest), mean_square(rest))
        for part, rest in zip(parts, left, strict=True)
    ]
    size = len(groups[0][1])
    solved, sizes = np.zeros(size), [1.0, 1.0]
    # Similar pairs are predicted worst and matter most, so a group counts by the
    # inverse of its error, not of its squared error.
    for _ in range(2):
        weighed = list(zip(groups, sizes, strict=True))
        gram = sum(part[0] / scale for part, scale in weighed)
        moment = sum(part[1] / scale for part, scale in weighed)
        ridge = _RIDGE * np.diagonal(gram) + 1e-6 * np.trace(gram) / size
        solved = np.linalg.solve(gram + np.diag(ridge), moment)
        errors = [
            float(square - 2 * solved @ aim + solved @ (product @ solved))
            for product, aim, square in groups
        ]
        least = 1e-3 * max(errors) + 1e-12
        sizes = [max(error, least) ** 0.5 for error in errors]
    return solved


def _constants(
    weights: NDArray[np.float64], parts: list[_Kind], constants: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return a constant per item that fits what curves leave where pairs look similar.

    Some steps of gradient descent, each divided by what an item has of pairs.
    """
    n = len(constants)
    left = [part.y - part.said(weights) for part in parts]
    far = _OUTLYING * max(mean_square(rest) for rest in left) ** 0.5
    left = [np.clip(rest, -far, far) for rest in left]
    have = sum(part.summed(part.gate**2, n) for part in parts) + _CONSTANT
    for _ in range(_STEPS):
        missing = sum(
            part.summed(part.gate * (rest - part.of_items(constants)), n)
            for part, rest in zip(parts, left, strict=True)
        )
        step = (missing - _CONSTANT * constants) / have
        constants = (constants + 0.5 * step).astype(np.float32)
    return constants


def _some(places: Indices) -> Indices:
    """Return not too many of them, evenly spread."""
    return places[:: max(1, -(-len(places) // _TOLD))]


def _design(bent: Correction, inputs: PairInputs) -> NDArray[np.float32]:
    """Return the features of pairs: both curves' knots, products where the gate is."""
    parts = [hats(inputs.base, bent.base_knots)]
    if inputs.cheap is not None and len(bent.cheap_knots):
        parts.append(hats(inputs.cheap, bent.cheap_knots)[:, 1:])
    if bent.form is not None:
        f, d = bent.form.features, len(bent.form.weights)
        a, b = (np.take(f, ends, axis=0)[:, :d] for ends in (inputs.i, inputs.j))
        a *= b
        a *= bent.opened(inputs)[:, None]
        parts.append(a)
    return np.hstack(parts)
