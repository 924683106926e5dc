"""A layer of a transformer in one piece of compiled code, products included.

While it runs nothing of Python is needed, so threads do not wait for each other. See
`kernels.transformer` on when to touch this file.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fewpairs.kernels.transformer.large_pages import empty_in_large_pages
from fewpairs.kernels.transformer.layer_functions import (
    add_and_normalize,
    attend,
    gelu_in_place,
)
from fewpairs.kernels.transformer.packed_products import multiply

__all__ = ["LayerBuffers", "LayerWeights", "Norm", "finish_layer"]

Array = NDArray[np.float32]


class Norm(NamedTuple):
    """What is added before a layer norm, what it scales and shifts by, its least."""

    bias: Array
    scale: Array
    shift: Array
    least: float


class LayerWeights(NamedTuple):
    """Weights of a layer after its queries, keys and values; products are packed."""

    heads: int
    query_bias: Array
    projection: Array
    projection_norm: Norm
    up: Array
    up_bias: Array
    down: Array
    down_norm: Norm


class LayerBuffers(NamedTuple):
    """Where a layer writes to, a row a token: the same place again and again."""

    parts: Array
    mixed: Array
    middle: Array
    hidden: Array
    out: Array

    @classmethod
    def of(cls, rows: int, width: int, inner: int) -> "LayerBuffers":
        """Return arrays for so many tokens."""
        widths = (3 * width, width, width, inner, width)
        return cls(*(empty_in_large_pages(rows, wide) for wide in widths))


@njit(nogil=True, cache=True)
def finish_layer(
    address: int,
    x: Array,
    parts: Array,
    rows: NDArray[np.int64],
    lengths: NDArray[np.int64],
    weights: LayerWeights,
    buffers: LayerBuffers,
) -> None:
    """Write to ``buffers.out`` what a layer makes of x, its queries, keys and values.

    Those of token t are row ``rows[t]`` of ``parts``; ``x`` may be ``buffers.out``.
    ``address`` is that of a `Packing`, by which ``weights`` are packed.
    """
    attend(parts, rows, weights.query_bias, lengths, weights.heads, buffers.mixed)
    multiply(address, buffers.mixed, weights.projection, buffers.middle)
    norm = weights.projection_norm
    add_and_normalize(buffers.middle, x, norm.bias, norm.scale, norm.shift, norm.least)
    multiply(address, buffers.middle, weights.up, buffers.hidden)
    gelu_in_place(buffers.hidden, weights.up_bias)
    multiply(address, buffers.hidden, weights.down, buffers.out)
    norm = weights.down_norm
    add_and_normalize(
        buffers.out, buffers.middle, norm.bias, norm.scale, norm.shift, norm.least
    )
