"""Searcher: a query that comes again costs nothing, whoever asks."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import pytest

import fewpairs as fp
from fewpairs.errors import InputError, StoreError

TEXTS = [
    f"{a} {b} {t}" for a in ("red", "green", "blue") for b in "xyz" for t in range(20)
]
QUERIES = ["red x 31", "green z 7 7", "blue y"]


class Counting:
    """Counts how often each two texts are compared."""

    def __init__(self, fails_after=10**9):
        self.calls = Counter()
        self.fails_after = fails_after

    def __call__(self, a, b):
        if self.calls.total() >= self.fails_after:
            raise ConnectionError("gone")
        self.calls[min(a, b), max(a, b)] += 1
        same = sum((Counter(a) & Counter(b)).values())
        return 2 * same / (len(a) + len(b))


def fitted(calls=None, **options):
    similarity = fp.from_function(
        calls or Counting(), symmetric=True, name="shared letters"
    )
    return fp.approximate(TEXTS, similarity, budget="20/item", **options)


@cache
def plain():
    """Return an approximation that no test searches, but for its answers."""
    return fitted()


def test_a_second_search_of_the_same_new_item_pays_nothing():
    approx = fitted()
    first = approx.search(QUERIES, 4, evaluations=30)
    again = approx.search(QUERIES[::-1], 4, evaluations=30)
    assert first.evaluations == 90
    assert again.evaluations == 0
    assert np.array_equal(again.indices[::-1], first.indices)
    assert np.array_equal(again.similarities[::-1], first.similarities)


def test_a_query_that_repeats_in_a_list_is_paid_for_once():
    calls = Counting()
    approx = fitted(calls)
    before = calls.calls.total()
    found = approx.search([QUERIES[0], QUERIES[1], QUERIES[0]], 4, evaluations=30)
    assert found.evaluations == calls.calls.total() - before == 60
    assert found.indices.shape == (3, 4)
    assert np.array_equal(found.indices[0], found.indices[2])


def test_what_was_asked_before_changes_no_answer():
    approx = fitted()
    approx.search(QUERIES[1], 8, evaluations=100)
    cheap = approx.search(QUERIES, 4, evaluations=30)
    usual = plain().search(QUERIES, 4, evaluations=30)
    assert np.array_equal(cheap.indices, usual.indices)
    assert cheap.evaluations < 90


def test_equal_items_with_other_embeddings_are_searched_by_their_own():
    X = np.random.default_rng(0).standard_normal((len(TEXTS), 5))
    approx = fitted(prior=X)
    near = X[[3, 100]]
    found = approx.search([QUERIES[0]] * 2, 3, evaluations=12, prior=near)
    alone = [
        fitted(prior=X).search(QUERIES[0], 3, evaluations=12, prior=row[None])
        for row in near
    ]
    for both, one in zip(found.similarities, alone, strict=True):
        assert np.array_equal(both, one.similarities)


def test_threads_get_the_answers_of_one_and_pay_for_a_query_once():
    calls = Counting()
    approx = fitted(calls)
    queries = [f"{a} {t}" for a in ("red", "blue") for t in range(100, 106)]
    before = calls.calls.total()
    with approx.searcher(k=3, evaluations=20) as searcher:
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(searcher.search, queries * 4))
        assert searcher.evaluations == calls.calls.total() - before == 20 * len(queries)
        assert searcher.remembered == len(queries)
    assert max((calls.calls - Counter()).values()) <= 2  # both orders, for the symmetry
    usual = plain().search(queries, 3, evaluations=20)
    for t, one in enumerate(found):
        assert np.array_equal(one.indices, usual.indices[t % len(queries)])


def test_another_process_with_the_store_pays_nothing(tmp_path):
    first = fitted(store=tmp_path / "paid")
    with first.searcher(k=4, evaluations=30) as searcher:
        found = searcher.search(QUERIES)
    calls = Counting()
    second = fitted(calls, store=tmp_path / "paid")
    before = calls.calls.total()
    with second.searcher(k=4, evaluations=30) as searcher:
        again = searcher.search(QUERIES)
        assert searcher.remembered == 3
    assert calls.calls.total() == before
    assert np.array_equal(again.similarities, found.similarities)
    first.search("late and new", 4, evaluations=30)
    assert second.search("late and new", 4, evaluations=30).evaluations == 0


def test_what_was_paid_for_before_an_error_is_kept(tmp_path):
    calls = Counting()
    approx = fitted(calls, store=tmp_path / "paid")
    calls.fails_after = calls.calls.total() + 17
    with pytest.raises(fp.SimilarityError, match="gone"):
        approx.search(QUERIES[0], 4, evaluations=30)
    calls.fails_after = 10**9
    assert approx.search(QUERIES[0], 4, evaluations=30).evaluations == 13
    other = fitted(store=tmp_path / "paid")
    assert other.search(QUERIES[0], 4, evaluations=30).evaluations == 0


def test_a_larger_approximation_remembers_and_an_added_query_is_not_paid_again(
    tmp_path,
):
    calls = Counting()
    approx = fitted(calls, store=tmp_path / "paid")
    approx.search(QUERIES, 4, evaluations=30)
    before = Counter(calls.calls)
    larger = approx.add(QUERIES[:2], budget="40/item")
    added = calls.calls - before
    assert not set(added) & set(before)
    assert larger.evaluations == calls.calls.total() - 30  # the third is no item
    assert larger.search(QUERIES[2], 4, evaluations=30).evaluations < 15


def test_fitted_items_are_searched_too():
    approx = fitted()
    with approx.searcher(k=2, evaluations=25) as searcher:
        indices, _ = searcher.search(7)
        assert searcher.search(7).evaluations == 0
    assert indices.shape == (2,)


def test_a_closed_searcher_says_so():
    searcher = plain().searcher()
    searcher.close()
    assert "closed" in repr(searcher)
    with pytest.raises(InputError, match=r"Searcher\.search: it is closed"):
        searcher.search("x")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k is 0"),
        ({"evaluations": 0}, "evaluations is 0"),
        ({"rounds": 1.5}, "rounds is 1.5"),
    ],
)
def test_bad_options_of_a_searcher_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        plain().searcher(**options)


def test_a_damaged_record_is_told_of(tmp_path):
    approx = fitted(store=tmp_path / "paid")
    approx.search(QUERIES[0], 4, evaluations=30)
    (record,) = (tmp_path / "paid" / "queries").iterdir()
    record.write_bytes(b"nothing")
    with pytest.raises(StoreError, match="what a search has paid for, is damaged"):
        fitted(store=tmp_path / "paid").searcher()
