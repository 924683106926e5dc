"""Kernels for pairs of rows and for curves give what their plain twins give."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fewpairs.kernels.linalg.broken_line import broken_line
from fewpairs.kernels.linalg.row_products import row_products


@given(
    st.lists(st.floats(0.05, 2), max_size=13),
    st.integers(0, 2**32 - 1),
)
def test_a_broken_line_is_what_interp_gives(gaps, seed):
    rng = np.random.default_rng(seed)
    knots = rng.uniform(-9, 9) + np.cumsum([0.0, *gaps])
    levels = rng.standard_normal(len(knots))
    x = rng.uniform(knots[0] - 1, knots[-1] + 1, (3, 50)).astype(np.float32)
    x[0, : len(knots)] = knots
    np.testing.assert_allclose(
        broken_line(x, knots, levels), np.interp(x, knots, levels), atol=1e-4
    )


def test_small_levels_survive_beside_large_ones_and_knots_as_good_as_equal():
    knots = np.array([0.0, 0.5, 1.0 - 1e-9, 1.0])
    levels = np.array([1e-4, 2e-4, 0.5, 1.0])
    x = np.array([-1.0, 0.0, 0.25, 0.5, 2.0], dtype=np.float32)
    np.testing.assert_allclose(
        broken_line(x, knots, levels), [1e-4, 1e-4, 1.5e-4, 2e-4, 1.0], rtol=1e-5
    )


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_a_large_offset_of_places_costs_nothing(offset):
    knots = np.linspace(0, 1, 9)
    levels = np.sin(5 * knots)
    x = np.random.default_rng(0).random(1_000)
    got = broken_line(x + offset, knots + offset, levels)
    np.testing.assert_allclose(got, np.interp(x, knots, levels), atol=1e-5)


@pytest.mark.parametrize("width", [1, 13, 400])
def test_products_of_rows_are_those_of_every_pair(width):
    rng = np.random.default_rng(width)
    A, B = rng.standard_normal((2, 60, width))
    i, j = rng.integers(60, size=(2, 3_000))
    np.testing.assert_allclose(
        row_products(A, B, i, j), [A[s] @ B[t] for s, t in zip(i, j, strict=True)]
    )
    assert row_products(A.astype(np.float32), B, i[:0], j[:0]).shape == (0,)
