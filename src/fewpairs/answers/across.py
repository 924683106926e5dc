"""Across: of two sets, every item's most similar ones on the other side."""

from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fewpairs.answers.candidates import Proposer, View, chunks, views
from fewpairs.errors import InputError
from fewpairs.kernels.linalg.largest import Largest
from fewpairs.kernels.linalg.top_products import EXACT, searched_by
from fewpairs.matrix.entries import Entries
from fewpairs.progress import Progress
from fewpairs.result.approximation import Approximation
from fewpairs.types import Indices

__all__ = ["nearest_across", "refuse_two_sets", "seekers"]

_BLOCK = 1 << 22  # answers looked at at once


class _Known(Protocol):
    """What has known entries."""

    @property
    def known(self) -> Entries:
        """The entries that were read."""


def refuse_two_sets(approx: _Known, call: str) -> None:
    """Refuse what is of one set of items."""
    sides = approx.known.sides
    if sides is not None:
        msg = (
            f"{call}: this is of one set of items, and the approximation is of two, "
            f"{sides.shape[0]:,} items and {sides.shape[1]:,} others. Use "
            ".neighbors(k) or .search(query)."
        )
        raise InputError(msg)


def seekers(approx: Approximation, of: str, call: str) -> tuple[Indices, Indices]:
    """Return the items that look for partners and their possible partners.

    Positions among all items; of two sets, ``of`` says which side looks.
    """
    items, others = approx.known.seekers
    if approx.known.sides is None and of == "others":
        msg = f"{call}: of is 'others', and there is one set of items. Leave of= out."
        raise InputError(msg)
    return (items, others) if of == "items" else (others, items)


def nearest_across(
    approx: Approximation,
    items: Indices,
    others: Indices,
    k: int,
    *,
    most: int,
    shown: Progress,
) -> tuple[Indices, NDArray[Any]]:
    """Return the k best others of every item, as positions among them, and answers.

    Up to 20,000 × 20,000 pairs all are looked at, but by a student, which ranks
    ``most`` that prior and low rank, and what is known, put first. Above that vectors
    propose.
    """
    proposer = _proposer(approx, items, others)
    step = max(1, _BLOCK // len(others))
    parts = [items[start : start + step] for start in range(0, len(items), step)]
    if proposer is not None:
        parts = [items[part] for part in chunks(len(items), 2 * most + k)]
    found: list[Indices] = []
    values: list[NDArray[Any]] = []
    for rows in parts:
        if proposer is not None:
            likely = proposer.of(rows - items[0], most)
            top = np.hstack([likely, _read(approx, rows, others)])
            best = _best_of(approx, rows, others, top, k)
        elif approx.model.student is None:
            answers = _answers(approx, rows, others)
            top = _largest(answers, k)
            best = top, np.take_along_axis(answers, top, axis=1)
        else:
            scores = _answers(approx, rows, others, without_student=True)
            top = _largest(scores, min(most, len(others)))
            best = _best_of(approx, rows, others, top, k)
        found.append(best[0])
        values.append(best[1])
        shown.advance(len(rows))
    return np.concatenate(found), np.concatenate(values)


def _answers(
    approx: Approximation,
    rows: Indices,
    others: Indices,
    *,
    without_student: bool = False,
) -> NDArray[Any]:
    model = approx.model
    if without_student:
        model = replace(model, student=None, blend=None)
    out = model.block(rows, others)
    approx.known.overlay(out, rows, others)
    return out


def _largest(answers: NDArray[Any], k: int) -> Indices:
    best = Largest(len(answers), k)
    best.add(answers, 0)
    return best.result()


def _best_of(
    approx: Approximation, rows: Indices, others: Indices, top: Indices, k: int
) -> tuple[Indices, NDArray[Any]]:
    """Return the k best of some candidates by what is answered; −1 is none."""
    there = np.sort(top, axis=1)
    good = there >= 0
    good[:, 1:] &= there[:, 1:] != there[:, :-1]
    at, place = np.nonzero(good)
    i, j = rows[at], others[there[at, place]]
    answers = approx.model.pairs(i, j)
    known, exact = approx.known.lookup(i, j)
    answers[known] = exact[known]
    score = np.full(there.shape, -np.inf, dtype=answers.dtype)
    score[at, place] = answers
    order = np.argsort(-score, axis=1, kind="stable")[:, :k]
    found = np.take_along_axis(there, order, axis=1)
    return found, np.take_along_axis(score, order, axis=1)


def _proposer(
    approx: Approximation, items: Indices, others: Indices
) -> Proposer | None:
    """Return what proposes among many; ``None`` where all pairs are looked at."""
    if len(items) * len(others) <= EXACT**2:
        return None
    held = [
        View(view.held[others], view.signs, view.held[items])
        for view in views(approx.model)
    ]
    return Proposer(held, by=searched_by(len(items), len(others))) if held else None


def _read(approx: Approximation, rows: Indices, others: Indices) -> Indices:
    """Return what was read of some items pair by pair, as positions among others."""
    line, where, _ = approx.known.scattered_in_lines(rows, "rows")
    number = np.bincount(line, minlength=len(rows))
    read = np.full((len(rows), int(number.max(initial=0))), -1, dtype=np.int64)
    place = np.arange(len(line)) - (np.cumsum(number) - number)[line]
    read[line, place] = where - others[0]
    return read
