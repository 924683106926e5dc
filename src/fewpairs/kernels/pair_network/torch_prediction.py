"""Predictions of a pair network by torch, for a GPU: its parameters stay there."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.kernels.pair_network.network import (
    PairNetwork,
    Positions,
    arrays,
    check_pairs,
)

__all__ = ["predictor"]

_PAIRS = 1 << 17  # predicted at once: their inputs and hidden units take some 400 MB


def predictor(
    network: PairNetwork, device: str | None = None
) -> Callable[[Positions, Positions, NDArray[Any]], NDArray[np.float32]]:
    """Return what `kernels.pair_network.predict` does for the network as it is now.

    ``device``: by default a GPU if there is one. May be called from several threads.
    """
    import torch

    if device is None:
        device = "cuda" if torch.cuda.is_available() else "cpu"
    p = {
        name: torch.tensor(part, device=device)
        for name, part in arrays(network).items()
    }

    def predict(
        i: Positions, j: Positions, scalars: NDArray[Any]
    ) -> NDArray[np.float32]:
        check_pairs(network, i, j, scalars)
        out = np.empty(len(i), np.float32)
        for start in range(0, len(i), _PAIRS):
            part = slice(start, start + _PAIRS)
            pairs = np.stack([i[part], j[part]]).astype(np.int64)
            a, b = p["items"][torch.tensor(pairs, device=device)]
            known = torch.tensor(np.asarray(scalars[part], np.float32), device=device)
            x = torch.cat([a * b, (a - b).abs(), a + b, known], dim=1)
            h = torch.addmm(p["first_bias"], x, p["first"]).relu()
            h = torch.addmm(p["second_bias"], h, p["second"]).relu()
            out[part] = (h @ p["last"] + p["last_bias"]).cpu().numpy()
        return out

    return predict
