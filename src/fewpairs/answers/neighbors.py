"""Neighbors: every item's most similar others, without n×n memory."""

from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from fewpairs.checks import check_whole
from fewpairs.errors import BudgetError, InputError
from fewpairs.kernels.linalg.blas_threads import in_threads
from fewpairs.kernels.linalg.largest import Largest
from fewpairs.matrix.entries import Entries
from fewpairs.methods.auto import candidates
from fewpairs.progress import Progress, as_progress
from fewpairs.result.approximation import Approximation
from fewpairs.types import Indices

__all__ = ["Neighbors", "check_k", "neighbors", "rank"]

_TILE = 2_048  # rows and columns of a product whose largest entries are sought
_PAIRS = 1 << 19  # predicted at once
_LEAST_CANDIDATES = 128
_SAMPLED = 200  # rows at most, for the recall


class _NeighborArrays(NamedTuple):
    indices: NDArray[np.int64]
    similarities: NDArray[Any]


class Neighbors(_NeighborArrays):
    """``(indices, similarities)``, two (n, k) arrays, the most similar first.

    Attributes
    ----------
    recall, recall_interval
        Share of the true k most similar that were found, from rows that were read as a
        whole, with a 95 % interval; ``None`` where none were asked for.
    evaluations
        Calls of the similarity made for that.
    """

    recall: float | None
    recall_interval: tuple[float, float] | None
    evaluations: int

    def __new__(
        cls,
        indices: NDArray[np.int64],
        similarities: NDArray[Any],
        recall: float | None = None,
        recall_interval: tuple[float, float] | None = None,
        evaluations: int = 0,
    ) -> Self:
        """Make a pair that knows more."""
        made = super().__new__(cls, indices, similarities)
        made.recall, made.recall_interval = recall, recall_interval
        made.evaluations = evaluations
        return made

    def __repr__(self) -> str:
        n, k = self.indices.shape
        recall = "" if self.recall is None else f", recall about {self.recall:.2f}"
        return f"<Neighbors: {k} of each of {n:,} items{recall}>"


def neighbors(
    approx: Approximation,
    k: int = 10,
    *,
    index: str | None = None,
    candidates: int | None = None,
    evaluations: int = 0,
    progress: bool | Progress = False,
    seed: int = 0,
) -> Neighbors:
    """Return every item's k most similar others; see ``Approximation.neighbors``."""
    call = "Approximation.neighbors"
    n = approx.shape[0]
    k = check_k(k, n - 1, call, "others")
    most = _check_candidates(candidates, k, n, call)
    evaluations = check_whole(call, "evaluations", evaluations)
    seed = check_whole(call, "seed", seed)
    shown = as_progress(progress, call, unit="items")
    student = approx.model.student is not None
    shown.start("neighbors", n)
    try:
        if index is not None:
            from fewpairs.answers.indexes import nearest

            found = nearest(approx.model, most, index, call, approx.indexes)
            found = np.hstack([found, _known_best(approx.known, k)])
        elif student and most < n - 1:
            found = _of_student(approx, k, most)
        else:
            found = _blockwise(approx, k, shown)
        indices, similarities = rank(approx, found, k)
    finally:
        shown.finish()
    if not evaluations:
        return Neighbors(indices, similarities)
    figures = _recall(approx, indices, evaluations, np.random.default_rng(seed), call)
    return Neighbors(indices, similarities, *figures)


def check_k(k: Any, most: int, call: str, of_what: str) -> int:
    """Return k, or say what it can be."""
    whole = isinstance(k, (int, np.integer)) and not isinstance(k, (bool, np.bool_))
    if not whole or not 1 <= k <= most:
        msg = (
            f"{call}: k is {k!r:.60}; there are {most:,} {of_what}. Pass a number "
            f"from 1 to {most:,}."
        )
        raise InputError(msg)
    return int(k)


def _check_candidates(candidates: Any, k: int, n: int, call: str) -> int:
    if candidates is None:
        return min(max(_LEAST_CANDIDATES, 8 * k), n - 1)
    if not isinstance(candidates, (int, np.integer)) or candidates < k:
        msg = (
            f"{call}: candidates is {candidates!r:.60}; pass a whole number from k = "
            f"{k} on, or None."
        )
        raise InputError(msg)
    return min(int(candidates), n - 1)


# --- all entries, tile by tile ---------------------------------------------------


def _blockwise(approx: Approximation, k: int, shown: Progress) -> Indices:
    n = approx.shape[0]
    out = np.empty((n, k), dtype=np.int64)
    everything = np.arange(n)

    def look(rows: Indices) -> None:
        best = Largest(len(rows), k)
        exact = _Exact(approx.known, rows)
        for start in range(0, n, _TILE):
            columns = everything[start : start + _TILE]
            tile = approx.model.block(rows, columns)
            exact.write(tile, columns)
            best.add(tile, start)
        out[rows] = best.result()
        shown.advance(len(rows))

    _sort_added(approx.known)
    step = min(_TILE, max(256, n // 16))
    in_threads(look, [everything[t : t + step] for t in range(0, n, step)])
    return out


def _sort_added(known: Entries) -> None:
    """Sort what was added now: not while several threads look."""
    known.scattered_in_lines(np.arange(1), "rows")


class _Exact:
    """Known entries of some rows, written into one tile after the other."""

    def __init__(self, known: Entries, rows: Indices) -> None:
        self._known, self._rows = known, rows
        line, where, values = known.scattered_in_lines(rows, "rows")
        order = np.argsort(where, kind="stable")
        self._line, self._where = line[order], where[order]
        self._values = values[order]

    def write(self, tile: NDArray[Any], columns: Indices) -> None:
        """Write what is known, and −∞ for an item itself."""
        known, rows, first = self._known, self._rows, int(columns[0])
        a, b = np.searchsorted(self._where, [first, first + len(columns)])
        tile[self._line[a:b], self._where[a:b] - first] = self._values[a:b]
        for lines in known.columns:
            position = lines.position[columns]
            hit = np.flatnonzero(position >= 0)
            if hit.size:
                tile[:, hit] = lines.values[np.ix_(position[hit], rows)].T
        for lines in known.columns if known.symmetric else known.rows:
            position = lines.position[rows]
            hit = np.flatnonzero(position >= 0)
            if hit.size:
                tile[hit] = lines.values[np.ix_(position[hit], columns)]
        own = np.flatnonzero((rows >= first) & (rows < first + len(columns)))
        tile[own, rows[own] - first] = -np.inf


# --- candidates ------------------------------------------------------------------


def _of_student(approx: Approximation, k: int, most: int) -> Indices:
    """Return what prior and low rank propose to the student, and what is known."""
    without = replace(approx.model, student=None)
    proposed = candidates.find(without, approx.known, most)
    partner = proposed.partner.astype(np.int64)
    partner[~np.isfinite(proposed.score)] = -1  # known: they come anyway
    return np.hstack([partner, _known_best(approx.known, k)])


def _known_best(known: Entries, k: int) -> Indices:
    """Return (n, 2k) positions: the best of every item's known entries, −1 for none."""
    n = known.n
    out = np.full((n, 2 * k), -1, dtype=np.int64)
    i, j, values = known.uncovered()
    if known.symmetric:
        i, j = np.concatenate([i, j]), np.concatenate([j, i])
        values = np.concatenate([values, values])
    off = i != j
    i, j, values = i[off], j[off], values[off]
    order = np.lexsort((j, -values, i))
    place = np.arange(len(i)) - np.searchsorted(i[order], i[order])
    top = order[place < k]
    out[i[top], place[place < k]] = j[top]
    everything = np.arange(n)
    columns = known.line_indices("columns")
    across = columns if known.symmetric else known.line_indices("rows")
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


def _rows(known: Entries, rows: Indices) -> NDArray[Any]:
    return known.lines(rows, "rows") if len(rows) else np.empty((0, known.n))


def _without(line: NDArray[Any], own: int) -> NDArray[Any]:
    line = np.array(line)
    line[own] = -np.inf
    return line


def rank(
    approx: Approximation, partners: Indices, k: int
) -> tuple[Indices, NDArray[Any]]:
    """Return the k best of every item's candidates, by what ``pairs`` says of them.

    ``partners`` is (n, c); −1 is no candidate, doubles and the item itself do not
    count. Of equal ones, those at lower positions come first.
    """
    n = len(partners)
    indices = np.empty((n, k), dtype=np.int64)
    step = max(1, _PAIRS // partners.shape[1])
    starts = range(0, n, step)
    values: dict[int, NDArray[Any]] = {}

    def look(start: int) -> None:
        rows = np.arange(start, min(start + step, n))
        partner = np.sort(partners[rows], axis=1)
        good = (partner >= 0) & (partner != rows[:, None])
        good[:, 1:] &= partner[:, 1:] != partner[:, :-1]
        at, place = np.nonzero(good)
        answers = approx.pairs(rows[at], partner[at, place])
        score = np.full(partner.shape, -np.inf, dtype=answers.dtype)
        score[at, place] = answers
        order = np.argsort(-score, axis=1, kind="stable")[:, :k]
        indices[rows] = np.take_along_axis(partner, order, axis=1)
        values[start] = np.take_along_axis(score, order, axis=1)

    _sort_added(approx.known)
    in_threads(look, starts)
    return indices, np.concatenate([values[start] for start in starts])


# --- how many were found ------------------------------------------------------------


def _recall(
    approx: Approximation,
    indices: Indices,
    evaluations: int,
    rng: np.random.Generator,
    call: str,
) -> tuple[float, tuple[float, float], int]:
    """Read rows as a whole and count what was found of their k most similar."""
    reader = approx.reader("neighbors")
    n, k = indices.shape
    everything = np.arange(n)
    whole = approx.known.line_indices("columns" if approx.known.symmetric else "rows")
    open_rows = rng.permutation(np.setdiff1d(everything, whole))
    if not len(open_rows):
        return 1.0, (1.0, 1.0), 0
    before, shares = reader.evaluations, []
    with reader.allow(_whole_number(evaluations, call)) as oracle:
        for row in open_rows[:_SAMPLED]:
            others = np.delete(everything, row)
            try:
                line = oracle.pairs(np.full(n - 1, row), others)
            except BudgetError as error:
                needed = error.needed
                break
            least = np.partition(line, n - 1 - k)[n - 1 - k]
            found = indices[row] - (indices[row] > row)  # positions among the others
            shares.append(float((line[found] >= least).mean()))
    if len(shares) < 2:
        msg = (
            f"{call}: {evaluations:,} evaluations do not read two rows as a whole; a "
            f"row takes about {needed:,}. Pass more, or 0 for no estimate."
        )
        raise InputError(msg)
    share = len(open_rows) / n  # the others are known as a whole: nothing is missed
    mean, deviation = float(np.mean(shares)), float(np.std(shares, ddof=1))
    around = 1.96 * deviation / np.sqrt(len(shares))
    low, high = max(0.0, mean - around), min(1.0, mean + around)
    known = 1 - share
    return (
        known + share * mean,
        (known + share * low, known + share * high),
        reader.evaluations - before,
    )


def _whole_number(evaluations: Any, call: str) -> int:
    if not isinstance(evaluations, (int, np.integer)) or evaluations < 1:
        msg = (
            f"{call}: evaluations is {evaluations!r:.60}; pass a whole number of calls "
            "of the similarity, or 0."
        )
        raise InputError(msg)
    return int(evaluations)
