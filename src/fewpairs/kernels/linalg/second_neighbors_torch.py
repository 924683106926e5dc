"""Neighbors of neighbors on a GPU: gathered, told from what is old, ranked there."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from fewpairs.kernels.linalg.selection_torch import ranked
from fewpairs.types import Indices

__all__ = ["second_neighbors", "second_neighbors_there"]

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

    def had(rows: range) -> torch.Tensor:
        at, other = (
            torch.tensor(side, device=device).long() for side in old(np.asarray(rows))
        )
        return at * len(near) + other

    held = (torch.tensor(array, device=device) for array in (near, fresh, vectors))
    beside, new, rows = held
    item, other = second_neighbors_there(
        beside, new, had, rows, torch.tensor(signs, device=device), most=most
    )
    return item.cpu().numpy(), other.cpu().numpy()


def second_neighbors_there(
    near: torch.Tensor,
    fresh: torch.Tensor,
    old: Callable[[range], torch.Tensor],
    vectors: torch.Tensor,
    signs: torch.Tensor,
    *,
    most: int,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return what `second_neighbors` does, of tensors that are on the device.

    ``old`` returns what some items have already as keys: which of them, times the
    number of items, plus the partner.
    """
    n = len(near)
    near = near.long()
    items, others = [], []
    for start in range(0, n, _ROWS):
        rows = range(start, min(start + _ROWS, n))
        at, other = _distinct(start, len(rows), near, fresh, old(rows))
        score = _products(vectors, signs, start + at, other)
        kept = ranked(at, score, most)[0].sort().values
        items.append(start + at[kept])
        others.append(other[kept])
    return torch.cat(items), torch.cat(others)


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
