"""Weighing: the error of all pairs, from what is known and a held-out sample."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewpairs.kernels.statistics.regression import adjusted
from fewpairs.matrix.entries import Entries
from fewpairs.matrix.moments import Moments
from fewpairs.model.model import Model
from fewpairs.result.interval import Chance, Sums, ratio_interval, upper_count, widened
from fewpairs.result.predictions import Predicted, possible, predicted
from fewpairs.result.unseen import Seen, held_badly, look, rare_values

__all__ = ["CANCELED", "Sample", "Weighed", "weigh"]

CANCELED = 1e-10  # share of a sum of squares that is rounding
_TINY = 1e-250

Array = NDArray[np.float64]


class Sample(NamedTuple):
    """Held-out pairs: their values and predictions, and what was read before them."""

    truth: Array
    guess: Array
    before: Moments
    bounds: tuple[float, float] | None


class Weighed(NamedTuple):
    """Relative error, its interval, R², and what makes them doubtful."""

    relative: float
    interval: tuple[float, float]
    r2: float
    doubt: str = ""


def weigh(
    sample: Sample, model: Model, read: Entries, rng: np.random.Generator
) -> Weighed:
    """Add up what is known of read pairs and what held-out ones say of the rest."""
    truth, guess, before, bounds = sample
    m, unread = len(truth), read.pairs - before.number
    seen = look(truth, read, bounds)
    badly = held_badly(truth, truth - guess, seen.center)
    far_out = predicted(guess, seen, model, read, badly=badly, rng=rng)
    usual = possible(guess, seen, badly)
    squared = np.where(usual, (truth - guess) ** 2, 0.0)
    # What is impossible is added up over all pairs; its sample says what that lacks.
    lacking = (truth - guess) ** 2 - (guess - seen.center) ** 2
    sampled = (unread - m) * np.where(usual, squared, lacking)
    # The held-out pairs are exact in the result; they stand for the others.
    known = far_out.impossible.squares
    sums = Sums(
        max(known / 2, float(sampled.mean()) + known),
        before.squares,
        unread * float((truth**2).mean()),
    )
    # Values whose squares leave the range of float64 cannot be judged.
    if not math.isfinite(sum(sums)) or (sums.norm < _TINY and truth.any()):
        return Weighed(math.nan, (0.0, math.inf), math.nan)
    left = max(0.0, 1 - m / unread)  # without replacement: what is left to estimate
    right, chance = _put_right(sums, sampled, truth**2, left, far_out)
    middle = right.off / right.norm if right.norm > 0 else 0.0
    r2 = _r2(middle * sums.norm, sums.norm, sample, seen, read)
    found = Weighed(math.sqrt(middle), (0.0, math.inf), r2)
    doubt = seen.doubt(badly)
    if doubt:
        return found._replace(doubt=doubt)
    low = high = middle
    if middle > 0:
        low, high = ratio_interval(squared, right, far_out.impossible, chance)
    rare = rare_values(seen, model, read, badly=badly, unread=unread, held=m)
    fewer = low * right.norm / (right.norm + rare.most)
    more = (high * right.norm + rare.errors) / (right.norm + rare.least)
    low, high = widened(middle, low, fewer), widened(middle, high, max(high, more))
    rest = (unread - m) * upper_count(0) / m * _worthless(truth, guess[usual])
    high = max(high, middle + rest / right.norm) + far_out.beyond / right.norm
    return found._replace(interval=(math.sqrt(max(0.0, low)), math.sqrt(high)))


def _put_right(
    sums: Sums, sampled: Array, power: Array, left: float, far_out: Predicted
) -> tuple[Sums, Chance]:
    """Put right that predictions of the held-out pairs are not those of all others.

    Squared errors and values go with the prediction, whose moments are known. Returns
    the sums, and what of them is left to chance.
    """
    nothing = np.zeros(len(power))
    if not sums.off > 0:
        return sums, Chance(nothing, nothing, left)
    relative = power / float(power.mean()) if sums.unread > 0 else nothing
    features, means = far_out.features, far_out.means
    ratio = adjusted(sampled / sums.off - relative, features, means)
    values = adjusted(relative, features, means)
    slopes = ratio.slopes + sums.known / sums.norm * values.slopes
    noise = math.sqrt(max(0.0, float(slopes @ far_out.noise @ slopes)))
    moved = sums.moved(ratio.shift + values.shift, values.shift)
    return moved, Chance(ratio.residuals, values.residuals, left, noise)


def _r2(off: float, norm: float, sample: Sample, seen: Seen, read: Entries) -> float:
    before = sample.before
    mean = (before.total + (read.pairs - before.number) * seen.center) / read.pairs
    spread = norm - read.pairs * mean**2
    if spread < CANCELED * norm:  # nothing is left of it but rounding
        spread = read.pairs * float(sample.truth.var())
    if spread > 0:
        return 1.0 - off / spread
    return 1.0 if off == 0 else -math.inf


def _worthless(truth: Array, guess: Array) -> float:
    """Return the mean squared error of predictions that belong to other pairs.

    Such ones may be among the pairs that were not held out, however good those were.
    """
    if not len(guess):
        return float(truth.var())
    return float(truth.var() + guess.var() + (guess.mean() - truth.mean()) ** 2)
