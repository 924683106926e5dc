"""The guard of the default: random pairs, read last, say how much of it holds."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.kernels.linalg.blas_threads import single_threaded
from fewpairs.methods.auto.bulk import in_bulk
from fewpairs.methods.auto.overclaiming import humbled
from fewpairs.methods.auto.prior_curve import population, prior_curve
from fewpairs.methods.auto.spending import Spending
from fewpairs.model.curve import Curve
from fewpairs.model.guard import Guard
from fewpairs.model.low_rank import LowRank
from fewpairs.model.model import Model
from fewpairs.model.row_maps import RowMap
from fewpairs.similarity.priors import Prior
from fewpairs.types import Indices

__all__ = ["guarded", "mean_of"]

_HELD = 0.02  # error, as a share of the spread, that needs no bounds
_LITTLE = 1e-3  # of the spread, that a prior moves pairs which nothing predicts
_FAR, _RARE = 3.0, 0.03  # times the range of most values, and the share beyond it
_ENOUGH = 200  # random pairs, of which a few can be left aside
# Standard errors of its slope at which nothing but the order of predictions is kept.
_DOUBT = 1.5
# Slope below which the prior's curve says more, if it has one: usually, and where the
# prior alone put what was read in the better order. One that leaves nothing; standard
# errors that make a lead.
_LESS, _LESS_LED, _NOTHING, _SURE = 0.3, 0.7, 0.05, 2.0
_KNEE, _FEWEST_TOPS = 0.98, 50  # quantile of random pairs; pairs above it that tell
FEWEST_LANDMARKS = 4


@single_threaded()  # small sums; threads that were woken for one spin for long after
def guarded(
    spending: Spending,
    model: Model,
    described: str,
    words: list[str],
    *,
    random: tuple[Indices, Indices, NDArray[Any]] | None = None,
    prior: Prior | None = None,
    in_order: bool = False,
    tops: tuple[NDArray[Any], NDArray[Any]] | None = None,
    lead: float | None = None,
) -> Model:
    """Shrink the result as far as random pairs do not confirm it.

    ``random``: pairs that were drawn before and their values, for means of all of
    them; none where reading has left other pairs since. ``prior``: what orders the
    pairs where nothing predicts them; with ``in_order`` they stay in the model's order.
    ``tops``: what was predicted of pairs that were read for looking similar, before
    they were, and their values; ``lead``: standard errors by which what predicted them
    put them in a better order than the prior alone.
    """
    i, j, truth = last = spending.last_pairs()
    values = truth if random is None else np.concatenate([truth, random[2]])
    known, per_item = spending.oracle.read, spending.per_item(spending.budget)

    def done(found: Model) -> Model:
        return humbled(found, known, per_item / spending.calls, last, values)

    low, high = _range(spending)
    model = in_bulk(model, known, *last)
    model = replace(model, guard=Guard(0.0, 1.0, low, high))
    guess = model.pairs(i, j).astype(np.float64)
    model, guess = _without_ceilings(model, guess, i, j, truth)
    guard, verdict = _verdict(guess, truth, low, high)
    if guard is None and random is not None and len(truth) >= _ENOUGH:
        usual = _usual(truth)
        guard, verdict = _verdict(guess[usual], truth[usual], low, high)
    if random is not None and not _in_order(guess, truth):
        guard = None
    if guard is None:
        if in_order:
            slope = _LITTLE * float(values.std()) / (float(guess.std()) or 1.0)
            mean = float(values.mean()) if len(values) else 0.0
            around = float(guess.mean()) if len(guess) else 0.0
            guard = Guard(mean - slope * around, slope, low, high)
            verdict = "random pairs do not confirm it: their mean, in the order of this"
            text = "; ".join(part for part in (described, *words, verdict) if part)
            return replace(model, guard=guard, words=text).lean()
        why = f"nothing predicts the pairs ({described})"
        flat = mean_of(spending, values, why)
        return done(_by_prior(flat, prior, spending, described))
    if random is not None and guard.offset != 0:
        # A few last pairs tell the level less well than all that were drawn.
        before = model.pairs(random[0], random[1]).astype(np.float64)
        level = float(np.mean(np.concatenate([truth, random[2]])))
        at = float(np.mean(np.concatenate([guess, before])))
        guard = guard._replace(offset=level - guard.slope * at)
    if tops is not None and guard.slope < 1:
        guard = _with_knee(guard, guess, *tops)
    if random is not None and not in_order and _is_lost(guard, lead):
        flat = mean_of(spending, values, "")
        by_prior = _by_prior(flat, prior, spending, described)
        if by_prior.guard is not None:  # it has a curve
            return done(by_prior)
    parts = [described, *words, verdict]
    text = "; ".join(part for part in parts if part)
    return done(replace(model, guard=guard, words=text).lean())


def _is_lost(guard: Guard, lead: float | None) -> bool:
    """Tell whether so little of the predictions is confirmed that the prior says more.

    Pairs at the top may be what confirms them; but where random pairs say nothing at
    all, the prior alone would be confirmed there as well.
    """
    if lead is not None and lead < -_SURE:
        return max(guard.slope, guard.steep) < _LESS_LED
    if lead is not None and lead <= _SURE and guard.slope < _NOTHING:
        return True
    return max(guard.slope, guard.steep) < _LESS


def _without_ceilings(
    model: Model,
    guess: NDArray[Any],
    i: Indices,
    j: Indices,
    truth: NDArray[Any],
) -> tuple[Model, NDArray[Any]]:
    """Take ceilings away where random pairs are predicted better without them."""
    if model.ceilings is None or not len(truth):
        return model, guess
    free = replace(model, ceilings=None)
    unbound = free.pairs(i, j).astype(np.float64)
    if np.sum((unbound - truth) ** 2) < np.sum((guess - truth) ** 2):
        return free, unbound
    return model, guess


def _with_knee(
    guard: Guard, guess: NDArray[Any], said: NDArray[Any], values: NDArray[Any]
) -> Guard:
    """Let the largest predictions be as far above the others as such pairs were.

    By the slope of pairs that lay above nearly all random ones when they were chosen,
    less a standard error of it.
    """
    knee = float(np.quantile(guess, _KNEE)) if len(guess) else np.inf
    above = said > knee
    if int(above.sum()) < _FEWEST_TOPS:
        return guard
    x = said[above].astype(np.float64)
    y = np.asarray(values, dtype=np.float64)[above]
    moved, spread = x - x.mean(), y - y.mean()
    variance = float(moved @ moved)
    if variance == 0:
        return guard
    slope = float(moved @ spread) / variance
    error = _robust_error(moved, spread - slope * moved, variance)
    steep = min(1.0, slope - error)
    return guard if steep <= guard.slope else guard._replace(knee=knee, steep=steep)


def _usual(truth: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which values are not far out: a few of them hide what holds for others.

    Predictions that are far out stay: they are what a guard is there for.
    """
    low, middle, high = np.quantile(truth, [0.1, 0.5, 0.9])
    usual = np.abs(truth - middle) <= _FAR * (high - low)
    return usual if np.mean(~usual) <= _RARE else np.ones(len(truth), dtype=bool)


def _in_order(guess: NDArray[Any], truth: NDArray[Any]) -> bool:
    """Tell whether ranks agree beyond chance: a few large values can deceive a slope.

    Spearman's correlation, two standard errors above 0.
    """
    if len(truth) < 10 or np.ptp(truth) == 0 or np.ptp(guess) == 0:
        return True
    ranks = [np.argsort(np.argsort(values)) for values in (guess, truth)]
    agree = np.corrcoef(ranks[0], ranks[1])[0, 1]
    return bool(agree > 2 / math.sqrt(len(truth)))


def mean_of(spending: Spending, values: NDArray[Any], why: str) -> Model:
    """Return the mean of random pairs, for want of anything better."""
    mean, variance = float(values.mean()), float(values.var()) / len(values)
    if len(spending.landmarks) >= FEWEST_LANDMARKS and variance > 0:
        mean += _pooled(spending, mean, variance)
    low_rank = LowRank(
        np.full((spending.n, 1), math.sqrt(abs(mean))),
        np.array([1.0 if mean >= 0 else -1.0]),
        left_map=RowMap(np.empty(0, dtype=np.int64), np.empty((0, 0)), 0, mean),
    )
    words = f"{why}: every unread pair gets the mean of random ones, {mean:.4g}"
    return Model(low_rank, spending.landmarks.astype(np.int64), words)


def _by_prior(
    flat: Model, prior: Prior | None, spending: Spending, described: str
) -> Model:
    """Let a prior say of unread pairs what it can: its curve, or their order alone.

    Random pairs may not confirm a prior that knows near-duplicates. Where its curve
    says nothing it orders them, by so little that it does no harm.
    """
    i, j, read = spending.oracle.read.uncovered()
    if prior is None or not len(read) or not read.std():
        return flat
    cheap = prior.pairs(i, j).astype(np.float64)
    center, scale = float(cheap.mean()), float(cheap.std())
    if not scale:
        return flat
    found = prior_curve(cheap, read, population(prior, spending), hinged=True)
    if found is None:
        curve = Curve(center, scale, np.array([0.0, _LITTLE * float(read.std())]))
        words = f"{flat.words}, in the order of the prior"
        return replace(flat, prior=prior, curve=curve, proposer=prior, words=words)
    guard = Guard(0.0, 1.0, *_range(spending))
    if found.knee < np.inf:
        level = float(flat.pairs(i[:1], j[:1])[0])
        guard = guard._replace(knee=level + found.knee, steep=found.steep)
    words = (
        f"the prior's curve alone, fitted to {len(read):,} pairs, random and chosen "
        f"ones ({described} predicts less)"
    )
    return replace(
        flat,
        prior=prior,
        curve=found.curve,
        proposer=prior,
        guard=guard,
        words=words,
    )


def _pooled(spending: Spending, mean: float, variance: float) -> float:
    """Return how far the landmarks' columns move a mean of few random pairs.

    They know it as well as landmarks agree on it; not where refinement has left other
    pairs than those that columns are made of.
    """
    C = np.array(spending.columns, dtype=np.float64)
    C[spending.landmarks, np.arange(len(spending.landmarks))] = np.nan
    of_each = np.nanmean(C, axis=0)
    spread = float(np.var(of_each, ddof=1)) / len(of_each)
    apart = float(of_each.mean()) - mean
    if apart**2 > 9 * (variance + spread):
        return 0.0
    return apart * variance / (variance + spread)


def _range(spending: Spending) -> tuple[float, float]:
    """Return what was read off the diagonal, from end to end, and a tenth more."""
    i, j, values = spending.oracle.read.uncovered()
    values = values[i != j]
    C, S = spending.columns, spending.landmarks
    least, most = np.inf, -np.inf
    own = np.arange(len(S))
    if C.size:
        C = np.array(C)
        C[S, own] = C[S[0], own]  # no pair: anything else
        C[S[0], 0] = C[S[-1], 0]
        least, most = float(C.min()), float(C.max())
    least = min(least, float(values.min(initial=np.inf)))
    most = max(most, float(values.max(initial=-np.inf)))
    more = 0.1 * (most - least)
    return least - more, most + more


def _robust_error(moved: NDArray[Any], left: NDArray[Any], variance: float) -> float:
    """Return the standard error of a slope that a few pairs far out may have made.

    HC3: each residual as if its pair had been left out (MacKinnon & White, 1985).
    """
    leverage = moved**2 / variance + 1 / len(moved)
    alone = left / np.maximum(1 - leverage, 1e-6)
    return float(np.linalg.norm(moved * alone)) / variance


def _verdict(
    guess: NDArray[Any], truth: NDArray[Any], low: float, high: float
) -> tuple[Guard | None, str]:
    """Return the guard that random pairs call for; ``None``: predict the mean."""
    if len(truth) < 10:
        return Guard(0.0, 1.0, low, high), ""
    spread = truth - truth.mean()
    if np.mean((truth - guess) ** 2) < _HELD**2 * np.mean(spread**2):
        # What holds everywhere holds beyond the range of what was read too.
        return Guard(), ""
    moved = guess - guess.mean()
    variance = float(moved @ moved)
    if variance == 0 or float(spread @ spread) == 0:
        flat = float(np.mean((truth - guess) ** 2)) <= float(np.mean(spread**2)) * 1.01
        return (Guard(0.0, 1.0, low, high), "") if flat else (None, "")
    slope = float(moved @ spread) / variance
    left = spread - slope * moved
    error = math.sqrt(float(left @ left) / len(truth) / variance)
    if slope < 3 * error:
        return None, ""
    error = max(error, _robust_error(moved, left, variance))
    bias = float(truth.mean() - guess.mean())
    bias_error = math.sqrt(float(np.mean((truth - guess) ** 2)) / len(truth))
    if error < 0.1 and slope > 1 - 3 * error and abs(bias) < 4 * bias_error:
        return Guard(0.0, 1.0, low, high), ""
    slope *= max(0.0, 1 - (_DOUBT * error / slope) ** 2)
    if slope == 0:  # nothing but the order of predictions is left
        slope = _LITTLE * float(np.std(spread)) / math.sqrt(variance / len(truth))
    slope = min(slope, 1.0)
    offset = float(truth.mean() - slope * guess.mean())
    words = f"the guard shrank predictions to {slope:.0%} of their spread"
    return Guard(offset, slope, low, high), words if slope < 0.99 else ""
