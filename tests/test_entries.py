"""Entries against a dense array of what is known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fewpairs.matrix.entries import Entries
from tests.conftest import random_matrix

N = 12


@st.composite
def partly_known(draw):
    """Entries with random lines and pairs, and the dense mask of what they know."""
    symmetric = draw(st.booleans())
    diagonal = draw(st.sampled_from([None, 7.0]))
    K = random_matrix(N, symmetric=symmetric, seed=draw(st.integers(0, 99)))
    if diagonal is not None:
        np.fill_diagonal(K, diagonal)
    entries = Entries(N, symmetric=symmetric, diagonal=diagonal)
    mask = np.zeros((N, N), dtype=bool)
    if diagonal is not None:
        mask |= np.eye(N, dtype=bool)
    order = draw(st.permutations(range(N)))
    cut = draw(st.integers(0, 4))
    for block in (order[:cut], order[cut : cut + 2]):
        lines = np.array(block, dtype=np.int64)
        axis = draw(st.sampled_from(["columns", "rows"]))
        values = K[:, lines].T if axis == "columns" else K[lines]
        entries.add_lines(lines, values.copy(), axis)
        if symmetric or axis == "columns":
            mask[:, lines] = True
        if symmetric or axis == "rows":
            mask[lines] = True
    pairs = draw(st.lists(st.tuples(st.integers(0, N - 1), st.integers(0, N - 1))))
    if pairs:
        i, j = np.array(pairs).T
        entries.add_pairs(i, j, K[i, j])
        mask[i, j] = True
        if symmetric:
            mask[j, i] = True
    return entries, K, mask


@given(partly_known())
def test_lookup_knows_exactly_what_was_added(case):
    entries, K, mask = case
    i, j = np.divmod(np.arange(N * N), N)
    known, values = entries.lookup(i, j)
    assert np.array_equal(known, mask.ravel())
    assert np.array_equal(values[known], K.ravel()[known])


@given(partly_known(), st.data())
def test_overlay_writes_the_known_entries_of_a_block_and_no_others(case, data):
    entries, K, mask = case
    positions = st.lists(st.integers(0, N - 1), min_size=1, max_size=2 * N)
    rows, columns = (np.array(data.draw(positions)) for _ in range(2))
    out = np.full((len(rows), len(columns)), np.nan)
    entries.overlay(out, rows, columns)
    at = np.ix_(rows, columns)
    assert np.array_equal(out, np.where(mask[at], K[at], np.nan), equal_nan=True)


@given(partly_known())
def test_moments_count_every_known_pair_once(case):
    entries, K, mask = case
    off = ~np.eye(N, dtype=bool) & mask
    if entries.symmetric:
        off &= np.triu(np.ones((N, N), dtype=bool))
    number, total, squares = entries.moments()
    assert number == off.sum()
    assert total == pytest.approx(K[off].sum(), abs=1e-9)
    assert squares == pytest.approx((K[off] ** 2).sum(), abs=1e-9)


@given(partly_known(), st.integers(0, 200))
def test_samples_are_unknown_distinct_and_as_many_as_there_are(case, size):
    entries, _, mask = case
    i, j = entries.sample_unknown(size, np.random.default_rng(0))
    assert not mask[i, j].any()
    assert (i != j).all()
    assert len({frozenset(p) if entries.symmetric else p for p in zip(i, j)}) == len(i)
    assert len(i) == min(size, entries.pairs - entries.moments().number)


@pytest.mark.parametrize("symmetric", [True, False])
def test_every_unknown_pair_is_equally_likely(symmetric):
    entries = Entries(20, symmetric=symmetric)
    entries.add_lines(np.array([3, 5]), np.zeros((2, 20)))
    rng = np.random.default_rng(1)
    counts = np.zeros((20, 20))
    for _ in range(3_000):
        i, j = entries.sample_unknown(10, rng)
        counts[i, j] += 1
        if symmetric:
            counts[j, i] += 1
    unknown = ~entries.lookup(*np.divmod(np.arange(400), 20))[0].reshape(20, 20)
    np.fill_diagonal(unknown, val=False)
    drawn = counts[unknown]
    # Binomial counts: nothing strays six standard deviations from their mean.
    assert np.abs(drawn - drawn.mean()).max() < 6 * np.sqrt(drawn.mean())
    assert counts[~unknown].sum() == 0


def in_goes(*goes, diagonal=None):
    """Return symmetric entries added in several goes of (i, j, value)."""
    entries = Entries(N, symmetric=True, diagonal=diagonal)
    for go in goes:
        i, j, values = (np.array(side) for side in zip(*go, strict=True))
        entries.add_pairs(i, j, values.astype(float))
        entries.scattered()
    return entries


def test_entries_of_several_goes_are_sorted_once_each_and_the_first_value_stays():
    entries = in_goes(
        [(3, 5, 1.0), (0, 9, 2.0)], [(5, 3, 8.0), (0, 1, 3.0)], [(9, 9, 4.0)]
    )
    keys, values = entries.scattered()
    assert keys.tolist() == [1, 9, 3 * N + 5, 9 * N + 9]
    assert values.tolist() == [3.0, 2.0, 1.0, 4.0]


def test_lines_hold_scattered_entries_with_their_mirrors_and_the_diagonal_once():
    entries = in_goes([(3, 5, 1.0), (0, 5, 2.0)], [(5, 5, 4.0), (5, 7, 3.0)])
    line, where, values = entries.scattered_in_lines(np.array([7, 5]), "rows")
    found = sorted(zip(line.tolist(), where.tolist(), values.tolist(), strict=True))
    assert found == [(0, 5, 3.0), (1, 0, 2.0), (1, 3, 1.0), (1, 5, 4.0), (1, 7, 3.0)]


def test_many_entries_are_looked_up_as_few_are(monkeypatch):
    entries = in_goes([(3, 5, 1.0), (0, 9, 2.0), (0, 1, 3.0)], diagonal=7.0)
    i, j = np.divmod(np.arange(N * N), N)
    whole = entries.lookup(i, j)
    monkeypatch.setattr("fewpairs.matrix.entries._LOOKED_UP", 10)
    for one, other in zip(whole, entries.lookup(i, j), strict=True):
        np.testing.assert_array_equal(one, other)
