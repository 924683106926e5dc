"""Compiled code between the products of a transformer does what its twins say."""

import ctypes
import mmap
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("numba", reason="needs the wmd or torch extra")

from numba import njit

from fewpairs.kernels.transformer import vector_functions, vectors
from fewpairs.kernels.transformer.encoder_layer import (
    LayerBuffers,
    LayerWeights,
    Norm,
    finish_layer,
)
from fewpairs.kernels.transformer.large_pages import empty_in_large_pages
from fewpairs.kernels.transformer.layer_functions import (
    add_and_normalize,
    attend,
    gelu_in_place,
)
from fewpairs.kernels.transformer.packed_products import Packing, multiply
from fewpairs.kernels.transformer.vectors import LANES, TALL


@njit
def _product_tile(a, b, out, at, step, b_at, b_step, depth):
    vectors.product_tile(a, at, step, b, b_at, b_step, depth, out, 4, 21)


@njit
def _turn_tile(x, out, at, step, out_at, out_step):
    vectors.turn_tile(x, at, step, out, out_at, out_step)


@njit
def _shift_and_scale(x, shift, out, factor):
    vectors.shift_and_scale(x, 3, shift, 5, factor, out, 1, 2 * LANES)


@njit
def _exponentials(x, at, width):
    return vector_functions.exponentials(x, at, width)


def numbers(seed, size, scale=1.0):
    return (scale * np.random.default_rng(seed).normal(size=size)).astype(np.float32)


def test_a_tile_of_a_product_equals_its_twin():
    a, b, out = numbers(0, 400), numbers(1, 2_000), numbers(2, 200)
    expected = out.astype(float)
    vectors.product_tile_twin(
        a.astype(float), 3, 40, b.astype(float), 7, 50, 33, expected, 4, 21
    )
    _product_tile(a, b, out, 3, 40, 7, 50, 33)
    assert np.abs(out - expected).max() < 1e-5
    assert len(out) > TALL * 21


def test_a_turned_tile_equals_its_twin():
    x, out = numbers(0, 400), numbers(1, 400)
    expected = out.copy()
    vectors.turn_tile_twin(x, 5, 19, expected, 2, 23)
    _turn_tile(x, out, 5, 19, 2, 23)
    assert np.array_equal(out, expected)


def test_shifted_and_scaled_numbers_equal_their_twin():
    x, shift, out = numbers(0, 60), numbers(1, 60), numbers(2, 60)
    expected = out.copy()
    factor = np.float32(0.3)
    vectors.shift_and_scale_twin(x, 3, shift, 5, factor, expected, 1, 2 * LANES)
    _shift_and_scale(x, shift, out, factor)
    assert np.abs(out - expected).max() < 1e-6


@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0, 1e4])
@pytest.mark.parametrize("width", [1, 15, 16, 17, 64, 100])
def test_exponentials_equal_their_twin(width, scale):
    x = numbers(width, 140, scale)
    expected = x.astype(float)
    total = vector_functions.exponentials_twin(expected, 7, width)
    assert _exponentials(x, 7, width) == pytest.approx(total, rel=1e-6)
    assert np.allclose(x, expected, rtol=3e-6, atol=1e-30)


def test_gelu_equals_its_twin_over_all_magnitudes():
    x = np.concatenate([np.linspace(-40, 40, 6_400), numbers(0, 3_200, 1e-3)])
    x = x.astype(np.float32).reshape(-1, 2 * LANES)
    bias = numbers(1, 2 * LANES)
    expected, size = x.astype(float), np.abs(x + bias)
    for row in expected:
        vector_functions.gelu_twin(row, 0, bias.astype(float), len(row))
    gelu_in_place(x, bias)
    assert (np.abs(x - expected) <= 1.5e-7 * (1 + size)).all()


def test_layer_norm_equals_its_formula():
    x, residual = numbers(0, (50, 48), 3.0), numbers(1, (50, 48)) + 20
    bias, scale, shift = numbers(2, 48), numbers(3, 48), numbers(4, 48)
    y = (x + bias + residual).astype(float)
    y -= y.mean(axis=1, keepdims=True)
    expected = y / np.sqrt((y**2).mean(axis=1, keepdims=True) + 1e-5) * scale + shift
    add_and_normalize(x, residual, bias, scale, shift, 1e-5)
    assert np.abs(x - expected).max() < 1e-5


def attention(parts, bias, lengths, heads):
    """The formula, in double precision."""
    width = parts.shape[1] // 3
    out, start = np.zeros((len(parts), width)), 0
    for length in lengths:
        rows = parts[start : start + length].astype(float)
        for own in np.split(np.arange(width), heads):
            q, k, v = (rows[:, part * width + own] for part in range(3))
            q = q + bias[own]
            scores = q @ k.T / np.sqrt(len(own))
            share = np.exp(scores - scores.max(axis=1, keepdims=True))
            out[start : start + length][:, own] = (
                share @ v / share.sum(axis=1, keepdims=True)
            )
        start += length
    return out


@pytest.mark.parametrize(("heads", "wide"), [(1, 16), (3, 32), (2, 64)])
def test_attention_equals_its_formula(heads, wide):
    lengths = np.array([1, 8, 9, 15, 16, 17, 33, 70, 2])
    rows = int(lengths.sum())
    width = heads * wide
    known = numbers(0, (rows + 20, 3 * width), 2.0)
    at = np.random.default_rng(1).integers(len(known), size=rows + 5)
    bias, out = numbers(2, width), np.full((rows + 5, width), np.nan, np.float32)
    attend(known, at, bias, lengths, heads, out)
    expected = attention(known[at], bias.astype(float), lengths, heads)
    assert np.abs(out[:rows] - expected[:rows]).max() < 1e-5
    assert not out[rows:].any()


def test_what_is_no_number_stays_none():
    lengths = np.array([5, 20])
    parts = numbers(0, (25, 96))
    parts[2, 40] = np.nan  # a key of the first pair
    out = np.zeros((25, 32), np.float32)
    attend(parts, np.arange(25), numbers(1, 32), lengths, 2, out)
    assert np.isnan(out[:5]).any()
    assert np.isfinite(out[5:]).all()
    x = np.full((1, 16), np.nan, np.float32)
    gelu_in_place(x, np.zeros(16, np.float32))
    assert np.isnan(x).all()
    x = np.full((1, 16), np.nan, np.float32)
    add_and_normalize(x, *(np.ones((1, 16), np.float32), *numbers(0, (3, 16))), 1e-5)
    assert np.isnan(x).all()


def packed_products():
    """Those of torch, or a reason to skip."""
    torch = pytest.importorskip("torch", reason="needs the torch extra")
    try:
        return Packing(ctypes.CDLL(torch._C.__file__))
    except AttributeError:
        pytest.skip("this PyTorch has no MKL that can be called")


@pytest.mark.parametrize(("rows", "columns", "depth"), [(1, 1, 1), (96, 50, 70)])
def test_packed_products_equal_plain_ones(rows, columns, depth):
    packing = packed_products()
    x, weight = numbers(0, (rows, depth)), numbers(1, (columns, depth))
    out = np.full((rows, columns), np.nan, np.float32)
    multiply(packing.address, x, packing.pack(weight, rows=rows), out)
    assert np.abs(out - x.astype(float) @ weight.T.astype(float)).max() < 1e-4


def test_a_library_without_packed_products_is_refused():
    with pytest.raises(AttributeError, match="cblas_sgemm"):
        Packing(SimpleNamespace())


def test_packed_products_that_are_called_in_another_way_are_refused():
    size = ctypes.CFUNCTYPE(ctypes.c_size_t, *[ctypes.c_int32] * 4)(lambda *_: 256)
    nothing = ctypes.CFUNCTYPE(None)(lambda *_: None)
    library = SimpleNamespace(
        cblas_sgemm_pack_get_size=size,
        cblas_sgemm_pack=lambda *_: None,
        cblas_sgemm_compute=nothing,
    )
    with pytest.raises(AttributeError, match="called in another way"):
        Packing(library)


def test_a_layer_in_one_call_equals_its_steps():
    packing = packed_products()
    lengths, heads, width, inner = np.array([30, 7, 20]), 2, 32, 64
    rows = 60  # three of no pair
    x, parts = numbers(0, (rows, width)), numbers(1, (rows, 3 * width))
    shapes = ((width, width), (inner, width), (width, inner))
    projection, up, down = (numbers(k, shape) for k, shape in enumerate(shapes))
    norms = [Norm(*numbers(k, (3, width)), 1e-5) for k in (5, 6)]
    query_bias, up_bias = numbers(7, width), numbers(8, inner)

    mixed = np.empty_like(x)
    attend(parts, np.arange(rows), query_bias, lengths, heads, mixed)
    y = mixed @ projection.T
    add_and_normalize(y, x, *norms[0])
    hidden = y @ up.T
    gelu_in_place(hidden, up_bias)
    expected = hidden @ down.T
    add_and_normalize(expected, y, *norms[1])

    projection, up, down = (
        packing.pack(weight, rows=rows) for weight in (projection, up, down)
    )
    weights = LayerWeights(
        heads, query_bias, projection, norms[0], up, up_bias, down, norms[1]
    )
    room = LayerBuffers.of(rows, width, inner)
    room.out[:] = x  # where the layer before has left it
    at = np.arange(rows)
    finish_layer(packing.address, room.out, parts, at, lengths, weights, room)
    assert np.abs(room.out - expected).max() < 1e-4


def test_arrays_in_large_pages_are_arrays():
    array = empty_in_large_pages(700, 1_000)
    array[:] = 1
    assert array.shape == (700, 1_000)
    assert array.dtype == np.float32
    assert array.flags.c_contiguous
    assert array.sum() == 700_000


def test_without_large_pages_arrays_lie_in_others(monkeypatch):
    monkeypatch.delattr(mmap, "MADV_HUGEPAGE", raising=False)
    array = empty_in_large_pages(3, 5)
    assert array.base is None
    assert array.shape == (3, 5)
