"""The recall of neighbors: how many of the true ones were found, on average."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewpairs.answers.front import Front
from fewpairs.checks import check_choice, check_number
from fewpairs.errors import BudgetError, InputError
from fewpairs.kernels.statistics.means import mean_interval
from fewpairs.kernels.statistics.ordered import missing_at_most
from fewpairs.reading.oracle import Oracle
from fewpairs.result.approximation import Approximation
from fewpairs.types import Indices

__all__ = ["Asked", "Figures", "by_candidates", "by_rows", "check_recall"]

_ROWS = 200  # read as a whole, at most
_ITEMS = 2_000  # whose candidates are read, at most
_NEXT = 4  # times k candidates of each are read
_FEWEST = 32  # and at least so many
_SAMPLE = 0.2  # part of the evaluations for what is behind the candidates

Figures = tuple[float, tuple[float, float], int]


class Asked(NamedTuple):
    """Whose neighbors were found, and what may be spent on how many are missing.

    Attributes
    ----------
    call
        For messages.
    indices
        (n, k) positions among the others.
    items, others
        Those that look and those that are found, on the axis of all items.
    evaluations, delta
        Limit; how often the interval may fail.
    """

    call: str
    indices: Indices
    items: Indices
    others: Indices
    evaluations: int
    delta: float

    def found(self, item: int) -> Indices:
        """Return the neighbors of an item, on the axis of all."""
        mine: Indices = self.others[self.indices[item - self.items[0]]]
        return mine


def check_recall(
    call: str, recall: Any, delta: Any, evaluations: int, of: str
) -> Callable[[Approximation, Asked, np.random.Generator], Figures]:
    """Return what measures the recall, or say what is wrong with what was asked."""
    if recall is not None:
        check_choice(call, "recall", recall, ("rows", "candidates"))
        if not evaluations:
            msg = (
                f"{call}: recall={recall!r} without evaluations; pass how many may be "
                "made for it, such as evaluations=5_000."
            )
            raise InputError(msg)
    if recall == "candidates" and of == "others":
        msg = f"{call}: recall='candidates' goes with of='items'; pass recall='rows'."
        raise InputError(msg)
    risk = check_number(call, "delta", delta)
    if not 0 < risk < 1:
        msg = (
            f"{call}: delta is {risk:g}; pass how often the interval may be wrong, "
            "between 0 and 1, such as 0.05."
        )
        raise InputError(msg)
    return by_candidates if recall == "candidates" else by_rows


def by_rows(approx: Approximation, asked: Asked, rng: np.random.Generator) -> Figures:
    """Read rows of random items as a whole; the interval holds for any model."""
    k = asked.indices.shape[1]

    def share(oracle: Oracle, item: int) -> float:
        partners = asked.others[asked.others != item]
        line = oracle.pairs(np.full(len(partners), item), partners)
        mine = np.searchsorted(partners, asked.found(item))
        return _found(line[mine], line, k)

    shares, paid = _each(approx, asked, share, rng, most=_ROWS)
    return _whole(approx, asked, shares, lost=0.0, delta=asked.delta, paid=paid)


def by_candidates(
    approx: Approximation, asked: Asked, rng: np.random.Generator
) -> Figures:
    """Read what random items have next in the order of predictions, and a sample.

    The mean over items of what that shows has an interval of its own, with half of δ;
    the other half bounds what is missing behind: an unread pair more similar than one
    of the k returned is a match, and the bound is that of lists
    (`fewpairs.kernels.statistics.ordered`).
    """
    k = asked.indices.shape[1]
    depth = max(_FEWEST, _NEXT * k)
    behind: list[tuple[int, float, Indices]] = []
    hits: list[NDArray[np.bool_]] = []

    def share(oracle: Oracle, item: int) -> float:
        mine = asked.found(item)
        rest = np.setdiff1d(asked.others, np.append(mine, item))
        first = asked.others[0] if approx.known.sides is not None else 0
        order = np.argsort(-np.asarray(approx.row(item))[rest - first], kind="stable")
        rest = rest[order]
        ahead = np.concatenate([mine, rest[:depth]])
        values = oracle.pairs(np.full(len(ahead), item), ahead)
        least = float(values[:k].min())
        behind.append((item, least, rest[depth:]))
        hits.append(values[k:] > least)
        return _found(values[:k], values, k)

    part = asked._replace(evaluations=int((1 - _SAMPLE) * asked.evaluations))
    before = approx.reader("neighbors").charged
    shares, paid = _each(approx, part, share, rng, most=_ITEMS)
    # What a ledger has paid for counts: a run that goes on draws the same.
    left = asked.evaluations - (approx.reader("neighbors").charged - before)
    if not behind or not len(behind[0][2]):
        return _whole(approx, asked, shares, lost=0.0, delta=asked.delta, paid=paid)
    drawn, found, more = _sample(approx, behind, left, rng)
    # All items' next candidates, then all items' next ones: in the order of ranks.
    front = Front(np.stack(hits[: len(shares)]).T.ravel(), -np.inf)
    rest = sum(len(others) for *_, others in behind)
    reads = front.reads(len(front.hit), rest, drawn, found)
    missing = missing_at_most(reads, asked.delta / 2) + found
    lost = missing / (k * len(shares))
    paid, half = paid + more, asked.delta / 2
    return _whole(approx, asked, shares, lost=lost, delta=half, paid=paid)


def _sample(
    approx: Approximation,
    behind: list[tuple[int, float, Indices]],
    allowed: int,
    rng: np.random.Generator,
) -> tuple[int, int, int]:
    """Draw from what is behind the candidates; return draws, hits and calls."""
    reader = approx.reader("neighbors")
    ends = np.cumsum([len(others) for *_, others in behind])
    number = min(allowed // reader.calls, int(ends[-1]))
    place = rng.choice(int(ends[-1]), size=max(0, number), replace=False)
    which = np.searchsorted(ends, place, side="right")
    inside = place - np.append(0, ends)[which]
    i = np.array([behind[w][0] for w in which], dtype=np.int64)
    j = np.array(
        [behind[w][2][t] for w, t in zip(which, inside, strict=True)], dtype=np.int64
    )
    least = np.array([behind[w][1] for w in which])
    before = reader.evaluations
    values = reader.pairs(i, j) if len(i) else np.empty(0)
    return len(i), int((values > least).sum()), reader.evaluations - before


def _found(mine: NDArray[np.float64], line: NDArray[np.float64], k: int) -> float:
    """Return which share of an item's neighbors is among its k most similar."""
    least = np.partition(line, len(line) - k)[len(line) - k]
    return float((mine >= least).mean())


def _each(
    approx: Approximation,
    asked: Asked,
    share: Callable[[Oracle, int], float],
    rng: np.random.Generator,
    *,
    most: int,
) -> tuple[list[float], int]:
    """Look at random items, as far as the evaluations go; return shares and calls."""
    reader = approx.reader("neighbors")
    chosen = rng.permutation(_open(approx, asked))
    shares: list[float] = []
    before, needed = reader.evaluations, 0
    with reader.allow(asked.evaluations) as oracle:
        for item in chosen[:most].tolist():
            try:
                shares.append(share(oracle, item))
            except BudgetError as error:
                needed = error.needed
                break
    if len(shares) < min(2, len(chosen)):
        msg = (
            f"{asked.call}: {asked.evaluations:,} evaluations do not read two rows as "
            f"a whole; a row takes about {needed:,}. Pass more, or 0 for no estimate."
        )
        raise InputError(msg)
    return shares, reader.evaluations - before


def _open(approx: Approximation, asked: Asked) -> Indices:
    """Return the items of which not everything is known."""
    whole = approx.known.line_indices("columns" if approx.known.symmetric else "rows")
    return np.setdiff1d(asked.items, whole)


def _whole(
    approx: Approximation,
    asked: Asked,
    shares: list[float],
    *,
    lost: float,
    delta: float,
    paid: int,
) -> Figures:
    """Return figures of all items: of those known as a whole nothing is missed."""
    number = len(_open(approx, asked))
    if not number:
        return 1.0, (1.0, 1.0), 0
    low, high = mean_interval(shares, number, delta)
    part = number / len(asked.items)
    known = 1 - part
    return (
        known + part * float(np.mean(shares)),
        (known + part * max(0.0, low - lost), known + part * high),
        paid,
    )
