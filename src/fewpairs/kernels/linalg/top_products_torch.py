"""Top products on a GPU: all of them, block by block, in torch."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

__all__ = ["ProductsOnDevice", "top_products"]

_BLOCK = 1 << 29  # products at once: 2 GiB
_GROUP = 32  # neighboring columns that stand together in the first look


class ProductsOnDevice:
    """Rows on a device, searched for all products."""

    def __init__(self, vectors: NDArray[Any], device: str) -> None:
        self._rows = _on_device(vectors, device)

    def search(
        self, queries: NDArray[Any], k: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return (m, k) positions and products of arrays; see `top_products`."""
        asked = _on_device(queries, self._rows.device)
        indices, scores = top_products(self._rows, asked, k)
        return indices.cpu().numpy(), scores.cpu().numpy()


def _on_device(rows: NDArray[Any], device: str | torch.device) -> torch.Tensor:
    # A copy: torch warns of arrays that must not be written to.
    return torch.tensor(np.asarray(rows), dtype=torch.float32, device=device)


def top_products(
    vectors: torch.Tensor, queries: torch.Tensor, k: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the k largest products of every query, and whose they are, on the device.

    The largest first, of equal ones those at lower positions. ``torch.topk`` of a long
    row takes many passes. Of groups of 32 columns, only the k with the largest maxima
    can hold one of the k largest entries: one pass finds them, and the rest is short.
    """
    m, n = len(queries), len(vectors)
    indices = torch.empty((m, k), dtype=torch.int64, device=vectors.device)
    scores = torch.empty((m, k), dtype=torch.float32, device=vectors.device)
    step = max(1, _BLOCK // n)
    for start in range(0, m, step):
        products = queries[start : start + step] @ vectors.T
        values, found = _largest(products, k)
        # Twice, by position and then by value: sorting keeps the order of equal ones.
        found, order = found.sort(dim=1)
        values = values.gather(1, order)
        values, order = values.sort(dim=1, descending=True, stable=True)
        scores[start : start + step] = values
        indices[start : start + step] = found.gather(1, order)
    return indices, scores


def _largest(products: torch.Tensor, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    m, n = products.shape
    whole = n - n % _GROUP
    if k * _GROUP * 4 > whole:
        values, found = products.topk(k, dim=1, sorted=False)
        return values, found
    groups = products[:, :whole].unflatten(1, (-1, _GROUP))
    first = groups.amax(dim=2).topk(k, dim=1, sorted=False).indices
    within = torch.arange(_GROUP, device=products.device)
    at = (first[:, :, None] * _GROUP + within).flatten(1)
    tail = torch.arange(whole, n, device=products.device).expand(m, -1)
    at = torch.cat([at, tail], dim=1)
    values, place = products.gather(1, at).topk(k, dim=1, sorted=False)
    return values, at.gather(1, place)
