"""Predictions: what those of all unread pairs say of errors, without a sample.

A prediction costs no evaluation. Those far out are errors themselves; of the others,
moments are known over all unread pairs, so that a held-out sample in which predictions
happen to be larger than elsewhere can be put right.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewpairs.matrix.entries import Entries
from fewpairs.model.model import Model
from fewpairs.result.interval import Fixed
from fewpairs.result.unseen import Seen

__all__ = ["Predicted", "possible", "predicted"]

_DRAWS = 1_000
_ITEMS = 4_000
_UNREAD = 10  # predictions that stand for all, times those held out
_ENTRIES = 1 << 22  # of a matrix whose predictions are all looked at
_BLOCK = 1 << 22  # predictions made at once
_IMPOSSIBLE = 3  # times as far from the mean as any value: such a prediction is wrong

Array = NDArray[np.float64]


class Predicted(NamedTuple):
    """What all predictions say of errors.

    Attributes
    ----------
    impossible
        Squared errors of predictions farther from the mean than three times any value:
        they are wrong, whatever the pairs are. None where predictions hold the farthest
        values: then they may be right.
    beyond
        What predictions farther out than all held-out ones may add besides: their
        squared distances from the mean, as far as far values are held badly.
    features
        Of the held-out pairs: distance of the prediction from the mean and its square,
        in units of the farthest.
    means, noise
        Of these features over all unread pairs, and the covariances of what these are
        off by where predictions were drawn.
    """

    impossible: Fixed
    beyond: float
    features: Array
    means: Array
    noise: Array


class _FarOut(NamedTuple):
    """Squares of what lies far out, and how far the first may be off."""

    impossible: float
    error: float
    beyond: float


def possible(guess: Array, seen: Seen, badly: float) -> NDArray[np.bool_]:
    """Tell which predictions lie where values can, or are held well anyway."""
    near = np.abs(guess - seen.center) <= _IMPOSSIBLE * seen.reach
    return np.asarray(near | (badly < 1))


def predicted(
    guess: Array,
    seen: Seen,
    model: Model,
    read: Entries,
    *,
    badly: float,
    rng: np.random.Generator,
) -> Predicted:
    """Look at the predictions of unread pairs.

    All of them are made where that is quick, else they are drawn.
    """
    usual = np.abs(guess - seen.center)
    usual = usual[usual <= _IMPOSSIBLE * seen.reach]
    inner = float(usual.max(initial=0.0))
    scale = _Scale(seen, inner, badly)
    if model.is_low_rank and read.n**2 <= _ENTRIES:
        sums, means = _all_predictions(scale, model, read)
        noise = np.zeros((2, 2))
    else:
        sums = _far_predictions(scale, model, read, rng)
        means, noise = _means(scale, _UNREAD * len(guess), model, read, rng)
    impossible, error, beyond = sums
    # Σ (k − g)² is Σ (g − mean)² but for 2 Σ (g − mean)(k − mean), whose standard
    # deviation this is two times, up and down.
    spread = (seen.squares / seen.number) ** 0.5
    margin = 4 * spread * impossible**0.5 + 2 * error
    if badly < 1:
        # Where far values are held, these may be right; but nobody has seen any.
        fixed, beyond = Fixed(), badly * beyond + impossible
    else:
        fixed = Fixed(impossible, min(margin, impossible))
    return Predicted(fixed, beyond, scale.features(guess), means, noise)


class _Scale(NamedTuple):
    """Where predictions are far out: beyond all held-out ones, or beyond all values."""

    seen: Seen
    inner: float
    badly: float

    def features(self, guess: Array) -> Array:
        """Return distances and their squares, see `Predicted`."""
        apart = self.distances(guess - self.seen.center)
        return np.column_stack([apart, apart * apart])

    def distances(self, apart: Array) -> Array:
        """Return distances in units of the farthest held out, 0 if impossible."""
        if self.inner == 0:
            return np.zeros(len(apart))
        scaled = np.clip(apart / self.inner, -1.0, 1.0)
        if self.badly == 1:
            scaled[np.abs(apart) > _IMPOSSIBLE * self.seen.reach] = 0.0
        return np.asarray(scaled)

    def squares(self, apart: Array, weight: Array | float = 1.0) -> tuple[Array, Array]:
        """Return squared distances that are impossible, and those merely beyond."""
        far = np.flatnonzero(np.abs(apart) > self.inner)
        terms = apart[far] ** 2 * (weight if isinstance(weight, float) else weight[far])
        out = np.abs(apart[far]) > _IMPOSSIBLE * self.seen.reach
        return np.where(out, terms, 0.0), np.where(out, 0.0, terms)


def _all_predictions(
    scale: _Scale, model: Model, read: Entries
) -> tuple[_FarOut, Array]:
    far, moments, number = np.zeros(2), np.zeros(2), 0
    everything = np.arange(read.n)
    step = max(1, _BLOCK // read.n)
    for start in range(0, read.n, step):
        rows = everything[start : start + step]
        G = model.block(rows, everything).astype(np.float64)
        read.hide(G, rows)
        apart = G[np.isfinite(G)] - scale.seen.center
        far += [terms.sum() for terms in scale.squares(apart)]
        apart = scale.distances(apart)
        moments += apart.sum(), apart @ apart
        number += len(apart)
    half = 0.5 if read.symmetric else 1.0
    return _FarOut(half * far[0], 0.0, half * far[1]), moments / max(1, number)


def _means(
    scale: _Scale, size: int, model: Model, read: Entries, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Estimate the means of the features from some unread pairs, in either order."""
    i, j = read.sample_unknown(size, rng)
    if len(i) < 2:
        return np.zeros(2), np.zeros((2, 2))
    swap = (rng.random(len(i)) < 0.5) & read.symmetric & (read.sides is None)
    i, j = np.where(swap, j, i), np.where(swap, i, j)
    drawn = scale.features(model.pairs(i, j).astype(np.float64))
    return drawn.mean(axis=0), np.cov(drawn.T) / len(i)


def _far_predictions(
    scale: _Scale, model: Model, read: Entries, rng: np.random.Generator
) -> _FarOut:
    """Estimate what lies far out by importance sampling.

    A pair (i, j) is drawn with probability ‖lᵢ‖²‖rⱼ‖² / (‖L‖²‖R‖²), which bounds its
    share of Σ p². Items whose lines are known have no unread pairs; of many others, a
    sample of both sides stands for all.
    """
    others = np.arange(read.n)
    if read.symmetric:
        others = others[~read.has_lines(others)]
    sides = [others, others]
    if read.sides is not None:  # pairs lie across, and each is drawn in one order
        sides = [others[others < read.sides.split], others[others >= read.sides.split]]
    some = [rng.permutation(sides[0])[:_ITEMS]]
    some.append(rng.permutation(sides[1])[:_ITEMS] if read.sides else some[0])
    if min(map(len, some)) < 2:
        return _FarOut(0.0, 0.0, 0.0)
    norms = [model.row_norms(part)[side] for side, part in enumerate(some)]
    sums = [np.cumsum(squares) for squares in norms]
    if min(total[-1] for total in sums) <= 0:
        return _FarOut(0.0, 0.0, 0.0)
    drawn = [
        np.minimum(np.searchsorted(s, s[-1] * rng.random(_DRAWS)), len(s) - 1)
        for s in sums
    ]
    i, j = some[0][drawn[0]], some[1][drawn[1]]
    apart = model.pairs(i, j).astype(np.float64) - scale.seen.center
    unread = ~read.lookup(i, j)[0] & (i != j)
    chance = norms[0][drawn[0]] / sums[0][-1] * norms[1][drawn[1]] / sums[1][-1]
    size = len(sides[0]) / len(some[0]) * (len(sides[1]) / len(some[1]))
    if read.symmetric and read.sides is None:
        size /= 2
    weight = np.where(unread, size / np.maximum(chance, 1e-300), 0.0)
    impossible, beyond = scale.squares(apart, weight)
    mean = float(impossible.sum()) / _DRAWS
    variance = float(impossible @ impossible) / _DRAWS - mean**2
    error = max(0.0, variance) ** 0.5 / _DRAWS**0.5
    return _FarOut(mean, error, float(beyond.sum()) / _DRAWS)
