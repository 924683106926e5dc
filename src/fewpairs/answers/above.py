"""Above: the pairs whose answers are at or above a level."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fewpairs.answers.candidates import candidates_of, chunks, is_large
from fewpairs.answers.ranking import distinct
from fewpairs.matrix.entries import Entries
from fewpairs.result.approximation import Approximation
from fewpairs.types import Indices

__all__ = ["pairs_above"]

_BLOCK = 1 << 22  # entries looked at at once
_FIRST = 64  # candidates per item at first
_DEEPER, _DEEPEST = 4, 4_096
_ALL = 20_000**2  # pairs of two sets whose answers are all looked at


def pairs_above(approx: Approximation, level: float) -> tuple[Indices, Indices]:
    """Return i < j of the pairs whose answers are at or above a level, in order.

    Positions on the axis of all items; of two sets, left ones come first. Up to 20,000
    items, or 20,000 × 20,000 pairs of two sets, all answers are looked at. Above that
    every item's candidates are, and what is known: where half of an item's candidates
    or more reach the level, four times as many are asked for, up to 4,096.
    """
    n, sides = approx.known.n, approx.known.sides
    if sides is not None:
        many = sides.pairs > _ALL
        found = _nearest(approx, level) if many else _across(approx, level)
    else:
        found = _proposed(approx, level) if is_large(n) else _blockwise(approx, level)
    keys = np.unique(np.concatenate([np.empty(0, dtype=np.int64), *found]))
    return keys // n, keys % n


def _blockwise(approx: Approximation, level: float) -> Iterator[Indices]:
    n = approx.known.n
    step = max(1, _BLOCK // n)
    for start in range(0, n, step):
        rows = np.arange(start, min(n, start + step))
        r, c = np.nonzero(approx.block(rows, slice(None)) >= level)
        ahead = c > rows[r]
        yield rows[r[ahead]] * n + c[ahead]


def _across(approx: Approximation, level: float) -> Iterator[Indices]:
    """Look at all answers of two sets."""
    m, n = approx.shape
    step = max(1, _BLOCK // n)
    for start in range(0, m, step):
        rows = np.arange(start, min(m, start + step))
        r, c = np.nonzero(approx.block(rows, slice(None)) >= level)
        yield rows[r] * (m + n) + m + c


def _nearest(approx: Approximation, level: float) -> Iterator[Indices]:
    """Look at every left item's best answers of two sets, and at what is known."""
    m, n = approx.shape
    i, j, values = approx.known.uncovered()
    yield _keys(i, j, m + n)[values >= level]
    count = min(_FIRST, n)
    while True:
        found = approx.neighbors(count)
        row, place = np.nonzero(found.similarities >= level)
        yield row * (m + n) + m + found.indices[row, place]
        crowded = np.bincount(row, minlength=1).max(initial=0) >= count // 2
        if not crowded or count >= min(_DEEPEST, n):
            return
        count = min(_DEEPER * count, n)


def _proposed(approx: Approximation, level: float) -> Iterator[Indices]:
    n = approx.known.n
    yield from _known(approx.known, level)
    proposing = candidates_of(approx)
    waiting, count = np.arange(n), _FIRST
    while len(waiting) and count <= _DEEPEST:
        crowded = []
        for part in chunks(len(waiting), 2 * count):
            rows = waiting[part]
            partner, good = distinct(rows, proposing.of(rows, min(count, n - 1)))
            at, place = np.nonzero(good)
            keys = _keys(rows[at], partner[at, place], n)
            hit = approx.pairs(keys // n, keys % n) >= level
            yield keys[hit]
            number = np.bincount(at[hit], minlength=len(rows))
            crowded.append(rows[number >= count // 2])
        waiting, count = np.concatenate(crowded), _DEEPER * count


def _known(known: Entries, level: float) -> Iterator[Indices]:
    n = known.n
    i, j, values = known.uncovered()
    hit = (values >= level) & (i != j)
    yield _keys(i[hit], j[hit], n)
    for lines in (*known.columns, *known.rows):
        for line, values in zip(lines.indices, lines.values, strict=True):
            other = np.flatnonzero(_others(values, line) >= level)
            yield _keys(np.full(len(other), line), other, n)


def _others(values: NDArray[np.float64], own: int) -> NDArray[np.float64]:
    values = np.array(values)
    values[own] = -np.inf
    return values


def _keys(i: Indices, j: Indices, n: int) -> Indices:
    return np.minimum(i, j) * n + np.maximum(i, j)
