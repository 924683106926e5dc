"""The prior's curve: what a prior alone says, told by random and by chosen pairs.

Random pairs hardly ever meet the most similar ones, which may make up most of the
variance; pairs that were read for looking similar are nothing else. Pairs that agree in
the prior tell the same, however they were come by: so pairs fall into strata of the
prior, and count by how many pairs of the matrix are in theirs (post-stratification:
Holt & Smith 1979). How many, a free sample of the prior tells.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewpairs.methods.auto.confirming import tops_of
from fewpairs.methods.auto.spending import Spending
from fewpairs.model.curve import Curve
from fewpairs.model.model import Model
from fewpairs.similarity.priors import Prior
from fewpairs.types import Indices

Pairs = tuple[Indices, Indices, NDArray[Any]]

__all__ = ["PriorCurve", "mended", "population", "prior_curve"]

_STRATA, _PER_STRATUM = 16, 12  # at most; pairs of each, at least
_SAMPLE = 100_000  # pairs whose prior is looked at
_ITEMS, _NEAR = 32, 10  # items whose largest values of the prior are looked at
_DEGREES = 3, 1  # of the curve
_KNEES = 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95  # quantiles of what was read
_TOP = np.linspace(0.5, 1, 32)  # quantiles of what was read that the prior shall order


class PriorCurve(NamedTuple):
    """By how much pairs lie above the mean.

    What the curve says above the knee counts ``steep`` times as much, as a `Guard` has
    it: a polynomial cannot be flat for nearly all pairs and steep for a few.
    """

    curve: Curve
    knee: float = np.inf
    steep: float = 0.0


class _Fit:
    """Weighted least squares, and how well it predicts pairs that are left out."""

    def __init__(
        self, X: NDArray[np.float64], y: NDArray[np.float64], w: NDArray[np.float64]
    ) -> None:
        root = np.sqrt(w)
        Q, R = np.linalg.qr(root[:, None] * X)
        found = np.linalg.lstsq(R, Q.T @ (root * y), rcond=None)[0]
        leverage = np.minimum(np.sum(Q**2, axis=1), 0.99)
        alone = y - (y - X @ found) / (1 - leverage)
        kept = float(w @ (alone * y)) / (float(w @ alone**2) or np.inf)
        kept = min(max(kept, 0.0), 1.0)
        self.weights = kept * found
        self.missed = float(w @ (y - kept * alone) ** 2)


def prior_curve(
    cheap: NDArray[Any],
    values: NDArray[Any],
    population: NDArray[Any],
    *,
    hinged: bool = False,
) -> PriorCurve | None:
    """Return by how much pairs lie above the mean, by their prior, shrunk.

    By weighted least squares; pairs are predicted as if each had been left out (PRESS:
    Allen 1974), and the curve is multiplied by what fits these predictions best. It
    rises where what looks most similar lies. Of a cubic, a line, and with ``hinged``
    lines with a knee the one that predicts best; ``None`` where none does, or all fall.

    Parameters
    ----------
    cheap, values
        The prior of pairs that were read, and what was read.
    population
        The prior of random pairs.
    """
    if len(values) < _PER_STRATUM * 2:
        return None
    cheap = np.asarray(cheap, dtype=np.float64)
    center, scale = float(cheap.mean()), float(cheap.std())
    if scale <= 1e-7 * max(1.0, abs(center)):
        return None
    w = _weights(cheap, population)
    y = np.asarray(values, dtype=np.float64)
    y = y - float(w @ y)
    t = (cheap - center) / scale
    best, lowest = None, float(w @ y**2)
    for degree in _DEGREES:
        fit = _Fit(np.vander(t, degree + 1, increasing=True), y, w)
        curve = Curve(center, scale, fit.weights)
        places = np.quantile(cheap, _TOP)
        risen = curve.rising(places)
        missed = fit.missed + float(w @ (risen(cheap) - curve(cheap)) ** 2)
        if missed < lowest and risen(places[-1:]) > risen(places[:1]):
            best, lowest = PriorCurve(risen), missed
    for knee in np.quantile(t, _KNEES) if hinged else ():
        fit = _Fit(np.stack([t**0, t, np.maximum(t - knee, 0)], axis=1), y, w)
        level, slope, more = fit.weights
        if fit.missed < lowest and min(slope, more) > 0:
            line = Curve(center, scale, np.array([level, slope]))
            best = PriorCurve(line, level + slope * knee, (slope + more) / slope)
            lowest = fit.missed
    return best


def mended(model: Model, random: Pairs, spending: Spending) -> Model:
    """Return a model whose curve does not fall where the prior's first pairs lie.

    A cubic through random pairs says little of what lies beyond them, and may turn
    there: then what is most similar by the prior would never be read. If it does, some
    of these pairs are bought, and it is fitted to them and to the random ones.
    """
    prior, curve = model.prior, model.curve
    across = spending.oracle.cost.split is not None  # there, firsts are read before
    if prior is None or curve is None or len(curve) < 2 or across:
        return model
    places = _places(prior, prior.pairs(*random[:2]), spending)
    levels = curve(places)
    if levels[-1] > levels[0]:
        return model
    parts = zip(random, tops_of(prior, spending), strict=True)
    i, j, values = (np.concatenate(part) for part in parts)
    cheap = prior.pairs(i, j)
    aim = values - (model.pairs(i, j) - curve(cheap))  # what is left to the prior
    above = prior_curve(cheap, aim, population(prior, spending))
    if above is None:
        return model
    some = slice(len(random[2]))  # a uniform sample tells the level
    level = float(np.mean(aim[some] - above.curve(cheap[some])))
    return replace(model, curve=above.curve.raised(level))


def _places(prior: Prior, cheap: NDArray[Any], spending: Spending) -> NDArray[Any]:
    """Return values of the prior from those of most pairs to an item's largest."""
    items = np.sort(spending.rng.permutation(prior.n)[:_ITEMS])
    block = prior.block(items, np.arange(prior.n))
    block[np.arange(len(items)), items] = -np.inf
    k = min(_NEAR, prior.n - 1)
    tops = np.partition(block, -k, axis=1)[:, -k:]
    usual = np.quantile(cheap, [0.5, 0.75, 0.9])
    far = np.quantile(tops, np.linspace(0.05, 1, 12))
    return np.unique(np.concatenate([usual, far[far > usual[-1]]]))


def population(prior: Prior, spending: Spending) -> NDArray[np.float32]:
    """Return the prior of random pairs; of two sets, of pairs across."""
    n, first, rng = prior.n, spending.oracle.cost.split, spending.rng
    i = rng.integers(first or n, size=_SAMPLE)
    others = rng.integers(first or 1, n, size=_SAMPLE)
    return prior.pairs(i, others if first else (i + others) % n)


def _weights(
    cheap: NDArray[np.float64], population: NDArray[Any]
) -> NDArray[np.float64]:
    """Return what each pair counts, 1 in all: the share of its stratum, divided."""
    number = max(1, min(_STRATA, len(cheap) // _PER_STRATUM))
    edges = np.unique(np.quantile(cheap, np.linspace(0, 1, number + 1)[1:-1]))
    at = np.searchsorted(edges, cheap)
    strata = np.searchsorted(edges, population)
    shares = np.bincount(strata, minlength=len(edges) + 1) / len(population)
    count = np.bincount(at, minlength=len(edges) + 1)
    w = shares[at] / count[at]
    return np.asarray(w / w.sum())
