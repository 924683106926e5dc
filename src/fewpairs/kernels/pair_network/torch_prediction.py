"""Predictions of a pair network by torch, for a GPU: its parameters stay there."""

from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from fewpairs.kernels.pair_network.network import (
    PairNetwork,
    Positions,
    arrays,
    check_pairs,
)

__all__ = ["TorchPredictor"]

_PAIRS = 1 << 17  # predicted at once: their inputs and hidden units take some 400 MB


@final
class TorchPredictor:
    """Does what `kernels.pair_network.predict` does for the network as it is now.

    ``device``: by default a GPU if there is one. May be called from several threads.
    """

    def __init__(self, network: PairNetwork, device: str | None = None) -> None:
        import torch

        if device is None:
            device = "cuda" if torch.cuda.is_available() else "cpu"
        self._network, self._device = network, device
        self._parameters = {
            name: torch.tensor(part, device=device)
            for name, part in arrays(network).items()
        }

    def __call__(
        self, i: Positions, j: Positions, scalars: NDArray[Any]
    ) -> NDArray[np.float32]:
        """Return y of the pairs (i[k], j[k]); ``scalars`` is (pairs, s)."""
        import torch

        check_pairs(self._network, i, j, scalars)
        out = np.empty(len(i), np.float32)
        for start in range(0, len(i), _PAIRS):
            part = slice(start, start + _PAIRS)
            pairs = np.stack([i[part], j[part]]).astype(np.int64)
            a, b = torch.tensor(pairs, device=self._device)
            known = np.asarray(scalars[part], np.float32)
            known = torch.tensor(known, device=self._device)
            out[part] = self._some(a, b, known).cpu().numpy()
        return out

    def there(self, i: Any, j: Any, scalars: Any) -> Any:
        """Return the same of tensors on the device, as a tensor there."""
        import torch

        out = torch.empty(len(i), device=self._device)
        for start in range(0, len(i), _PAIRS):
            part = slice(start, start + _PAIRS)
            out[part] = self._some(i[part], j[part], scalars[part])
        return out

    def _some(self, i: Any, j: Any, scalars: Any) -> Any:
        import torch

        p = self._parameters
        a, b = p["items"][i], p["items"][j]
        x = torch.cat([a * b, (a - b).abs(), a + b, scalars], dim=1)
        h = torch.addmm(p["first_bias"], x, p["first"]).relu()
        h = torch.addmm(p["second_bias"], h, p["second"]).relu()
        return h @ p["last"] + p["last_bias"]
