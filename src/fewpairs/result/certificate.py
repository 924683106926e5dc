"""Certificate: how far an approximation can be off, from pairs it never saw."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.matrix.entries import Entries
from fewpairs.matrix.moments import Moments, far_line_entries
from fewpairs.model.model import Model
from fewpairs.reading.oracle import Oracle
from fewpairs.types import Indices

__all__ = ["Certificate", "HeldOut", "exact_certificate", "hold_out", "pairs_for"]

_SHARE = 0.1
_MOST_PAIRS = 5_000
_FEWEST_PAIRS = 10
_TINY = 1e-250
_DRAWS = 1_000
_FAR = 10
_ITEMS = 4_000
_IN_RANGE = 1e-100, 1e100  # sizes whose squares can be summed
_BLOCK = 1 << 22  # entries compared at once


@dataclass(frozen=True)
class Certificate:
    """The error of an approximation, estimated on held-out random pairs.

    Attributes
    ----------
    relative_error
        ‖K − K̃‖ / ‖K‖ over all distinct pairs, in the Frobenius norm. Entries that
        were read are returned exactly and count with no error. NaN where too few
        pairs were held out to say anything.
    interval
        95 % interval for it.
    r2
        Share of the entries' variance that is explained: 1 is perfect, 0 is what
        predicting the mean achieves, below 0 is worse than that.
    pairs
        Number of held-out pairs, drawn uniformly from those that were not read.
    unread
        Share of the distinct pairs that are predicted, not read.

    Examples
    --------
    >>> import numpy as np, fewpairs as fp
    >>> K = np.random.default_rng(0).random((300, 300))
    >>> certificate = fp.approximate(None, K + K.T).certificate
    >>> low, high = certificate.interval
    >>> low <= certificate.relative_error <= high
    True
    """

    relative_error: float
    interval: tuple[float, float]
    r2: float
    pairs: int
    unread: float

    def __str__(self) -> str:
        if math.isnan(self.relative_error):
            return (
                f"not certified: {self.pairs} held-out pairs are too few, or the "
                "values out of range"
            )
        low, high = self.interval
        if not self.unread:
            exact = f"relative error {self.relative_error:.4g}, exactly"
            return f"{exact} (all pairs were read)"
        return (
            f"relative error {self.relative_error:.4g}, 95 % interval {low:.4g} to "
            f"{high:.4g}; R² {self.r2:.3f} ({self.pairs:,} held-out pairs)"
        )


def pairs_for(allowance: int, calls: int) -> int:
    """Return how many pairs to hold out of a budget: a tenth, at most 5,000."""
    return min(_MOST_PAIRS, math.floor(_SHARE * allowance / calls))


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Pairs that a fit never saw: read, and judged when a certificate is asked for.

    Attributes
    ----------
    i, j, truth
        The pairs and their values.
    before
        Moments of what had been read when they were drawn.
    rng
        For the judgement's own draws.
    verdict
        What was judged before, where these pairs were saved and loaded.
    """

    i: Indices
    j: Indices
    truth: NDArray[np.float64]
    before: Moments
    rng: np.random.Generator
    verdict: Certificate | None = None

    def judge(self, model: Model, read: Entries) -> Certificate:
        """Compare the pairs with their predictions."""
        if self.verdict is not None:
            return self.verdict
        truth, rng = self.truth, self.rng
        # A CUR of a symmetric matrix is not symmetric: both triangles must be seen.
        swap = (rng.random(len(truth)) < 0.5) & read.symmetric
        i, j = np.where(swap, self.j, self.i), np.where(swap, self.i, self.j)
        guess = model.pairs(i, j)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            held = _held_badly(truth, truth - guess, truth)
            unseen = _unseen_values(truth, held, model, read, self.before)
            unseen += held * _unseen_predictions(guess, truth, model, read, rng)
        return _estimate(truth, truth - guess, self.before, read.pairs, unseen)


def hold_out(oracle: Oracle, size: int, rng: np.random.Generator) -> HeldOut:
    """Read ``size`` random unread pairs.

    They are drawn after the fit, from those that it did not read, so it cannot have
    used them. They become exact entries of the result themselves.
    """
    before = oracle.read.moments()
    i, j = oracle.read.sample_unknown(size, rng)
    return HeldOut(i, j, oracle.pairs(i, j), before, rng)


def _estimate(
    truth: NDArray[np.float64],
    errors: NDArray[np.float64],
    read: Moments,
    everything: int,
    unseen: float,
) -> Certificate:
    """Add up what is known of read pairs and what held-out ones say of the rest."""
    m = len(truth)
    unread = everything - read.number
    if unread == m:  # nothing is left to predict
        return Certificate(0.0, (0.0, 0.0), 1.0, m, 0.0)
    nothing = Certificate(
        math.nan, (0.0, math.inf), math.nan, m, (unread - m) / everything
    )
    if m < min(_FEWEST_PAIRS, unread):
        return nothing
    with np.errstate(over="ignore", under="ignore"):
        squared, power = errors**2, truth**2
        # The held-out pairs are exact in the result; they stand for the others.
        off = (unread - m) * float(squared.mean())
        norm = read.squares + unread * float(power.mean())
    # Values whose squares leave the range of float64 cannot be judged.
    if not math.isfinite(off + norm) or (norm < _TINY and truth.any()):
        return nothing
    mean = (read.total + unread * float(truth.mean())) / everything
    spread = norm - everything * mean**2
    r2 = 1.0 - off / spread if spread > 0 else (1.0 if off == 0 else -math.inf)
    relative = math.sqrt(off / norm) if norm > 0 else 0.0
    low, high = 0.0, relative
    if off > 0:
        low, high = _interval(squared, power, unread, norm, relative)
    if norm > 0:
        high = math.sqrt(high**2 + unseen / norm)
    return Certificate(relative, (low, high), r2, m, (unread - m) / everything)


# Errors may sit in so few pairs that a sample holds none of them, and then says
# nothing of them: near-duplicates (values that no low rank holds), and predictions
# of a method that explodes. Both can be seen without paying: landmarks have been
# compared with all items, and predictions are free. What lies farther from the mean
# than anything in the sample is added to the upper end of the interval.


def _held_badly(
    values: NDArray[np.float64],
    errors: NDArray[np.float64],
    truth: NDArray[np.float64],
) -> float:
    """Return which share of the squares of far values predictions may miss, up to 1.

    From the worst of the values farthest from the mean, with a factor of ten in hand.
    A spike that no low rank holds is missed entirely; where even the worst is tiny,
    the matrix is held as a whole.
    """
    distance = np.abs(values - truth.mean()) if len(truth) else np.zeros(0)
    kth = max(0, len(distance) - _FAR)
    far = np.argpartition(distance, kth)[kth:] if len(distance) else distance[:0]
    if not len(far) or distance[far].min() == 0:
        return 1.0
    worst = float(np.max(np.abs(errors[far]) / distance[far]))
    return min(1.0, (10 * worst) ** 2)


def _unseen_values(
    truth: NDArray[np.float64],
    held_badly: float,
    model: Model,
    read: Entries,
    before: Moments,
) -> float:
    """Return the squares that true values beyond all held-out ones may add.

    They count as predicted by the mean where far values are held badly, in the sample
    or by the factors themselves.
    """
    if not len(truth):
        return 0.0
    mean = float(truth.mean())
    radius = float(np.abs(truth - mean).max())
    i, j, values, looked_at = far_line_entries(read, mean, radius)
    if not len(values):
        return 0.0
    squares = float(np.sum((values - mean) ** 2))
    some = slice(None, None, max(1, len(values) // _DRAWS))
    residual = values[some] - model.pairs(i[some], j[some])
    share = max(held_badly, _held_badly(values[some], residual, truth))
    return share * (read.pairs - before.number) * squares / looked_at


def _unseen_predictions(
    guess: NDArray[Any],
    truth: NDArray[np.float64],
    model: Model,
    read: Entries,
    rng: np.random.Generator,
) -> float:
    """Return the squares that predictions beyond all held-out ones may add.

    Σ (p − mean)² over such pairs, by importance sampling: a pair (i, j) is drawn with
    probability ‖lᵢ‖²‖rⱼ‖² / (‖L‖²‖R‖²), which bounds its share of Σ p². Of many items a
    sample of both sides stands for all.
    """
    if not len(truth):
        return 0.0
    some = rng.permutation(read.n)[:_ITEMS]
    norms = model.row_norms(some)
    sums = [np.cumsum(squares) for squares in norms]
    drawn = [
        np.minimum(np.searchsorted(s, s[-1] * rng.random(_DRAWS)), len(some) - 1)
        for s in sums
    ]
    if min(total[-1] for total in sums) <= 0:
        return 0.0
    mean = truth.mean()
    i, j = some[drawn[0]], some[drawn[1]]
    p = model.pairs(i, j).astype(np.float64)
    unread = ~read.lookup(i, j)[0] & (i != j)
    beyond = unread & (np.abs(p - mean) > np.abs(guess - mean).max())
    chance = norms[0][drawn[0]] / sums[0][-1] * norms[1][drawn[1]] / sums[1][-1]
    total = float(np.sum((p[beyond] - mean) ** 2 / chance[beyond])) / _DRAWS
    total *= (read.n / len(some)) ** 2
    return total / 2 if read.symmetric else total


def _interval(
    squared: NDArray[np.float64],
    truth: NDArray[np.float64],
    unread: int,
    norm: float,
    relative: float,
) -> tuple[float, float]:
    """Return a 95 % interval for the ratio of two estimated sums of squares.

    log(ratio) is linear in z = e²/mean(e²) − N·k²/‖K‖² to first order. Squared errors
    have heavy tails (a few near-duplicates carry most of them), so two intervals
    that fail differently are joined: Student's t on the log scale with the degrees
    of freedom that the kurtosis of z leaves to the variance estimate (Box 1953), and
    Hall's (1992) transformation, which removes the skewness.
    """
    from scipy import special  # takes a tenth of a second

    m = len(squared)
    z = squared / squared.mean() - unread * truth / norm
    z = z - z.mean()
    variance = float(z @ z) / (m - 1)
    if variance == 0:
        return relative, relative
    kurtosis = float(np.mean(z**4)) / variance**2
    freedom = max(1.0, 2 * m / max(kurtosis - 1 + 2 * m / (m - 1), 1e-9))
    # Without replacement: nothing is left to estimate once all pairs are held out.
    error = math.sqrt(variance / m * max(0.0, 1 - m / unread))
    t = float(special.stdtrit(freedom, 0.975))
    low = relative * math.exp(-0.5 * t * error)
    high = relative * math.exp(0.5 * t * error)

    skewness = float(np.mean(z**3)) / variance**1.5
    quantile = float(special.ndtri(0.975))
    bounds = [1 - _hall(side * quantile, skewness, m) * error for side in (1, -1)]
    low = min(low, relative * math.sqrt(max(bounds[0], 0.0)))
    high = max(high, relative * math.sqrt(max(bounds[1], 0.0)))
    return low, high


def _hall(quantile: float, skewness: float, m: int) -> float:
    """Return the quantile of a studentized mean under Hall's cubic transformation."""
    if abs(skewness) < 1e-6:
        return quantile
    root = math.sqrt(m)
    inner = 1 + skewness * (quantile / root - skewness / (6 * m))
    return float((np.cbrt(inner) - 1) * root * 3 / skewness)


def _true_rows(known: Entries) -> Iterator[tuple[Indices, NDArray[np.float64]]]:
    """Yield rows of a matrix that was read as a whole; the diagonal, no pair, is 0."""
    everything = np.arange(known.n)
    step = max(1, _BLOCK // known.n)
    for start in range(0, known.n, step):
        rows = everything[start : start + step]
        truth = np.empty((len(rows), known.n))
        known.overlay(truth, rows, everything)
        truth[np.arange(len(rows)), rows] = 0.0
        yield rows, truth


def exact_certificate(known: Entries, model: Model) -> Certificate:
    """Return the true error of factors for a matrix that was read as a whole."""
    off = squares = total = 0.0
    size = max((float(np.abs(t).max()) for _, t in _true_rows(known)), default=0.0)
    unit = 1.0 if size == 0 or _IN_RANGE[0] < size < _IN_RANGE[1] else size
    for rows, truth in _true_rows(known):
        errors = truth - model.block(rows, np.arange(known.n))
        errors[np.arange(len(rows)), rows] = 0.0
        with np.errstate(over="ignore"):  # infinitely far off
            off += float(np.sum((errors / unit) ** 2))
        squares += float(np.sum((truth / unit) ** 2))
        total += float(np.sum(truth / unit))
    spread = squares - total**2 / max(known.n * (known.n - 1), 1)
    relative = math.sqrt(off / squares) if squares > 0 else 0.0
    r2 = 1.0 - off / spread if spread > 0 else 1.0
    return Certificate(relative, (relative, relative), r2, 0, 0.0)
