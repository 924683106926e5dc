"""Correcting: fits what bends the predictions of prior and low rank to what was read.

All in closed form. Curves of what prior and low rank say and of the prior are fitted to
all pairs (`bending`), and what they leave is regressed item by item on features of the
partners (a ridge per item, as Axn has it: Yadav et al. 2024, arXiv:2405.03651), shrunk
as much as predicts left-out pairs best. That may change the order of an item's partners
in any way; so until much is known of every item, it has to prove that it puts left-out
pairs of an item in a better order than a cautious correction does (`cautious`).

What is one for all items, curves and shrinkage, is learned from some of the pairs:
tens of thousands tell it as well as millions do.
"""

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from fewpairs.methods.auto.bending import bent_to
from fewpairs.methods.auto.bulk import share_of_others
from fewpairs.methods.auto.candidates import Candidates
from fewpairs.methods.auto.cautious import (
    TELLING,
    as_high,
    as_steep,
    cautious,
    levels_by,
    share_of_base,
)
from fewpairs.methods.auto.couples import (
    Couples,
    ahead,
    best_of_items,
    ends_of_some,
    hits_first,
)
from fewpairs.methods.auto.item_regressions import ItemRegressions, mean_square
from fewpairs.model.correction import Correction, Fade
from fewpairs.model.curve import Curve
from fewpairs.model.pair_inputs import PairInputs
from fewpairs.model.training_pairs import TrainingPairs

if TYPE_CHECKING:
    from fewpairs.methods.auto.candidates_on_device import AnyCandidates

__all__ = ["FEWEST", "Correcting"]

FEWEST = 250  # pairs of either kind that tell more than prior and low rank
# Quantiles of the candidates' priors, and how many of these tell them.
_PLACES, _LOOKED_AT = np.linspace(0.01, 1, 50), 40_000
_RIDGES = 1.0, 4.0, 20.0  # of the items' own regressions, to choose from
_RIDGES_ACROSS = 4.0, 20.0  # the same, of two sets
_LEFT_OUT, _MOST_LEFT_OUT = 0.15, 20_000  # share of the pairs that choose; at most
# Of more items, so many whose pairs with each other choose, and the share of these that
# does: solving for all items would take as long as the fit itself.
_CHOOSING, _LEFT_OUT_OF_SOME = 1_200, 0.3
_USUAL = 4.0  # of them, before one was chosen
_BELIEVED = 20  # pairs that say so before any does: all of an item's vector counts
_WORSE = 1.05  # times the error of random pairs that is too much for a better order
_TELLING_ITEMS = 4_000  # whose later pairs tell which order is the better one
_EARLIER = 0.5  # share of the pairs that the test of later ones is fitted to
# Standard errors by which what changes orders must be ahead, unless so many pairs per
# item that looked most similar tell the order of each row; how many of them need no
# test, and how many are enough to go by in choosing what to read.
_PROVEN, _PLENTY, _UNTESTED, _EARLY = 3.0, 6.0, 30.0, 5.0


class Correcting:
    """Fits corrections, round after round.

    Parameters
    ----------
    features
        (n, d) features of the items, rows of norm about 1; ``None``: a constant.
    n
        Number of items.
    curve
        What takes the prior to the values; without it nothing is cautious.
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
        curve: Curve | None = None,
        always: bool = False,
        fades: bool = True,
        directions: NDArray[np.float32] | None = None,
    ) -> None:
        self._always, self._fades = always, fades and not always
        self._ridges = _RIDGES_ACROSS if always else _RIDGES
        ones = np.ones((n, 1), dtype=np.float32)
        parts = [ones] if features is None else [ones, features]
        self._features = np.hstack(parts).astype(np.float32, copy=False)
        self._directions = self._features[:, 1:] if directions is None else directions
        self._rng = rng
        self._ridge: float | None = None
        self._fade: Fade | None = None
        self.curve = None if always else curve
        self.levels: NDArray[np.float32] | None = None
        self._device: str | None = None  # where candidates are, and torch solves

    def fit(
        self, uniform: TrainingPairs, chosen: TrainingPairs, *, anew: bool = True
    ) -> Correction | None:
        """Return what these pairs call for; ``None`` where prior and low rank do.

        ``anew``: whether to find out anew how far to shrink, and what may be changed.
        """
        if self.curve is not None and not self._bolder(uniform, chosen, anew):
            return self._kept(uniform, chosen, self.curve)
        return self._bent(uniform, chosen, anew=anew)

    def _bolder(
        self, uniform: TrainingPairs, chosen: TrainingPairs, anew: bool
    ) -> bool:
        """Tell whether curves may change the order of an item's partners."""
        if min(len(uniform), len(chosen)) < FEWEST:
            return False
        per_item = 2 * len(chosen) / len(self._features)
        if not anew or per_item > _UNTESTED:
            return per_item > _EARLY
        needed = 0.0 if per_item > _PLENTY else _PROVEN
        return self._ahead_by(uniform, chosen) > needed

    def _ahead_by(self, uniform: TrainingPairs, chosen: TrainingPairs) -> float:
        """Return by how many standard errors curves put the best of later pairs first.

        What was read first looked more similar than what was read last, as that does
        than what stays unread: curves must hold on the way down. The best one of every
        item: of the others the order may be told well by what says nothing of it.
        """
        later = np.arange(len(chosen)) >= _EARLIER * len(chosen)
        told, left_out = chosen.some(~later), chosen.some(later)
        inputs, values = left_out.inputs, left_out.values
        n = len(self._features)
        item, pair = ends_of_some(inputs.i, inputs.j, max(1, n // _TELLING_ITEMS))
        if not len(item) or self.curve is None:
            return 0.0
        best = best_of_items(item, values[pair])
        told_of = np.zeros(n, dtype=bool)
        for ends in (inputs.i, inputs.j):
            told_of[ends[pair]] = True
        both = (
            self._bent(uniform, told, items=told_of),
            self._kept(uniform, told, self.curve, told_of),
        )
        said = [_said(one, inputs) for one in both]
        bulk = [
            mean_square(uniform.values - _said(one, uniform.inputs)) for one in both
        ]
        if bulk[0] > _WORSE * bulk[1]:
            return -np.inf
        return ahead(*(hits_first(item, best, score[pair]) for score in said))

    def _kept(
        self,
        uniform: TrainingPairs,
        chosen: TrainingPairs,
        curve: Curve,
        items: NDArray[np.bool_] | None = None,
    ) -> Correction:
        """Return a correction that changes orders as far as couples say so."""
        inputs = chosen.inputs
        couples = Couples.among(inputs.i, inputs.j)
        share = share_of_base(chosen, couples, curve(np.asarray(inputs.cheap)))
        return cautious(
            self._features,
            curve,
            uniform,
            chosen,
            share=share,
            levels=self.levels,
            items=items,
            device=self._device,
        )

    def place(self, found: "AnyCandidates") -> None:
        """Take from candidates where the most similar of every item begin.

        And which values of the prior are to be told apart: the curve shall rise there.
        """
        self._device = None if isinstance(found, Candidates) else found.device
        if self.curve is None or found.cheap is None:
            return
        some, cheap = found, cast("Any", found.cheap.ravel())
        cheap = cheap[:: max(1, len(cheap) // _LOOKED_AT)]
        if not isinstance(some, Candidates):
            some, cheap = some.thinned(TELLING), cheap.cpu().numpy()
        cheap = cheap[np.isfinite(cheap)]
        if len(cheap):
            self.curve = self.curve.rising(np.quantile(cheap, _PLACES))
            self.curve = as_high(as_steep(self.curve, some), some)
        if isinstance(found, Candidates):
            self.levels = levels_by(found, self.curve)
        else:
            self.levels = found.levels_by(self.curve)

    def _bent(
        self,
        uniform: TrainingPairs,
        chosen: TrainingPairs,
        *,
        anew: bool = False,
        items: NDArray[np.bool_] | None = None,
    ) -> Correction | None:
        """Return curves, and every item's own regression on what they leave.

        ``items``: those whose own regressions are asked for.
        """
        both = uniform + chosen
        inputs, values = both.inputs, both.values
        is_chosen = np.arange(len(values)) >= len(uniform)
        center, scale = float(values.mean()), float(values.std()) or 1.0
        y = ((values - center) / scale).astype(np.float32)
        bent = bent_to(
            self._features,
            inputs,
            y,
            is_chosen,
            directions=self._directions,
            apart=not self._always,
        )
        some = _of_items(items, inputs, y)
        rows = ItemRegressions.left_by(bent, *some, self._device)
        ridge = self._ridge
        if items is None and (anew or not ridge):
            before = (values - inputs.base) / scale
            usual = [mean_square(before[part]) for part in (is_chosen, ~is_chosen)]
            ridge = self._ridge = self._shrinking(rows, is_chosen, usual, bent)
        ridge = _USUAL if items is not None and not ridge else ridge
        if ridge == 0 or ridge is None:
            return None
        if ridge < np.inf:
            vectors = rows.clipped().vectors([ridge], items)[0]
            bent = replace(bent, vectors=vectors, fade=self._fade)
        return replace(
            bent,
            base_levels=bent.base_levels * scale + center,
            cheap_levels=bent.cheap_levels * scale,
            vectors=bent.vectors * np.float32(scale),
            form=bent.form and bent.form.times(scale),
        )

    def _left_out(self, inputs: PairInputs) -> NDArray[np.bool_]:
        """Return which pairs choose how far to shrink: some, or some of some items."""
        n, m = len(self._features), len(inputs)
        share = min(_LEFT_OUT, _MOST_LEFT_OUT / m)
        of_some = (_CHOOSING / n) ** 2
        if n <= _CHOOSING or of_some * _LEFT_OUT_OF_SOME * m < FEWEST:
            return self._rng.random(m) < share
        some = np.zeros(n, dtype=bool)
        some[self._rng.permutation(n)[:_CHOOSING]] = True
        most = min(_LEFT_OUT_OF_SOME, _MOST_LEFT_OUT / (of_some * m))
        out = some[inputs.i] & some[inputs.j]
        return np.asarray(out & (self._rng.random(m) < most))

    def _shrinking(
        self,
        rows: ItemRegressions,
        is_chosen: NDArray[np.bool_],
        usual: list[float],
        bent: Correction,
    ) -> float:
        """Return the ridge that predicts left-out pairs best.

        0: prior and low rank do; ∞: curves alone. ``usual``: the mean squared errors of
        prior and low rank, of pairs that looked most similar and of random ones. Both
        count alike.
        """
        out = self._left_out(rows.inputs)
        tested = rows.some(out)
        groups = is_chosen[out], ~is_chosen[out]
        concerned = np.zeros(len(self._features), dtype=bool)
        for ends in (tested.inputs.i, tested.inputs.j):
            concerned[ends] = True
        said = rows.clipped().some(~out).vectors(self._ridges, concerned)
        left = [tested.values - tested.said(vectors) for vectors in said]
        best, lowest = 0.0, np.inf if self._always else 0.0
        self._fade = None
        for ridge, apart in zip(
            (np.inf, *self._ridges), (tested.values, *left), strict=True
        ):
            missed = sum(
                math.log(mean_square(apart[part]) / size)
                for part, size in zip(groups, usual, strict=True)
            )
            if missed < lowest and (ridge < np.inf or not self._always):
                best, lowest = ridge, missed
        if 0 < best < np.inf and self._fades:
            i, j = tested.inputs.i, tested.inputs.j
            form = 0 if bent.form is None else tested.gate * bent.form.pairs(i, j)
            whole = tested.values + form
            own = whole - left[self._ridges.index(best)]
            self._fade = _fade(tested.inputs.base, whole, own, *groups)
        return best


def _said(found: Correction | None, inputs: PairInputs) -> NDArray[Any]:
    return inputs.base if found is None else found.pairs(inputs)


def _fade(
    base: NDArray[Any],
    values: NDArray[np.float32],
    own: NDArray[np.float32],
    is_chosen: NDArray[np.bool_],
    is_random: NDArray[np.bool_],
) -> Fade | None:
    """Return how far items' vectors hold for what does not look similar.

    They were fitted to what looked most similar, above all. Between the medians of
    random and of chosen pairs their share rises to 1; by least squares of random pairs
    that were left out.
    """
    low, high = (float(np.median(base[part])) for part in (is_random, is_chosen))
    if not low < high:
        return None
    sure = np.interp(base[is_random], [low, high], [0.0, 1.0])
    if not own[is_random].any():
        return None
    share = share_of_others(sure, own[is_random], values[is_random], _BELIEVED)
    return Fade(low, high, share)


def _of_items(
    items: NDArray[np.bool_] | None, inputs: PairInputs, y: NDArray[np.float32]
) -> tuple[PairInputs, NDArray[np.float32]]:
    """Return the pairs of some items."""
    if items is None:
        return inputs, y
    part = items[inputs.i] | items[inputs.j]
    return inputs.some(part), y[part]
