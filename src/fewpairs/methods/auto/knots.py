"""Knots of curves that are linear between them, where there are pairs."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["hats", "knots_of"]

_RANDOM_AT = 0.02, 0.25, 0.5, 0.75, 0.9, 0.98  # quantiles of random pairs
_CHOSEN_AT = 0.05, 0.25, 0.5, 0.75, 0.95, 1.0  # and of those that were chosen
_APART = 0.02  # of the whole range, between knots


def knots_of(
    chosen: NDArray[Any], random: NDArray[Any], *, most: int | None = None
) -> NDArray[np.float64]:
    """Return knots where there are pairs, not too close to each other, or too many."""
    parts = [np.quantile(chosen, _CHOSEN_AT)]
    if len(random):
        parts.append(np.quantile(random, _RANDOM_AT))
    found = np.sort(np.concatenate(parts)).astype(np.float64)
    if most is not None and most < len(found):
        found = found[np.linspace(0, len(found) - 1, most).round().astype(np.int64)]
    apart = _APART * (found[-2] - found[0]) + 1e-9 * (found[-1] - found[0])
    kept = [found[0]]
    for knot in found[1:]:
        if knot - kept[-1] > apart:
            kept.append(knot)
    return np.array(kept)


def hats(x: NDArray[Any], knots: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return (m, k) weights of the knots: linear between two, constant beyond."""
    m, k = len(x), len(knots)
    out = np.zeros((m, k), dtype=np.float32)
    if k < 2:
        out[:] = 1.0
        return out
    at = np.clip(np.searchsorted(knots, x, side="right") - 1, 0, k - 2)
    share = np.clip((x - knots[at]) / (knots[at + 1] - knots[at]), 0, 1)
    rows = np.arange(m)
    out[rows, at] = 1 - share
    out[rows, at + 1] = share
    return out
