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

    Of a matrix that has grown, those with a new item. Returns fewer than ``size`` only
    when fewer are unknown.
    """
    pairs, unknown = entries.pairs, entries.pairs - entries.moments().number
    if entries.earlier is not None:
        of_old, unknown = entries.earlier.unread(entries)
        pairs -= of_old + entries.earlier.known
    size = min(size, unknown)
    if size == 0:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    if unknown < 2 * size or unknown < pairs // 50:
        return _sample_by_listing(entries, size, rng)
    chosen = np.empty(0, dtype=np.int64)
    while len(chosen) < size:
        draws = 2 * (size - len(chosen)) * pairs // unknown + 16
        i, j = _any_pairs(entries, draws, rng)
        fresh = ~entries.lookup(i, j)[0]
        keys = np.concatenate([chosen, entries.keys(i[fresh], j[fresh])])
        _, first = np.unique(keys, return_index=True)
        chosen = keys[np.sort(first)]
    return entries.ends(chosen[:size])


def _any_pairs(
    entries: "Entries", draws: int, rng: np.random.Generator
) -> tuple[Indices, Indices]:
    """Draw pairs, some perhaps twice; of a matrix that has grown, with new items."""
    if entries.sides is not None:
        return _across(entries, draws, rng)
    n, old = entries.n, entries.old
    i = old + rng.integers(n - old, size=draws)
    j = rng.integers(n - 1, size=draws)
    j += j >= i
    if old:  # two new items would be met from both sides
        once = (j < old) | (i < j)
        i, j = i[once], j[once]
    return i, j


def _across(
    entries: "Entries", draws: int, rng: np.random.Generator
) -> tuple[Indices, Indices]:
    """Draw pairs of two sets; where these have grown, with a new item.

    These are new left items with all right ones, then old left items with new ones.
    """
    sides, earlier = entries.sides, entries.earlier
    if sides is None:
        msg = "sampling: one set has no pairs across"
        raise AssertionError(msg)
    if earlier is None:
        return sides.sample(draws, rng)
    m, n = sides.shape
    left, right = earlier.new_of(entries)
    drawn = rng.integers(left * n + (m - left) * right, size=draws)
    whole = drawn < left * n
    rest = drawn - left * n
    i = np.where(whole, m - left + drawn // n, rest // max(right, 1))
    j = np.where(whole, drawn % n, n - right + rest % max(right, 1))
    return i, sides.split + j


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
        fresh = j[entries.unread(np.full(len(j), row), j)]
        found.append(row * entries.n + fresh)
    return entries.ends(rng.permutation(np.concatenate(found))[:size])
