"""Least squares of every item by itself, all items at once, in torch."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from fewpairs.types import Indices

__all__ = ["item_ridges"]

_NUMBERS = 1 << 26  # gathered at once
_SOLVED = 1 << 15  # items at once: of more than 65,535, not all solvers take


def item_ridges(
    i: Indices,
    j: Indices,
    weights: NDArray[np.float32],
    values: NDArray[np.float32],
    features: NDArray[np.float32],
    *,
    ridges: Sequence[float],
    items: NDArray[np.bool_] | None = None,
    device: str,
) -> list[NDArray[np.float32]]:
    """Return what `fewpairs.kernels.linalg.item_ridges` does, by a device.

    There items with about as many rows lie side by side too, many more of them at once.
    """
    n, q = features.shape
    f, w, y = (
        torch.tensor(array, dtype=torch.float32, device=device)
        for array in (features, weights, values)
    )
    ends = torch.tensor(np.stack([i, j]), device=device)
    others, w, y = ends.flip(0).view(-1), w.repeat(2), y.repeat(2)
    rows = ends.view(-1).sort(stable=True).indices
    count = torch.bincount(ends.view(-1), minlength=n)
    start = count.cumsum(0) - count
    wanted = count if items is None else count * torch.tensor(items, device=device)
    out = [torch.zeros((n, q), device=device) for _ in ridges]
    ones = torch.eye(q, device=device)
    for some, width in _parts(wanted, q):
        place = torch.arange(width, device=device)
        live = place < count[some][:, None]
        row = rows[torch.where(live, start[some][:, None] + place, 0)]
        X = f[others[row]] * torch.where(live, w[row], 0.0)[..., None]
        gram, moment = X.mT @ X, X.mT @ y[row][..., None]
        for found, ridge in zip(out, ridges, strict=True):
            found[some] = torch.linalg.solve(gram + ridge * ones, moment)[..., 0]
    return [found.cpu().numpy() for found in out]


def _parts(count: torch.Tensor, q: int) -> Iterator[tuple[torch.Tensor, int]]:
    """Return items with about as many rows, and the largest number of these."""
    falling, order = count.sort(descending=True, stable=True)
    widths, first = falling.cpu().numpy(), 0
    there = int(np.count_nonzero(widths))
    while first < there:
        width = int(widths[first])
        size = max(1, min(_SOLVED, _NUMBERS // (q * width)))
        last = min(there, first + size)
        yield order[first:last], width
        first = last
