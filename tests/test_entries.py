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
