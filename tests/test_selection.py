"""Selecting the largest entries gives what partitioning gives."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fewpairs.kernels.linalg.selection import (
    largest,
    largest_of_many,
    places_among,
    rows_of,
)


def make(kind, rows, n, rng):
    X = rng.standard_normal((rows, n)).astype(np.float32)
    if kind == "ties":
        return np.round(X)
    if kind == "constant":
        return np.zeros_like(X)
    if kind == "sorted":
        return np.sort(X, axis=1)
    if kind == "bunched":  # the largest lie where no sample falls
        X[:, 1:9] += 100
    if kind == "hidden":
        X[:, rng.random(n) < 0.97] = -np.inf
    return X


@pytest.mark.parametrize(
    "kind", ["plain", "ties", "constant", "sorted", "bunched", "hidden"]
)
@pytest.mark.parametrize(
    ("n", "count"), [(50, 7), (3_000, 1), (3_000, 40), (3_000, 900)]
)
def test_the_values_are_the_largest(kind, n, count):
    X = make(kind, 20, n, np.random.default_rng(n + count))
    where = largest(X, count)
    assert where.shape == (20, count)
    assert all(len(set(row)) == count for row in where), "a place came twice"
    got = np.sort(np.take_along_axis(X, where, axis=1), axis=1)
    assert np.array_equal(got, np.sort(X, axis=1)[:, n - count :])


def test_no_more_than_there_are():
    assert sorted(largest(np.ones((1, 5)), 9)[0]) == [0, 1, 2, 3, 4]


@given(st.lists(st.integers(0, 7), max_size=12))
def test_rows_are_those_asked_for(indices):
    X = np.arange(16.0).reshape(8, 2)
    at = np.array(indices, dtype=np.int64)
    assert np.array_equal(rows_of(X, at), X[at])


def test_neighboring_rows_are_not_copied():
    X = np.arange(16.0).reshape(8, 2)
    assert np.shares_memory(rows_of(X, np.arange(8)), X)
    assert np.array_equal(rows_of(X, np.arange(2, 5)), X[2:5])
    assert np.shares_memory(rows_of(X, np.arange(2, 5)), X)
    for others in ([0, 2, 1, 3], [0, 1, 1, 3], [-2, -1], [3, 2, 1]):
        got = rows_of(X, np.array(others))
        assert np.array_equal(got, X[others])
        assert not np.shares_memory(got, X)


def test_the_largest_of_many_rows_are_those_of_each():
    scores = np.random.default_rng(0).standard_normal((9_000, 7))
    np.testing.assert_array_equal(largest_of_many(scores, 3), largest(scores, 3))
    assert largest_of_many(scores[:2], 9).shape == (2, 7)


def test_places_among_keys_are_those_of_a_search():
    rng = np.random.default_rng(0)
    keys = np.sort(rng.integers(50, size=40))
    wanted = rng.integers(-5, 60, size=(7, 9))
    np.testing.assert_array_equal(
        places_among(keys, wanted), np.searchsorted(keys, wanted)
    )
    assert places_among(keys, wanted[:0]).shape == (0, 9)
