"""Sampling: random entries that are not known."""

from typing import TYPE_CHECKING

import numpy as np

from fewpairs.types import Indices

if TYPE_CHECKING:
    from fewpairs.matrix.entries import Entries

__all__ = ["sample_unknown"]


def sample_unknown(
    entries: "Entries", size: int, rng: np.random.Generator
) -> tuple[Indices, Indices]:
    """Draw distinct off-diagonal entries that are not known, uniformly.

    Returns fewer than ``size`` only when fewer are unknown.
    """
    unknown = entries.pairs - entries.moments().number
    size = min(size, unknown)
    if size == 0:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    if unknown < 2 * size or unknown < entries.pairs // 50:
        return _sample_by_listing(entries, size, rng)
    chosen = np.empty(0, dtype=np.int64)
    while len(chosen) < size:
        draws = 2 * (size - len(chosen)) * entries.pairs // unknown + 16
        i, j = _drawn(entries, draws, rng)
        fresh = ~entries.lookup(i, j)[0]
        keys = np.concatenate([chosen, entries.keys(i[fresh], j[fresh])])
        _, first = np.unique(keys, return_index=True)
        chosen = keys[np.sort(first)]
    return entries.ends(chosen[:size])


def _drawn(
    entries: "Entries", size: int, rng: np.random.Generator
) -> tuple[Indices, Indices]:
    """Draw pairs, some of them perhaps twice."""
    if entries.sides is not None:
        return entries.sides.sample(size, rng)
    i = rng.integers(entries.n, size=size)
    j = rng.integers(entries.n - 1, size=size)
    j += j >= i
    return i, j


def _sample_by_listing(
    entries: "Entries", size: int, rng: np.random.Generator
) -> tuple[Indices, Indices]:
    """List the unknown entries line by line: for nearly known matrices."""
    found = []
    everything = np.arange(entries.n)
    sides = entries.sides
    for row in everything if sides is None else everything[sides.left]:
        j = everything[row + 1 :] if entries.symmetric else np.delete(everything, row)
        if sides is not None:
            j = everything[sides.right]
        fresh = j[~entries.lookup(np.full(len(j), row), j)[0]]
        found.append(row * entries.n + fresh)
    return entries.ends(rng.permutation(np.concatenate(found))[:size])
