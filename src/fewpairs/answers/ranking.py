"""Ranking: the best of every item's candidates, by what the approximation answers."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.kernels.linalg.blas_threads import in_threads
from fewpairs.matrix.entries import Entries
from fewpairs.result.approximation import Approximation
from fewpairs.types import Indices

__all__ = ["distinct", "known_best", "rank"]

_TILE = 2_048  # items at once
_PAIRS = 1 << 19  # predicted at once


def rank(
    approx: Approximation, rows: Indices, partners: Indices, k: int
) -> tuple[Indices, NDArray[Any]]:
    """Return the k best of some items' candidates, by what ``pairs`` says of them.

    ``partners`` is (len(rows), c); −1 is no candidate, doubles and the item itself do
    not count. Of equal ones, those at lower positions come first. Where fewer than k
    are left, items that nothing speaks for fill up.
    """
    indices = np.empty((len(rows), k), dtype=np.int64)
    step = max(1, _PAIRS // partners.shape[1])
    starts = range(0, len(rows), step)
    values: dict[int, NDArray[Any]] = {}

    def look(start: int) -> None:
        part = slice(start, start + step)
        some = _enough(rows[part], partners[part], k, approx.known.n)
        partner, good = distinct(rows[part], some)
        at, place = np.nonzero(good)
        answers = approx.pairs(rows[part][at], partner[at, place])
        score = np.full(partner.shape, -np.inf, dtype=answers.dtype)
        score[at, place] = answers
        order = np.argsort(-score, axis=1, kind="stable")[:, :k]
        indices[part] = np.take_along_axis(partner, order, axis=1)
        values[start] = np.take_along_axis(score, order, axis=1)

    in_threads(look, starts)
    return indices, np.concatenate([values[start] for start in starts])


def distinct(rows: Indices, partners: Indices) -> tuple[Indices, NDArray[np.bool_]]:
    """Sort every item's candidates, and tell which count: each once, not itself."""
    partner = np.sort(partners, axis=1)
    good = (partner >= 0) & (partner != rows[:, None])
    good[:, 1:] &= partner[:, 1:] != partner[:, :-1]
    return partner, good


def _enough(rows: Indices, partners: Indices, k: int, n: int) -> Indices:
    """Add the items that follow to those with fewer than k candidates."""
    short = distinct(rows, partners)[1].sum(axis=1) < k
    if not short.any():
        return partners
    more = np.full((len(rows), k), -1, dtype=np.int64)
    more[short] = (rows[short][:, None] + 1 + np.arange(k)) % n
    return np.hstack([partners, more])


def known_best(known: Entries, k: int) -> Indices:
    """Return (n, 2k) positions: the best of every item's known entries, −1 for none."""
    n = known.n
    out = np.full((n, 2 * k), -1, dtype=np.int64)
    everything = np.arange(n)
    columns = known.line_indices("columns")
    across = columns if known.symmetric else known.line_indices("rows")
    _best_scattered(known, k, out, columns, across)
    if len(columns):
        lines = known.lines(columns)
        width = min(k, len(columns))
        for start in range(0, n, _TILE):
            rows = everything[start : start + _TILE]
            C = np.array(lines[:, rows].T)
            C[rows[:, None] == columns[None, :]] = -np.inf
            best = np.argpartition(-C, width - 1, axis=1)[:, :width]
            out[rows, k : k + width] = columns[best.T].T
    for row, line in zip(across, _rows(known, across), strict=True):
        best = np.argpartition(-_without(line, row), k - 1)[:k]
        out[row, :k] = best
    return out


def _best_scattered(
    known: Entries, k: int, out: Indices, columns: Indices, across: Indices
) -> None:
    """Write the best of what was read pair by pair, lines aside."""
    n = known.n
    in_column, in_row = np.zeros((2, n), dtype=bool)
    in_column[columns], in_row[across] = True, True

    def look(start: int) -> None:
        rows = np.arange(start, min(start + _TILE, n))
        line, where, values = known.scattered_in_lines(rows, "rows")
        own = rows[line]
        off = (own != where) & ~in_column[where] & ~in_row[own]
        line, where, values = line[off], where[off], values[off]
        order = np.lexsort((where, -values, line))
        line, where = line[order], where[order]
        place = np.arange(len(line)) - np.searchsorted(line, line)
        top = place < k
        out[rows[line[top]], place[top]] = where[top]

    known.scattered_in_lines(np.arange(1), "rows")  # made before several threads look
    in_threads(look, range(0, n, _TILE))


def _rows(known: Entries, rows: Indices) -> NDArray[Any]:
    return known.lines(rows, "rows") if len(rows) else np.empty((0, known.n))


def _without(line: NDArray[Any], own: int) -> NDArray[Any]:
    line = np.array(line)
    line[own] = -np.inf
    return line
