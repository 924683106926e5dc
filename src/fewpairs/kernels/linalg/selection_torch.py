"""Largest of rows and of groups, and keys among sorted ones, in torch.

All by stable sorts, so of equal numbers those at lower places come first, as in
`fewpairs.kernels.linalg.selection`, and a call gives what the last one gave.
"""

from collections.abc import Iterator

import torch

__all__ = ["among", "falling", "first_of_equals", "largest", "parts", "ranked"]


def parts(rows: int, width: int, numbers: int) -> Iterator[slice]:
    """Cut rows of such a width into parts of so many numbers."""
    step = max(1, numbers // max(1, width))
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))


def falling(scores: torch.Tensor, count: int) -> torch.Tensor:
    """Return the places of every row's ``count`` largest scores, largest first."""
    order = scores.sort(dim=1, descending=True, stable=True).indices
    return order[:, :count]


def largest(scores: torch.Tensor, count: int) -> torch.Tensor:
    """Return the places of every row's ``count`` largest scores, in rising order."""
    return falling(scores, count).sort(dim=1).values


def ranked(
    group: torch.Tensor, values: torch.Tensor, most: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the places of every group's ``most`` largest values, and their ranks.

    By group, the largest first. Price: two sorts.
    """
    order = values.sort(descending=True, stable=True).indices
    order = order[group[order].sort(stable=True).indices]
    rising = group[order]
    rank = torch.arange(len(order), device=group.device)
    rank -= torch.searchsorted(rising, rising)
    top = rank < most
    return order[top], rank[top]


def among(keys: torch.Tensor, rising: torch.Tensor) -> torch.Tensor:
    """Tell which keys are among sorted ones."""
    if not len(rising):
        return torch.zeros(keys.shape, dtype=torch.bool, device=keys.device)
    at = torch.searchsorted(rising, keys)
    return rising[at.clamp_(max=len(rising) - 1)] == keys


def first_of_equals(keys: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the first place of every different key, and for all keys which it is."""
    rising, order = keys.sort(stable=True)
    begins = torch.ones(len(keys), dtype=torch.bool, device=keys.device)
    begins[1:] = rising[1:] != rising[:-1]
    same = torch.empty_like(order)
    same[order] = begins.cumsum(0) - 1
    return order[begins], same
