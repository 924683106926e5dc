"""A line of a few straight pieces, at many places, in torch."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

__all__ = ["broken_line"]


def broken_line(
    x: torch.Tensor, knots: NDArray[np.float64], levels: NDArray[np.float64]
) -> torch.Tensor:
    """Return what `fewpairs.kernels.linalg.broken_line` does, of single precision."""
    origin = float(np.float32(knots[0]))
    at = (np.asarray(knots) - origin).astype(np.float32)
    apart = np.append(np.diff(at) > 0, True)
    at, height = at[apart], np.asarray(levels)[apart]
    slopes: NDArray[Any] = np.diff(height) / np.diff(at.astype(np.float64))
    t = x - origin
    out = torch.full_like(t, float(height[0]))
    for low, high, slope in zip(
        at[:-1].tolist(), at[1:].tolist(), slopes.tolist(), strict=True
    ):
        out += (t.clamp(low, high) - low).mul_(slope)
    return out
