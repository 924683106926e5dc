"""Expectation: what a number of pairs per item may reach, before any is paid for."""

from dataclasses import dataclass
from math import log

from fewpairs.matrix.budget import DEFAULT_BUDGET, Budget
from fewpairs.matrix.cost import Cost
from fewpairs.reading.timing import Rates
from fewpairs.result.bill import duration
from fewpairs.run.measured import CURVES, Measured, Reached

__all__ = ["Expectation", "approximating_seconds", "exact_seconds", "expect", "shares"]

# Seconds per item that answering by an approximation takes, on two cores.
_ANSWERING = 4e-4
# And computing, where there is no curve.
_COMPUTING = 1e-3
_MANY = 10_000  # items; below and above, other data sets are the nearer ones

Range = tuple[float, float]


@dataclass(frozen=True)
class Expectation:
    """What to expect of a budget: the range of what the benchmark's data sets reached.

    They have embeddings as prior; other items may do better or worse.

    Attributes
    ----------
    recall, r2
        Share of every item's 10 most similar that is found, and R² of all pairs.
    computing
        Seconds outside the similarity, on two cores.
    source
        Where this is from; ``python -m benchmarks few`` measures it.
    """

    recall: Range
    r2: Range
    computing: Range
    source: str

    def __str__(self) -> str:
        return (
            f"{shares(self.recall)} of every item's 10 most similar found, "
            f"{shares(self.r2)} of the differences explained ({self.source})"
        )

    @property
    def computing_in_words(self) -> str:
        """Seconds outside the similarity, as a range."""
        low, high = map(duration, self.computing)
        return low if low == high else f"{low} to {high}"


def expect(n: int, per_item: float) -> Expectation | None:
    """Return what the default is likely to reach, or ``None`` where nothing is known.

    Curves of data sets of about the same size are read at ``per_item``, on a
    logarithmic scale; beyond their last point they stay as they are. Below one pair per
    item there are none.

    Examples
    --------
    >>> from fewpairs.run.expectation import expect
    >>> expect(3_000, 50).recall < expect(3_000, 100).recall
    True
    >>> expect(3_000, 0.5) is None
    True
    """
    alike = [curve for curve in CURVES if (curve.items >= _MANY) == (n >= _MANY)]
    found = [(curve, _at(curve, per_item)) for curve in alike or CURVES]
    points = [point for _, point in found if point is not None]
    if not points:
        return None
    names = ", ".join(f"{c.name} {c.items:,}" for c, point in found if point)
    low, high = _around([point.computing for point in points])
    return Expectation(
        recall=_around([point.recall for point in points]),
        r2=_around([point.r2 for point in points]),
        computing=(low * n, high * n),
        source=f"as measured with embeddings as prior: {names} items",
    )


def exact_seconds(rates: Rates, evaluations: int) -> float:
    """Return what a pass over all pairs takes.

    >>> from fewpairs.reading.timing import Rates
    >>> round(exact_seconds(Rates(tile=8e-9, pair=1e-6, all_pairs=8e-9), 10**9))
    12
    """
    return (rates.all_pairs + rates.taking) * evaluations


def approximating_seconds(
    cost: Cost, rates: Rates, budget: Budget | None = None
) -> float:
    """Return what the default takes to approximate, and to answer once.

    Evaluating, pair by pair; and the least of what computing took on data sets of about
    this size, without training: that is done where evaluations are slow, and then takes
    a part of their time.

    Examples
    --------
    >>> from fewpairs.matrix.cost import Cost
    >>> from fewpairs.reading.timing import Rates
    >>> from fewpairs.run.expectation import approximating_seconds
    >>> cost = Cost(2_000, symmetric=True, calls=1, free_diagonal=True)
    >>> round(approximating_seconds(cost, Rates(0.01, 0.01, 0.01)))
    502
    """
    limit = (budget or Budget.of(DEFAULT_BUDGET, "budget")).limit(cost)
    evaluations = cost.everything() if limit is None else min(limit, cost.everything())
    expected = expect(cost.n, cost.per_item(evaluations))
    low = _COMPUTING * cost.n if expected is None else expected.computing[0]
    return evaluations * rates.pair + low + _ANSWERING * cost.n


def _at(curve: Measured, per_item: float) -> Reached | None:
    """Return a curve's value between its points."""
    points = curve.points
    if per_item < points[0].per_item:
        return None
    above = [point for point in points if point.per_item >= per_item]
    if not above:
        return points[-1]
    after, before = above[0], points[max(0, len(points) - len(above) - 1)]
    if after.per_item == per_item:
        return after
    part = log(per_item / before.per_item) / log(after.per_item / before.per_item)

    def between(a: Range, b: Range) -> Range:
        return a[0] + part * (b[0] - a[0]), a[1] + part * (b[1] - a[1])

    return Reached(
        per_item,
        between(before.recall, after.recall),
        between(before.r2, after.r2),
        between(before.computing, after.computing),
    )


def _around(ranges: list[Range]) -> Range:
    return min(low for low, _ in ranges), max(high for _, high in ranges)


def shares(given: Range) -> str:
    """Return a range in per cent.

    >>> shares((0.42, 0.6)), shares((-0.01, 0.001))
    ('42 to 60 %', '0 %')
    """
    low, high = (f"{100 * max(0.0, value):.0f}" for value in given)
    return f"{low} %" if low == high else f"{low} to {high} %"
