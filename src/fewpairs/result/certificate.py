"""Certificate: how far an approximation can be off, from pairs it never saw."""

import copy
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.cards import card
from fewpairs.kernels.linalg.blas_threads import single_threaded
from fewpairs.matrix.entries import Entries
from fewpairs.matrix.moments import Moments
from fewpairs.methods.auto.spending import HELD, renew
from fewpairs.model.model import Model
from fewpairs.reading.oracle import Oracle
from fewpairs.result.weighing import CANCELED, Sample, weigh
from fewpairs.types import Indices

__all__ = [
    "HELD_OUT",
    "Certificate",
    "HeldOut",
    "exact_certificate",
    "hold_out",
    "pairs_for",
]

HELD_OUT = "held out"  # why pairs of a matrix that grows are set aside

# Of a budget: a tenth, but no more than so many pairs and a share beyond them (2,000
# pairs tell R² to about .01, and what they take is missing where little is read), and
# never more than the last.
_SHARE, _ENOUGH_PAIRS, _SHARE_BEYOND = 0.1, 1_000, 0.02
_MOST_PAIRS = 5_000
_FEWEST_PAIRS = 10
_IN_RANGE = 1e-100, 1e100  # sizes whose squares can be summed
_USELESS = 0.05  # R² that no answer should rest on
_BLOCK = 1 << 22  # entries compared at once


@dataclass(frozen=True)
class Certificate:
    """The error of an approximation, estimated on held-out random pairs.

    The interval holds 19 times in 20. Errors go with what is predicted, and predictions
    are known of all pairs: what held-out ones have too many of is put right (the
    regression estimator). Its upper end is that of a sample, and no lower than what the
    sample cannot exclude: where m held-out pairs are all predicted well,
    up to 3.7 in m of the others may not be; values rarer than that are as frequent as
    in the landmarks' columns, and reach as far as anything read or declared (`bounds`).
    Where that says nothing (no two pairs that were read differ, or single pairs carry
    what differs, as where values have no variance), it cannot tell: ``doubt`` says why,
    and the interval is (0, ∞).

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
    doubt
        Why it cannot tell; empty where it can. Error and R² are then those of the
        held-out pairs, and may be far from those of all.

    Examples
    --------
    >>> import numpy as np, fewpairs as fp
    >>> K = np.random.default_rng(0).random((300, 300))
    >>> certificate = fp.approximate(None, K + K.T).certificate
    >>> low, high = certificate.interval
    >>> low <= certificate.relative_error <= high
    True
    >>> sparse = np.eye(300)
    >>> certificate = fp.approximate(None, sparse).certificate
    >>> certificate.tells, certificate.interval
    (False, (0.0, inf))
    """

    relative_error: float
    interval: tuple[float, float]
    r2: float
    pairs: int
    unread: float
    doubt: str = ""

    @property
    def tells(self) -> bool:
        """Whether the interval is one: there were pairs enough, and they are alike."""
        return not self.doubt and not math.isnan(self.relative_error)

    @property
    def worth(self) -> str:
        """R² in words: what a person can judge before any norm.

        >>> Certificate(0.045, (0.04, 0.05), 0.002, 1_600, 0.9).worth
        'explains 0.2 % of the differences: do not use it'
        >>> Certificate(0.1, (0.09, 0.11), 0.91, 5_000, 0.9).worth
        'explains 91 % of the differences (at least 89 %)'
        """
        if not self.tells:
            return "cannot tell" if self.doubt else "not known"
        if not self.unread and self.relative_error == 0:
            return "exact: all pairs were read"
        words = f"explains {_percent(self.r2)} of the differences"
        if self.r2 < 0:
            words = "explains none of the differences, the mean is better"
        # What was read is explained; the rest should be too.
        of_unread = 1 - (1 - self.r2) / self.unread if self.unread else self.r2
        least = self._least()
        if of_unread < _USELESS:
            return f"{words}: do not use it"
        if least is not None and least <= 0:
            return f"{words}, and perhaps none: the interval is wide"
        return words if least is None else f"{words} (at least {_percent(least)})"

    def _least(self) -> float | None:
        """Return R² at the upper end of the interval, where that can be had."""
        error = self.relative_error
        if not self.unread or error == 0 or 1 - self.r2 < CANCELED:
            return None
        return 1 - (1 - self.r2) * (self.interval[1] / error) ** 2

    def _repr_html_(self) -> str:
        return card(f"{self.worth}\n  {self}")

    def __str__(self) -> str:
        if math.isnan(self.relative_error):
            return (
                f"not certified: {self.pairs} held-out pairs are too few, or the "
                "values out of range"
            )
        held_out = f"({self.pairs:,} held-out pairs)"
        if self.doubt:
            seen = f"{self.relative_error:.4g} on what was seen"
            return f"cannot tell: {self.doubt}; relative error {seen} {held_out}"
        low, high = self.interval
        if not self.unread:
            exact = f"relative error {self.relative_error:.4g}, exactly"
            return f"{exact} (all pairs were read)"
        return (
            f"relative error {self.relative_error:.4g}, 95 % interval {low:.4g} to "
            f"{high:.4g}; R² {self.r2:.3f} {held_out}"
        )


def _percent(share: float) -> str:
    """Return a percentage, with a decimal near the ends, never rounded up to 100."""
    part = 100 * share
    if part < 1 or part > 99:
        tenths = math.floor(10 * part) if part > 99 else round(10 * part)
        return f"{tenths / 10:.1f} %"
    return f"{part:.0f} %"


def pairs_for(allowance: int, calls: int) -> int:
    """Return how many pairs to hold out of a budget.

    A tenth of it, at most 1,000 and a fiftieth of it, and never more than 5,000.
    """
    pairs = allowance / calls
    beyond = _ENOUGH_PAIRS + _SHARE_BEYOND * pairs
    return min(_MOST_PAIRS, math.floor(min(_SHARE * pairs, beyond)))


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
    bounds
        Smallest and largest value, where they are declared.
    """

    i: Indices
    j: Indices
    truth: NDArray[np.float64]
    before: Moments
    rng: np.random.Generator
    verdict: Certificate | None = None
    bounds: tuple[float, float] | None = None

    def judge(self, model: Model, read: Entries) -> Certificate:
        """Compare the pairs with their predictions."""
        if self.verdict is not None:
            return self.verdict
        m, unread = len(self.truth), read.pairs - self.before.number
        if unread == m:  # nothing is left to predict
            return Certificate(0.0, (0.0, 0.0), 1.0, m, 0.0)
        share = (unread - m) / read.pairs
        if m < min(_FEWEST_PAIRS, unread):
            return Certificate(math.nan, (0.0, math.inf), math.nan, m, share)
        rng = copy.deepcopy(self.rng)  # asked again, it says the same
        # A CUR of a symmetric matrix is not symmetric: both triangles must be seen.
        swap = (rng.random(m) < 0.5) & read.symmetric
        i, j = np.where(swap, self.j, self.i), np.where(swap, self.i, self.j)
        guess = model.pairs(i, j).astype(np.float64)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            found = weigh(
                Sample(self.truth, guess, self.before, self.bounds), model, read, rng
            )
        relative, interval, r2, doubt = found
        return Certificate(relative, interval, r2, m, share, doubt)


@single_threaded()  # small sums; threads that were woken for one spin for long after
def hold_out(
    oracle: Oracle,
    size: int,
    rng: np.random.Generator,
    *,
    bounds: tuple[float, float] | None = None,
) -> HeldOut:
    """Read ``size`` random unread pairs.

    They are drawn after the fit, from those that it did not read, so it cannot have
    used them. They become exact entries of the result themselves. Where a matrix has
    grown they are pairs with new items; those of old items that were held out before,
    which no fit has seen, go with them, as many for each unread pair.
    """
    read = oracle.read
    earlier = read.earlier
    i, j = read.sample_unknown(size, rng)
    if earlier is None:
        before = read.moments()
        i, j, truth = oracle.pairs_that_fit(i, j)
        renew(read, HELD, i, j)
        return HeldOut(i, j, truth, before, rng, bounds=bounds)
    none = i[:0], i[:0], np.empty(0)
    kept, rest = earlier.part(earlier.aside.pop(HELD_OUT, none), read, len(i), rng)
    for sample in (rest, *earlier.aside.values()):
        earlier.put_back(read, sample)
    before = read.moments()
    both = oracle.pairs_that_fit(i, j), kept
    i, j, truth = (np.concatenate(side) for side in zip(*both, strict=True))
    earlier.put_back(read, kept)
    renew(read, HELD, i, j)
    read.earlier = None  # any pair may be read from here on
    return HeldOut(i, j, truth, before, rng, bounds=bounds)


def _true_rows(known: Entries) -> Iterator[tuple[Indices, NDArray[np.float64]]]:
    """Yield rows of a matrix that was read as a whole; the diagonal, no pair, is 0.

    Nor is what is within a side of two sets.
    """
    everything = np.arange(known.n)
    step = max(1, _BLOCK // known.n)
    for start in range(0, known.n, step):
        rows = everything[start : start + step]
        truth = np.empty((len(rows), known.n))
        known.overlay(truth, rows, everything)
        truth[np.arange(len(rows)), rows] = 0.0
        yield rows, truth


def _blanked(known: Entries, rows: Indices, errors: NDArray[Any]) -> NDArray[Any]:
    """Return errors of whole rows, 0 where there is no pair."""
    errors[np.arange(len(rows)), rows] = 0.0
    if known.sides is not None:
        known.sides.blank(errors, rows)
    return errors


def exact_certificate(known: Entries, model: Model) -> Certificate:
    """Return the true error of factors for a matrix that was read as a whole."""
    off = squares = total = 0.0
    size = max((float(np.abs(t).max()) for _, t in _true_rows(known)), default=0.0)
    unit = 1.0 if size == 0 or _IN_RANGE[0] < size < _IN_RANGE[1] else size
    for rows, truth in _true_rows(known):
        guess = model.block(rows, np.arange(known.n))
        errors = _blanked(known, rows, truth - guess)
        with np.errstate(over="ignore"):  # infinitely far off
            off += float(np.sum((errors / unit) ** 2))
        squares += float(np.sum((truth / unit) ** 2))
        total += float(np.sum(truth / unit))
    # Mirrors were added up, too, where there are any.
    spread = squares - total**2 / max(known.pairs * (1 + known.symmetric), 1)
    relative = math.sqrt(off / squares) if squares > 0 else 0.0
    r2 = 1.0 - off / spread if spread > 0 else 1.0
    return Certificate(relative, (relative, relative), r2, 0, 0.0)
