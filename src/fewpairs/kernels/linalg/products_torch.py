"""Matrices on a device whose products with vectors of the host come back to it."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from fewpairs.types import Indices

__all__ = ["DenseOnDevice", "PartnersOnDevice"]


class DenseOnDevice:
    """An array on a device; ``@`` and ``T`` do what those of the array do."""

    def __init__(self, array: NDArray[Any], device: str) -> None:
        self._rows = torch.tensor(array, device=device)
        self.dtype = array.dtype

    @property
    def T(self) -> "DenseOnDevice":
        """The same array, rows and columns exchanged."""
        turned = object.__new__(DenseOnDevice)
        turned._rows, turned.dtype = self._rows.T, self.dtype
        return turned

    def __matmul__(self, x: NDArray[Any]) -> NDArray[Any]:
        """Return the product with a vector."""
        return (self._rows @ torch.tensor(x, device=self._rows.device)).cpu().numpy()


class PartnersOnDevice:
    """The (n, n) matrix with a 1 for every pair (i[t], j[t]), and its mirror.

    Sums over an item's pairs are taken in their order: the same in every call.
    """

    def __init__(self, n: int, i: Indices, j: Indices, device: str) -> None:
        ends = torch.tensor(np.stack([i, j]), device=device)
        order = ends.view(-1).sort(stable=True).indices
        self._partners = ends.flip(0).view(-1)[order]
        self._number = torch.bincount(ends.view(-1), minlength=n)

    def __matmul__(self, x: NDArray[Any]) -> NDArray[Any]:
        """Return the product with a vector."""
        told = torch.tensor(x, device=self._partners.device)[self._partners]
        sums = torch.segment_reduce(told, "sum", lengths=self._number, unsafe=True)
        return sums.cpu().numpy()
