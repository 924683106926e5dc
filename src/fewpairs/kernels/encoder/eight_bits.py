"""Rows of numbers as 8-bit floating point with a scale each, on a GPU, in one pass.

A product of 8 bits wants its rows scaled to what e4m3 holds. The largest number of a
row is known while it is in registers, so that reading it once is enough: alone, behind
GELU, or behind a residual with its norm. `reference` has the same in plain torch.
"""

# Triton knows its own annotations alone.
# ruff: noqa: ANN001, ANN202
# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call"

from typing import Any

import triton
import triton.language as tl

from fewpairs.kernels.encoder.passes import tiles
from fewpairs.kernels.encoder.reference import LARGEST

__all__ = ["add_norm_quantized", "quantize"]


@triton.jit
def _write_small(numbers, values, scales, at, here, row, rows, most: tl.constexpr):
    largest = tl.maximum(tl.max(tl.abs(numbers), 1), 1e-12)
    small = numbers * (most / largest)[:, None]  # one division a row; saturates
    tl.store(values + at, small.to(values.dtype.element_ty), mask=here)
    tl.store(scales + row, largest / most, mask=row < rows)


@triton.jit
def _quantize(
    x,
    values,
    scales,
    rows,
    gelu: tl.constexpr,
    width: tl.constexpr,
    block: tl.constexpr,
    tile: tl.constexpr,
    most: tl.constexpr,
):
    row = tl.program_id(0) * tile + tl.arange(0, tile)
    column = tl.arange(0, block)
    here = (row < rows)[:, None] & (column < width)[None, :]
    at = row[:, None].to(tl.int64) * width + column[None, :]
    numbers = tl.load(x + at, mask=here, other=0.0).to(tl.float32)
    if gelu:  # ½(1 + tanh(u)) is the logistic function of 2u
        u = 1.5957691216057308 * (numbers + 0.044715 * numbers * numbers * numbers)
        numbers = numbers / (1.0 + tl.exp(-u))
    _write_small(numbers, values, scales, at, here, row, rows, most)


@triton.jit
def _add_norm(
    x,
    y,
    weight,
    bias,
    out,
    values,
    scales,
    rows,
    eps,
    width: tl.constexpr,
    block: tl.constexpr,
    tile: tl.constexpr,
    most: tl.constexpr,
):
    row = tl.program_id(0) * tile + tl.arange(0, tile)
    column = tl.arange(0, block)
    inside = column < width
    here = (row < rows)[:, None] & inside[None, :]
    at = row[:, None].to(tl.int64) * width + column[None, :]
    total = tl.load(x + at, mask=here, other=0.0).to(tl.float32)
    total += tl.load(y + at, mask=here, other=0.0).to(tl.float32)
    mean = tl.sum(total, 1) / width
    centered = tl.where(inside[None, :], total - mean[:, None], 0.0)
    scale = 1.0 / tl.sqrt(tl.sum(centered * centered, 1) / width + eps)
    w = tl.load(weight + column, mask=inside, other=0.0).to(tl.float32)
    b = tl.load(bias + column, mask=inside, other=0.0).to(tl.float32)
    normal = centered * scale[:, None] * w[None, :] + b[None, :]
    tl.store(out + at, normal.to(out.dtype.element_ty), mask=here)
    _write_small(normal, values, scales, at, here, row, rows, most)


def quantize(x: Any, *, gelu: bool = False) -> tuple[Any, Any]:
    """Return rows as 8-bit numbers and their scales, of x or of its GELU (by tanh)."""
    rows, width = x.shape
    values, scales = _empty(x)
    block, tile = tiles(width)
    _quantize[(triton.cdiv(rows, tile),)](
        x, values, scales, rows, gelu, width, block, tile, LARGEST
    )
    return values, scales


def add_norm_quantized(x: Any, y: Any, norm: Any) -> tuple[Any, Any, Any]:
    """Return the layer norm of the rows of x + y, its 8-bit numbers and scales."""
    rows, width = x.shape
    out = x.new_empty(x.shape)
    values, scales = _empty(x)
    block, tile = tiles(width)
    _add_norm[(triton.cdiv(rows, tile),)](
        x,
        y,
        norm.weight,
        norm.bias,
        out,
        values,
        scales,
        rows,
        norm.eps,
        width,
        block,
        tile,
        LARGEST,
    )
    return out, values, scales


def _empty(x: Any) -> tuple[Any, Any]:
    import torch

    values = torch.empty(x.shape, dtype=torch.float8_e4m3fn, device=x.device)
    scales = torch.empty(len(x), 1, dtype=torch.float32, device=x.device)
    return values, scales
