"""The prior: cosines of pairs, and the top of every item, all pairs in blocks."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["cosines", "in_threads", "largest", "top_lists", "unit_rows"]

Array = NDArray[Any]
_ENTRIES = 1 << 23  # of a block of scores


def in_threads(work: Callable[[int], None], starts: Iterable[int]) -> None:
    """Do the work of all blocks, one per core at a time; NumPy lets go of the lock."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for done in [pool.submit(work, start) for start in starts]:
            done.result()


def unit_rows(embeddings: Array) -> NDArray[np.float32]:
    """Return rows of length 1; rows of zeros stay."""
    rows = np.asarray(embeddings, dtype=np.float32)
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(length, 1e-12), dtype=np.float32)


def cosines(rows: NDArray[np.float32], i: Array, j: Array) -> NDArray[np.float64]:
    """Return the prior of pairs."""
    out = np.empty(len(i))
    step = 1 << 17
    for t in range(0, len(i), step):
        part = slice(t, t + step)
        out[part] = np.einsum("td,td->t", rows[i[part]], rows[j[part]])
    return out


def largest(scores: Array, width: int) -> Array:
    """Return the places of every row's largest entries, the largest first."""
    chosen = np.argpartition(-scores, width - 1, axis=1)[:, :width]
    order = np.argsort(-np.take_along_axis(scores, chosen, axis=1), axis=1)
    return np.asarray(np.take_along_axis(chosen, order, axis=1))


def top_lists(rows: NDArray[np.float32], width: int) -> Array:
    """Return every item's ``width`` most similar others. Time: n²·d."""
    n = len(rows)
    out = np.empty((n, width), dtype=np.int32)
    step = max(1, _ENTRIES // n)

    def fill(start: int) -> None:
        scores = rows[start : start + step] @ rows.T
        own = np.arange(len(scores))
        scores[own, start + own] = -np.inf
        out[start : start + step] = largest(scores, width)

    in_threads(fill, range(0, n, step))
    return out
