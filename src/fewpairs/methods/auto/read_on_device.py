"""Read on a device: which pairs are known, and the best of every item, in torch.

The twins in NumPy are `Entries.unread`, `best_known` and `best_values`.
"""

from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from fewpairs.kernels.linalg.selection_torch import among, ranked
from fewpairs.kernels.linalg.top_products import gpu
from fewpairs.matrix.entries import Entries
from fewpairs.types import Indices

__all__ = ["ReadOnDevice", "best_values", "with_new"]


class ReadOnDevice:
    """The known entries of a symmetric matrix of one set, as they are now.

    Price: the sorted keys and values of scattered entries go to the device.

    Attributes
    ----------
    whole
        Items whose lines are known.
    """

    def __init__(self, known: Entries, device: str) -> None:
        self.n, self.device = known.n, device
        keys, values = known.scattered()
        self._keys = torch.tensor(keys, device=device)
        self._values = torch.tensor(values, device=device)
        self.whole = torch.zeros(self.n, dtype=torch.bool, device=device)
        self.whole[torch.tensor(known.line_indices(), device=device)] = True

    def keys(self, i: torch.Tensor, j: torch.Tensor) -> torch.Tensor:
        """Return i·n + j, i ≤ j."""
        return torch.minimum(i, j) * self.n + torch.maximum(i, j)

    def holds(self, i: torch.Tensor, j: torch.Tensor) -> torch.Tensor:
        """Tell which pairs of different items are known."""
        return among(self.keys(i, j), self._keys) | self.whole[i] | self.whole[j]

    def of_rows(self, rows: range) -> torch.Tensor:
        """Return which of neighboring rows, times n, plus where scattered pairs are."""
        keys = self._mirrored[0]
        ends = torch.tensor([rows.start, rows.stop], device=self.device) * self.n
        low, high = torch.searchsorted(keys, ends).tolist()
        return keys[low:high] - rows.start * self.n

    def best(self, k: int) -> torch.Tensor:
        """Return (n, k) partners, the most similar first; else the items themselves."""
        keys, values = self._mirrored
        item = keys // self.n
        place, rank = ranked(item, values, k)
        out = torch.arange(self.n, dtype=torch.int32, device=self.device)
        out = out[:, None].repeat(1, k)
        out[item[place], rank] = (keys - item * self.n)[place].int()
        return out

    def best_values(self, k: int) -> torch.Tensor:
        """Return (n, k) largest values of every item; of pairs off the known lines."""
        keys, values = self._mirrored
        item = keys // self.n
        off = ~(self.whole[item] | self.whole[keys - item * self.n])
        nothing = torch.full((self.n, k), -torch.inf, device=self.device)
        return _with(nothing, item[off], values[off].float())

    @cached_property
    def _mirrored(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Scattered pairs in both orders, sorted, and their values."""
        i = self._keys // self.n
        j = self._keys - i * self.n
        off = i != j
        keys = torch.cat([self._keys, j * self.n + i])[off.repeat(2)]
        keys, order = keys.sort()
        return keys, self._values.repeat(2)[off.repeat(2)][order]


def best_values(known: Entries, n: int, k: int) -> Any:
    """Return (n, k) largest values that were read of every item; −∞ for the rest."""
    return ReadOnDevice(known, gpu() or "cpu").best_values(k)[:n]


def with_new(best: Any, i: Indices, j: Indices, values: NDArray[Any]) -> Any:
    """Return the same, falling in every row, with new pairs' values among them."""
    ends = torch.tensor(np.concatenate([i, j]), device=best.device)
    new = torch.tensor(values, dtype=torch.float32, device=best.device).repeat(2)
    some = new > best[ends, -1]
    return _with(best, ends[some], new[some])


def _with(best: Any, item: Any, values: Any) -> Any:
    more = torch.full_like(best, -torch.inf)
    place, rank = ranked(item, values, best.shape[1])
    more[item[place], rank] = values[place]
    return (
        torch.cat([best, more], dim=1)
        .sort(dim=1, descending=True)
        .values[:, : best.shape[1]]
    )
