"""Random pairs of two sets are dealt: every item has about as many."""

import numpy as np

from fewpairs.matrix.entries import Entries
from fewpairs.methods.auto.dealing import deal

M, N = 40, 25
NONE = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)


def empty():
    return Entries(M + N, symmetric=True, split=M)


def counts(i, j):
    return np.bincount(i, minlength=M), np.bincount(j - M, minlength=N)


def test_every_item_has_as_many_pairs_as_any_other_or_one_more():
    for count in (30, 100, 250):
        i, j = deal(empty(), count, np.random.default_rng(0), NONE)
        assert len(np.unique(i * (M + N) + j)) == len(i) == count
        assert i.max() < M <= j.min()
        for side in counts(i, j):  # a pair that comes twice is drawn anew
            assert np.ptp(side) <= 1 + count // 50


def test_what_was_dealt_before_counts():
    rng = np.random.default_rng(1)
    read = empty()
    first = deal(read, 30, rng, NONE)
    read.add_pairs(*first, np.zeros(30))
    more = deal(read, 50, rng, first)
    both = [np.concatenate(ends) for ends in zip(first, more, strict=True)]
    assert len(np.unique(both[0] * (M + N) + both[1])) == 80
    assert counts(*both)[0].tolist().count(2) >= 36
    assert np.ptp(counts(*both)[1]) <= 2


def test_where_fewer_are_left_all_of_them_come():
    read = empty()
    i, j = (side.ravel() for side in np.meshgrid(np.arange(M), M + np.arange(N)))
    read.add_pairs(i[7:], j[7:], np.zeros(len(i) - 7))
    found = deal(read, 20, np.random.default_rng(2), NONE)
    assert set(zip(*map(np.ndarray.tolist, found), strict=True)) == set(
        zip(i[:7].tolist(), j[:7].tolist(), strict=True)
    )


def test_any_pair_is_as_likely():
    rng = np.random.default_rng(3)
    seen = np.zeros((M, N))
    for _ in range(2_000):
        i, j = deal(empty(), 50, rng, NONE)
        seen[i, j - M] += 1
    expected = 2_000 * 50 / (M * N)
    assert np.abs(seen - expected).max() < 6 * np.sqrt(expected)
