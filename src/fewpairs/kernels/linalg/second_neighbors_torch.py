"""Neighbors of neighbors on a GPU: gathered, told from what is old, ranked there."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from fewpairs.types import Indices

__all__ = ["second_neighbors"]

_ROWS = 1 << 15  # items at once
_PAIRS = 1 << 21  # products at once: two gathers of some 1 GB


def second_neighbors(
    near: NDArray[np.int32],
    fresh: NDArray[np.bool_],
    old: Callable[[Indices], tuple[Indices, Indices]],
    vectors: NDArray[np.float32],
    signs: NDArray[np.float32],
    *,
    most: int,
    device: str,
) -> tuple[Indices, Indices]:
    """Return the promising neighbors of neighbors, as items and partners, by item.

    Parameters
    ----------
    near
        (n, h) neighbors.
    fresh
        Which of them are new; others are not looked at again.
    old
        Returns what some items have already: which of them, and the partner.
    vectors, signs
        Products of vectors, with these signs, rank what is found.
    most
        How many stay per item.
    device
        Where torch computes.
    """
    n = len(near)
    beside = torch.tensor(near, device=device).long()
    new = torch.tensor(fresh, device=device)
    held = torch.tensor(vectors, device=device)
    asked = torch.tensor(signs, device=device)
    items, others = [], []
    for start in range(0, n, _ROWS):
        rows = np.arange(start, min(start + _ROWS, n))
        had = [torch.tensor(side, device=device).long() for side in old(rows)]
        at, other = _distinct(start, len(rows), beside, new, had[0] * n + had[1])
        score = _products(held, asked, start + at, other)
        at, other = _best(at, other, score, most)
        items.append((start + at).cpu().numpy())
        others.append(other.cpu().numpy())
    return np.concatenate(items), np.concatenate(others)


def _distinct(
    start: int, rows: int, near: Any, fresh: Any, old: Any
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return which row, and who: once each, not oneself, nothing that is old."""
    n = len(near)
    own = torch.arange(rows, device=near.device)
    between = near[start : start + rows]
    reached = near[between]
    new = fresh[start : start + rows][:, :, None] | fresh[between]
    new &= reached != (start + own)[:, None, None]
    found = (own[:, None, None] * n + reached)[new]
    # What is old sorts before the same as found, so one look back tells all.
    keys = torch.cat([2 * old, 2 * found + 1]).sort().values
    first = (keys & 1).bool()
    keys >>= 1
    first[1:] &= keys[1:] != keys[:-1]
    keys = keys[first]
    at = torch.div(keys, n, rounding_mode="floor")
    return at, keys - at * n


def _products(held: Any, signs: Any, i: Any, j: Any) -> torch.Tensor:
    parts = [torch.empty(0, device=held.device)]
    for start in range(0, len(i), _PAIRS):
        part = slice(start, start + _PAIRS)
        parts.append(((held[i[part]] * signs) * held[j[part]]).sum(dim=1))
    return torch.cat(parts)


def _best(
    at: Any, other: Any, score: Any, most: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the best of every row, rows and partners in order."""
    order = score.sort(descending=True, stable=True).indices
    order = order[at[order].sort(stable=True).indices]
    sorted_at = at[order]
    begin = torch.searchsorted(sorted_at, sorted_at)
    top = torch.arange(len(order), device=at.device) - begin < most
    kept = order[top].sort().values
    return at[kept], other[kept]
