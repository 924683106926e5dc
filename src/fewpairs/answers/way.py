"""Way: whether all pairs were read, or some of them, and why."""

from dataclasses import dataclass

from fewpairs.result.bill import duration

__all__ = ["Way", "choose_way"]

_QUICK = 60.0  # seconds that reading all pairs may take, whatever else is quicker


@dataclass(frozen=True)
class Way:
    """Which way a job was done: all pairs, or an approximation of them.

    Attributes
    ----------
    exact
        Whether all pairs were read.
    why
        What decided it, in words.
    exact_seconds, approximate_seconds
        What both ways were predicted to take; ``None`` where the budget decided.
    """

    exact: bool
    why: str
    exact_seconds: float | None = None
    approximate_seconds: float | None = None

    def __str__(self) -> str:
        return f"{'all pairs' if self.exact else 'approximated'}: {self.why}"


def choose_way(
    exact_seconds: float, approximate_seconds: float, evaluations: int
) -> Way:
    """Choose by what both ways take; within a minute, what is exact.

    Examples
    --------
    >>> from fewpairs.answers.way import choose_way
    >>> print(choose_way(12.0, 3.0, 5_000_000))
    all pairs: 5,000,000 evaluations take about 12 s, less than a minute
    >>> choose_way(500.0, 90.0, 5_000_000).exact
    False
    """
    exact = f"{evaluations:,} evaluations take about {duration(exact_seconds)}"
    other = f"approximating them takes about {duration(approximate_seconds)}"
    if exact_seconds < _QUICK:
        why = f"{exact}, less than a minute"
    elif exact_seconds <= approximate_seconds:
        why = f"{exact}, and {other}"
    else:
        why = f"all {exact}, {other}"
    taken = exact_seconds < _QUICK or exact_seconds <= approximate_seconds
    return Way(taken, why, exact_seconds, approximate_seconds)
