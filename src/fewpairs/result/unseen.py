"""Unseen: what random pairs cannot show, and how much of it there can be.

Errors may sit in so few pairs that a sample holds none of them. What can be known of
them without paying: landmarks have been compared with all items, so their columns are a
second, larger sample of the values, and so are pairs that a fit drew at random to learn
from; and where nothing was seen among m random pairs, at most 3.7 in m can be there (19
times in 20). What predictions say, which are free, is in `predictions`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewpairs.matrix.entries import Entries
from fewpairs.matrix.moments import FarEntries, far_line_entries
from fewpairs.methods.auto.spending import GUARD, UNIFORM
from fewpairs.model.model import Model
from fewpairs.result.interval import upper_count

__all__ = ["Seen", "held_badly", "look", "rare_values"]

_DRAWS = 1_000
_FAR = 10
_CARRIES = 0.1  # share of the differences that one pair must not carry
_LONELY = 1.5  # times as large as the third largest square
_SAME = 1e-12

Array = NDArray[np.float64]


class Seen(NamedTuple):
    """What random pairs, held-out ones, landmarks' columns and the fit's, show.

    Attributes
    ----------
    center, radius
        Mean of the held-out values, and how far from it they go.
    reach
        How far from it a value can lie: what was read anywhere, and declared bounds.
    far
        Entries of columns beyond the radius.
    number, squares, largest
        Of all these values: how many, the sum of their squared distances from the
        center, and the three largest of these.
    """

    center: float
    radius: float
    reach: float
    far: FarEntries
    number: int
    squares: float
    largest: Array

    def doubt(self, badly: float) -> str:
        """Return why random pairs can tell nothing of the rest; empty if they can.

        A sum of squares of which the largest term is a tenth has no interval: those
        not seen may be larger still. Unless there are several of the same size, as
        near-duplicates are; and unless predictions hold the farthest values.
        """
        if self.squares <= self.number * (_SAME * self.center) ** 2:
            return (
                f"no two of {self.number:,} random pairs differ, "
                "and rarer ones that do may be what matters"
            )
        share = float(self.largest[0]) / self.squares
        lonely = self.largest[0] > _LONELY * self.largest[-1]
        if lonely and share > _CARRIES + 10 / self.number and badly > 0.01:
            return (
                f"few pairs carry the differences (one of {self.number:,} random pairs "
                f"has {share:.0%} of them), and larger ones may be among those not read"
            )
        return ""


def look(truth: Array, read: Entries, bounds: tuple[float, float] | None) -> Seen:
    """Look at everything that was read, from the center of held-out values."""
    center = float(truth.mean())
    apart = np.abs(truth - center)
    radius = float(apart.max())
    far = _joined(
        far_line_entries(read, center, radius), _far_random(read, center, radius)
    )
    i, j, scattered = read.uncovered()
    reach = max(
        radius,
        float(np.abs(far.values - center).max(initial=0.0)),
        float(np.abs(scattered[i != j] - center).max(initial=0.0)),
        *(abs(bound - center) for bound in bounds or ()),
    )
    squares = np.concatenate([apart**2, (far.values - center) ** 2])
    largest = np.sort(squares)[::-1][:3]
    total = float(np.sum(apart**2)) + far.squares
    number = len(truth) + far.looked_at
    return Seen(center, radius, reach, far, number, total, largest)


def _far_random(read: Entries, center: float, radius: float) -> FarEntries:
    """Return the far ones of the pairs that the fit drew uniformly, and looked at."""
    keys = [read.drawn[kind] for kind in (UNIFORM, GUARD) if kind in read.drawn]
    i, j = read.ends(np.unique(np.concatenate([np.empty(0, dtype=np.int64), *keys])))
    known, values = read.lookup(i, j)
    i, j, values = i[known], j[known], values[known]
    apart = values - center
    out = np.abs(apart) > radius
    return FarEntries(i[out], j[out], values[out], len(i), float(apart @ apart))


def _joined(one: FarEntries, other: FarEntries) -> FarEntries:
    return FarEntries(
        np.concatenate([one.i, other.i]),
        np.concatenate([one.j, other.j]),
        np.concatenate([one.values, other.values]),
        one.looked_at + other.looked_at,
        one.squares + other.squares,
    )


def held_badly(values: Array, errors: Array, center: float) -> float:
    """Return which share of the squares of far values predictions may miss, up to 1.

    From the worst of the values farthest from the mean, with a factor of ten in hand.
    A spike that no low rank holds is missed entirely; where even the worst is tiny,
    the matrix is held as a whole.
    """
    distance = np.abs(values - center)
    kth = max(0, len(distance) - _FAR)
    far = np.argpartition(distance, kth)[kth:] if len(distance) else distance[:0]
    if not len(far) or distance[far].min() == 0:
        return 1.0
    worst = float(np.max(np.abs(errors[far]) / distance[far]))
    return min(1.0, (10 * worst) ** 2)


class Rare(NamedTuple):
    """Values beyond all held-out ones that may be among the unread pairs, at most.

    Attributes
    ----------
    errors
        What they may add to the squared errors.
    least, most
        What they then add to the squared values, at least; and what they may add where
        they are predicted well.
    """

    errors: float
    least: float
    most: float


def rare_values(
    seen: Seen, model: Model, read: Entries, *, badly: float, unread: int, held: int
) -> Rare:
    """Count the values beyond all held-out ones that may be hidden.

    As often as columns have them, at most, and no oftener than none of the held-out
    pairs allows; where columns have none, as far as anything that was read or declared.
    What was read of them since, one by one, is taken off.
    They count as predicted by the mean where far values are held badly, in the sample
    or by the model itself.
    """
    center, far = seen.center, seen.far
    hits = len(far.values)
    each = seen.reach**2
    if hits:
        some = slice(None, None, max(1, hits // _DRAWS))
        residual = far.values[some] - model.pairs(far.i[some], far.j[some])
        badly = max(badly, held_badly(far.values[some], residual, center))
        each = float(np.mean((far.values - center) ** 2))
    if each == 0:
        return Rare(0.0, 0.0, 0.0)
    i, j, found = read.uncovered()
    found = found[i != j]
    beyond = found[np.abs(found - center) > seen.radius]
    outside = unread + len(found) - held
    most = outside * upper_count(hits) / seen.number * each
    rest = max(0.0, most - float(np.sum((beyond - center) ** 2)))
    if hits:
        rest = min(rest, outside / seen.number * _largest(seen, unread, outside, held))
        edge = 1.2 * float(np.abs(far.values - center).max())
        if seen.reach > edge:  # declared, or read
            most = outside * upper_count(0) / seen.number * seen.reach**2
            there = found[np.abs(found - center) > edge]
            rest += max(0.0, most - float(np.sum((there - center) ** 2)))
    ratio = abs(center) / each**0.5
    least = badly * rest * max(0.0, 1 - ratio) ** 2
    return Rare(badly * rest, least, rest * (1 + ratio) ** 2)


def _largest(seen: Seen, unread: int, outside: int, held: int) -> float:
    """Sum as many squares as no held-out pair allows, of the largest in columns.

    Each like the upper half of those: how many of the largest there are is known from
    as few as were seen.
    """
    number = upper_count(0) / held * unread / outside * seen.number
    squares = np.sort((seen.far.values - seen.center) ** 2)[::-1]
    return number * float(squares[: int(np.ceil(number / 2))].mean())
