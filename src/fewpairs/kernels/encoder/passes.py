"""What matrix products leave to do in an encoder on a GPU, each in one pass.

Beside its products a small encoder spends its time on moving numbers: sums, norms, and
attention of a few dozen tokens, for which the usual kernels compute tiles of 64 × 128.
These read and write every number once. `reference` has the same in plain torch and
says what is right. Needs Triton, which comes with PyTorch for CUDA on Linux.
"""

# Triton knows its own annotations alone.
# ruff: noqa: ANN001, ANN202
# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call"

from typing import Any

import triton
import triton.language as tl

__all__ = ["LONGEST", "add_norm", "attend", "attend_first", "embed_norm", "tiles"]

LONGEST = 128  # tokens of a pair whose scores fit into registers


@triton.jit
def _write_norm(total, weight, bias, out, at, here, column, eps, width: tl.constexpr):
    inside = column < width
    mean = tl.sum(total, 1) / width
    centered = tl.where(inside[None, :], total - mean[:, None], 0.0)
    scale = 1.0 / tl.sqrt(tl.sum(centered * centered, 1) / width + eps)
    w = tl.load(weight + column, mask=inside, other=0.0).to(tl.float32)
    b = tl.load(bias + column, mask=inside, other=0.0).to(tl.float32)
    normal = centered * scale[:, None] * w[None, :] + b[None, :]
    tl.store(out + at, normal.to(out.dtype.element_ty), mask=here)


@triton.jit
def _add_norm(
    x,
    y,
    weight,
    bias,
    out,
    rows,
    eps,
    width: tl.constexpr,
    block: tl.constexpr,
    tile: tl.constexpr,
):
    row = tl.program_id(0) * tile + tl.arange(0, tile)
    column = tl.arange(0, block)
    here = (row < rows)[:, None] & (column < width)[None, :]
    at = row[:, None].to(tl.int64) * width + column[None, :]
    total = tl.load(x + at, mask=here, other=0.0).to(tl.float32)
    total += tl.load(y + at, mask=here, other=0.0).to(tl.float32)
    _write_norm(total, weight, bias, out, at, here, column, eps, width)


@triton.jit
def _embed_norm(
    ids,
    kinds,
    places,
    words,
    types,
    spots,
    weight,
    bias,
    out,
    rows,
    first,
    eps,
    typed: tl.constexpr,
    width: tl.constexpr,
    block: tl.constexpr,
    tile: tl.constexpr,
):
    row = tl.program_id(0) * tile + tl.arange(0, tile)
    column = tl.arange(0, block)
    real = row < rows
    here = real[:, None] & (column < width)[None, :]
    word = tl.load(ids + row, mask=real, other=0).to(tl.int64)
    spot = tl.load(places + row, mask=real, other=0).to(tl.int64) + first
    at = word[:, None] * width + column[None, :]
    total = tl.load(words + at, mask=here, other=0.0).to(tl.float32)
    at = spot[:, None] * width + column[None, :]
    total += tl.load(spots + at, mask=here, other=0.0).to(tl.float32)
    kind = row * 0
    if typed:
        kind = tl.load(kinds + row, mask=real, other=0).to(tl.int64)
    at = kind[:, None] * width + column[None, :]
    total += tl.load(types + at, mask=here, other=0.0).to(tl.float32)
    at = row[:, None].to(tl.int64) * width + column[None, :]
    _write_norm(total, weight, bias, out, at, here, column, eps, width)


@triton.jit
def _attend(
    parts,
    out,
    starts,
    scale,
    heads: tl.constexpr,
    width: tl.constexpr,
    block: tl.constexpr,
):
    pair, head = tl.program_id(0), tl.program_id(1)
    start = tl.load(starts + pair)
    length = tl.load(starts + pair + 1) - start
    row, column = tl.arange(0, block), tl.arange(0, width)
    real = row < length
    token = (start + row)[:, None].to(tl.int64)
    at = token * (3 * heads * width) + head * width + column[None, :]
    q = tl.load(parts + at, mask=real[:, None], other=0.0)
    k = tl.load(parts + at + heads * width, mask=real[:, None], other=0.0)
    v = tl.load(parts + at + 2 * heads * width, mask=real[:, None], other=0.0)
    scores = tl.dot(q, tl.trans(k)) * scale
    scores = tl.where(real[None, :], scores, float("-inf"))
    grown = tl.exp(scores - tl.max(scores, 1)[:, None])
    mixed = tl.dot(grown.to(v.dtype), v) / tl.sum(grown, 1)[:, None]
    at = token * (heads * width) + head * width + column[None, :]
    tl.store(out + at, mixed.to(out.dtype.element_ty), mask=real[:, None])


@triton.jit
def _attend_first(
    query,
    parts,
    out,
    starts,
    scale,
    heads: tl.constexpr,
    width: tl.constexpr,
    block: tl.constexpr,
):
    pair, head = tl.program_id(0), tl.program_id(1)
    start = tl.load(starts + pair)
    length = tl.load(starts + pair + 1) - start
    row, column = tl.arange(0, block), tl.arange(0, width)
    real = row < length
    mine = pair.to(tl.int64) * (heads * width) + head * width + column
    q = tl.load(query + mine).to(tl.float32)
    token = (start + row)[:, None].to(tl.int64)
    at = token * (2 * heads * width) + head * width + column[None, :]
    k = tl.load(parts + at, mask=real[:, None], other=0.0).to(tl.float32)
    v = tl.load(parts + at + heads * width, mask=real[:, None], other=0.0)
    scores = tl.sum(k * q[None, :], 1) * scale
    scores = tl.where(real, scores, float("-inf"))
    grown = tl.exp(scores - tl.max(scores, 0))
    mixed = tl.sum(grown[:, None] * v.to(tl.float32), 0) / tl.sum(grown, 0)
    tl.store(out + mine, mixed.to(out.dtype.element_ty))


def add_norm(x: Any, y: Any, norm: Any) -> Any:
    """Return the layer norm of the rows of x + y."""
    rows, width = x.shape
    out = x.new_empty(x.shape)
    block, tile = tiles(width)
    _add_norm[(triton.cdiv(rows, tile),)](
        x, y, norm.weight, norm.bias, out, rows, norm.eps, width, block, tile
    )
    return out


def embed_norm(ids: Any, kinds: Any, places: Any, tables: Any, norm: Any) -> Any:
    """Return the layer norm of three embeddings' sum, a row per token.

    ``tables`` are those of words, types and places, and the number of the first place.
    Without ``kinds`` all tokens are of type 0.
    """
    words, types, spots, first = tables
    rows, width = len(ids), words.shape[1]
    out = words.new_empty(rows, width)
    block, tile = tiles(width)
    typed = kinds is not None
    _embed_norm[(triton.cdiv(rows, tile),)](
        ids,
        kinds if typed else ids,
        places,
        words,
        types,
        spots,
        norm.weight,
        norm.bias,
        out,
        rows,
        first,
        norm.eps,
        typed,
        width,
        block,
        tile,
    )
    return out


def attend(parts: Any, starts: Any, *, heads: int, longest: int) -> Any:
    """Return what all tokens make of their pair's, (tokens, heads · width).

    ``parts`` are queries, keys and values side by side, a row per token; a pair begins
    at ``starts[t]`` and ends at ``starts[t + 1]``, and has at most ``longest`` tokens.
    """
    width = parts.shape[1] // (3 * heads)
    out = parts.new_empty(len(parts), heads * width)
    block = _block(longest)
    _attend[(len(starts) - 1, heads)](
        parts, out, starts, width**-0.5, heads, width, block, num_warps=block // 16
    )
    return out


def attend_first(
    query: Any, parts: Any, starts: Any, *, heads: int, longest: int
) -> Any:
    """Return what the first tokens make of their pair's, (pairs, heads · width).

    ``query`` has a row per pair, ``parts`` keys and values side by side.
    """
    width = parts.shape[1] // (2 * heads)
    out = query.new_empty(query.shape)
    block = _block(longest)
    _attend_first[(len(starts) - 1, heads)](
        query, parts, out, starts, width**-0.5, heads, width, block, num_warps=1
    )
    return out


def tiles(width: int) -> tuple[int, int]:
    """Return how many columns and rows a program takes: a warp per row or two."""
    block = triton.next_power_of_2(width)
    return block, max(1, 2_048 // block)


def _block(longest: int) -> int:
    if longest > LONGEST:
        msg = f"pairs of {longest} tokens, over {LONGEST}"
        raise ValueError(msg)
    return max(32, triton.next_power_of_2(longest))
