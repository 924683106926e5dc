"""What a transformer does between its products, a row or a pair at a time.

Arrays are float32, rows of tokens. Every function takes the bias of the product before
it: products without a bias are quicker, and here it costs nothing.

Numba keeps what it compiled beside this file and looks at the age of this file alone:
after a change in ``vectors`` or ``vector_functions``, touch it, and after one here
``encoder_layer``, which has this inside.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fewpairs.kernels.transformer.vector_functions import exponentials, gelu
from fewpairs.kernels.transformer.vectors import (
    FAST,
    LANES,
    TALL,
    product_tile,
    shift_and_scale,
    turn_tile,
)

__all__ = ["add_and_normalize", "attend", "gelu_in_place"]

Array = NDArray[np.float32]


@njit(nogil=True, cache=True)
def gelu_in_place(x: Array, bias: Array) -> None:
    """Replace x by GELU(x + bias); the width is a multiple of LANES."""
    rows, width = x.shape
    flat = x.reshape(-1)
    for row in range(rows):
        gelu(flat, row * width, bias, width)


@njit(nogil=True, cache=True, fastmath=set(FAST))
def add_and_normalize(
    x: Array, residual: Array, bias: Array, scale: Array, shift: Array, least: float
) -> None:
    """Replace x by the layer norm of x + bias + residual, row by row.

    ``least`` is what is added to the variance.
    """
    rows, width = x.shape
    share = np.float32(1.0 / width)
    for row in range(rows):
        total = np.float32(0)
        for k in range(width):
            value = x[row, k] + bias[k] + residual[row, k]
            x[row, k] = value
            total += value
        mean = total * share
        total = np.float32(0)
        for k in range(width):
            value = x[row, k] - mean
            total += value * value
        factor = np.float32(1.0 / np.sqrt(total * share + np.float32(least)))
        for k in range(width):
            x[row, k] = (x[row, k] - mean) * factor * scale[k] + shift[k]


@njit(nogil=True, cache=True)
def attend(
    parts: Array,
    rows: NDArray[np.int64],
    bias: Array,
    lengths: NDArray[np.int64],
    heads: int,
    out: Array,
) -> None:
    """Write Σ softmax(q·k / √d) v of every token over those of its pair.

    ``parts`` has queries, keys and values side by side, without their biases; token t
    has the row ``rows[t]``. ``bias`` is that of the queries alone: that of the keys
    adds the same number to all scores of a token, and that of the values comes out as
    it is, to be added later. The width of a head is a multiple of LANES. Pairs lie one
    after another; rows of ``out`` after the last one are set to 0.
    """
    width = parts.shape[1] // 3
    wide = width // heads
    one = np.float32(1)
    scale = one / np.float32(np.sqrt(wide))
    longest = -(-lengths.max() // LANES) * LANES
    queries, keys, values, turned = np.zeros((4, longest * wide), np.float32)
    scores = np.zeros(TALL * longest, np.float32)
    mixed = np.zeros(TALL * wide, np.float32)
    none = np.zeros(wide, np.float32)
    shares = np.ones(TALL, np.float32)
    flat, flat_out = parts.reshape(-1), out.reshape(-1)
    start = 0
    for length in lengths:
        across = -(-length // LANES) * LANES
        for first in range(0, width, wide):
            for t in range(length):
                at, to = rows[start + t] * parts.shape[1] + first, t * wide
                shift_and_scale(flat, at, bias, first, scale, queries, to, wide)
                shift_and_scale(flat, at + width, none, 0, one, keys, to, wide)
                shift_and_scale(flat, at + 2 * width, none, 0, one, values, to, wide)
            for top in range(0, across, LANES):
                for left in range(0, wide, LANES):
                    to = left * across + top
                    turn_tile(keys, top * wide + left, wide, turned, to, across)
            for top in range(0, length, TALL):
                for left in range(0, across, LANES):
                    product_tile(
                        queries, top * wide, wide, turned, left, across, wide,
                        scores, left, across,
                    )  # fmt: skip
                tall = min(TALL, length - top)
                for r in range(tall):
                    shares[r] = one / exponentials(scores, r * across, length)
                for left in range(0, wide, LANES):
                    product_tile(
                        scores, 0, across, values, left, wide, length,
                        mixed, left, wide,
                    )  # fmt: skip
                for r in range(tall):
                    to = (start + top + r) * width + first
                    share = shares[r]
                    shift_and_scale(mixed, r * wide, none, 0, share, flat_out, to, wide)
        start += length
    out[start:] = 0
