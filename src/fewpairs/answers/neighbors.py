"""Neighbors: every item's most similar others, without n×n memory."""

import importlib.util
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.answers.across import nearest_across, seekers
from fewpairs.answers.blockwise import blockwise
from fewpairs.answers.candidates import Proposer, candidates_of, chunks, is_large
from fewpairs.answers.neighbor_lists import Neighbors
from fewpairs.answers.neighbor_recall import Asked, check_recall
from fewpairs.answers.ranking import known_best, rank
from fewpairs.answers.sides import sides_of
from fewpairs.checks import check_choice, check_whole
from fewpairs.errors import InputError, MissingExtraError
from fewpairs.methods.auto.candidates import find as find_candidates
from fewpairs.progress import Progress, as_progress
from fewpairs.result.approximation import Approximation
from fewpairs.types import Indices

__all__ = ["Neighbors", "check_k", "neighbors"]

_INDEXES = ("blocks", "faiss", None)
_GONE = ("lists", "hnsw")
_FEW = 16


def neighbors(
    approx: Approximation,
    k: int = 10,
    *,
    of: str = "items",
    index: str | None = None,
    candidates: int | None = None,
    evaluations: int = 0,
    recall: str | None = None,
    delta: float = 0.05,
    progress: bool | Progress = False,
    seed: int = 0,
) -> Neighbors:
    """Return every item's k most similar others; see ``Approximation.neighbors``."""
    call = "Approximation.neighbors"
    check_choice(call, "of", of, ("items", "others"))
    items, others = seekers(approx, of, call)
    two_sets = approx.known.sides is not None
    n = len(others)
    k = check_k(k, n - (not two_sets), call, "others")
    most = _check_candidates(approx, candidates, k, n - (not two_sets), call)
    evaluations = check_whole(call, "evaluations", evaluations)
    seed = check_whole(call, "seed", seed)
    by = check_recall(call, recall, delta, evaluations, of)
    proposing = _proposing(approx, index, k, call)
    shown = as_progress(progress, call, unit="items")
    shown.start("neighbors", len(items))
    try:
        if two_sets:
            found = nearest_across(approx, items, others, k, most=most, shown=shown)
        elif proposing is not None:
            found = _proposed(approx, proposing, k, most, shown)
        elif approx.model.student is not None and most < n - 1:
            found = rank(approx, np.arange(n), _of_student(approx, k, most), k)
        else:
            found = rank(approx, np.arange(n), blockwise(approx, k, shown), k)
    finally:
        shown.finish()
    indices, similarities = found
    left, right = sides_of(approx)
    sides = (left, right) if of == "items" else (right, left)
    if not evaluations:
        return Neighbors(indices, similarities, sides=sides)
    asked = Asked(call, indices, items, others, evaluations, delta)
    figures = by(approx, asked, np.random.default_rng(seed))
    return Neighbors(indices, similarities, *figures, sides=sides)


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


def _check_candidates(
    approx: Approximation, candidates: Any, k: int, there: int, call: str
) -> int:
    if candidates is None:
        # What is nearly a product of vectors needs fewer than what a network ranks.
        least, times = (32, 4) if approx.model.student is None else (128, 8)
        return min(max(least, times * k), there)
    if not isinstance(candidates, (int, np.integer)) or candidates < k:
        msg = (
            f"{call}: candidates is {candidates!r:.60}; pass a whole number from k = "
            f"{k} on, or None."
        )
        raise InputError(msg)
    return min(int(candidates), there)


# --- candidates ------------------------------------------------------------------


def _proposing(approx: Approximation, index: Any, k: int, call: str) -> Proposer | None:
    """Return what proposes candidates; ``None`` where all pairs are looked at."""
    if isinstance(index, str) and index in _GONE:
        msg = (
            f"{call}: index={index!r} is no more; 'faiss' is used, which finds as much "
            "in less time. Pass index=None: what is best for the size."
        )
        warnings.warn(msg, DeprecationWarning, stacklevel=5)
        index = "faiss"
    check_choice(call, "index", index, _INDEXES)
    if approx.known.sides is not None:
        return None
    n = approx.shape[0]
    # Where k is a good part of n, the result itself is of the order of all pairs.
    few = _FEW * k <= n
    if index == "blocks" or (index is None and not (is_large(n) and few)):
        return None
    if index == "faiss" and importlib.util.find_spec("faiss") is None:
        msg = f"{call}: needs faiss. Run: pip install 'fewpairs[index]'"
        raise MissingExtraError(msg)
    return candidates_of(approx, "index" if index == "faiss" else None)


def _proposed(
    approx: Approximation, proposing: Proposer, k: int, most: int, shown: Progress
) -> tuple[Indices, NDArray[Any]]:
    """Return the best of what is proposed and what is known, part by part."""
    n = approx.shape[0]
    known = known_best(approx.known, k)
    found = []
    for rows, proposed in proposing.in_turn(chunks(n, 2 * most + 2 * k), most):
        partners = np.hstack([proposed, known[rows]])
        found.append(rank(approx, rows, partners, k))
        shown.advance(len(rows))
    return (
        np.concatenate([part[0] for part in found]),
        np.concatenate([part[1] for part in found]),
    )


def _of_student(approx: Approximation, k: int, most: int) -> Indices:
    """Return what prior and low rank propose to the student, and what is known."""
    without = replace(approx.model, student=None)
    proposed = find_candidates(without, approx.known, most)
    partner = proposed.partner.astype(np.int64)
    partner[~np.isfinite(proposed.score)] = -1  # known: they come anyway
    return np.hstack([partner, known_best(approx.known, k)])
