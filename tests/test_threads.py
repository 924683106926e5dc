"""Threads: the answers of one thread, from any number, and every pair paid once."""

import pickle
import threading
from collections import Counter
from concurrent import futures

import numpy as np
import pytest

import fewpairs as fp
from fewpairs.errors import StoreError
from fewpairs.matrix.entries import Entries
from tests.conftest import random_matrix

N, THREADS, SEARCHES = 120, 16, 200
HOW = {"evaluations": 12, "rounds": 2}
K = random_matrix(N + THREADS, symmetric=True)


class Judge:
    """Counts every pair, in either order; notices two calls at a time."""

    def __init__(self):
        self.calls = Counter()
        self.inside = 0
        self.crowd = 0

    def __call__(self, a, b):
        self.inside += 1
        self.crowd = max(self.crowd, self.inside)
        self.calls[min(a, b), max(a, b)] += 1
        value = float(K[int(a), int(b)])
        self.inside -= 1
        return value


class Proven(fp.Similarity):
    """Its symmetry is not checked, which would ask some pairs in both orders."""

    diagonal, proven, name = 1.0, True, "judge"

    def __init__(self, judge):
        self.judge = judge

    def bind(self, items):
        return fp.from_function(self.judge).bind(items)


def fit(judge, **options):
    similarity = Proven(judge)
    options = {"method": "nystrom", "budget": 0.2, **options}
    return fp.approximate([str(t) for t in range(N)], similarity, **options)


def together(work, number=THREADS):
    """Call work(t) in so many threads that start at once; return what they return."""
    gate = threading.Barrier(number)

    def begin(t):
        gate.wait()
        return work(t)

    with futures.ThreadPoolExecutor(number) as pool:
        return [
            done.result() for done in [pool.submit(begin, t) for t in range(number)]
        ]


def queries(thread):
    """Return items to search for: every thread's own order, all of them shared."""
    return np.random.default_rng(thread).integers(N, size=SEARCHES).tolist()


def test_sixteen_threads_search_like_one_and_every_pair_is_paid_once():
    alone, crowd = Judge(), Judge()
    one, many = fit(alone), fit(crowd)
    truth = {q: one.search(q, 5, **HOW) for q in range(N)}

    def work(thread):
        return [(q, many.search(q, 5, **HOW)) for q in queries(thread)]

    spent = 0
    for found in together(work):
        for query, got in found:
            np.testing.assert_array_equal(got.indices, truth[query].indices)
            np.testing.assert_array_equal(got.similarities, truth[query].similarities)
            spent += got.evaluations
    assert set(crowd.calls.values()) == {1}
    assert crowd.crowd == 1  # a similarity need not be safe in threads
    assert crowd.calls.total() == many.evaluations + spent
    # And the object is as good as it was.
    np.testing.assert_array_equal(many.dense(), one.dense())
    again = many.search(7, 5, evaluations=N)
    np.testing.assert_array_equal(
        again.indices, one.search(7, 5, evaluations=N).indices
    )


def test_a_search_depends_on_what_was_asked_and_not_on_searches_before():
    fresh, used = fit(Judge()), fit(Judge())
    for query in range(40):
        used.search(query, 5, **HOW)
    for query in range(40, 60):
        first = fresh.search(query, 5, **HOW)
        later = used.search(query, 5, **HOW)
        np.testing.assert_array_equal(first.indices, later.indices)
        assert later.evaluations <= first.evaluations


def test_everything_else_that_reads_is_safe_in_threads_too():
    judge = Judge()
    approx, plain = fit(judge), fit(Judge())
    names = [str(N + t) for t in range(THREADS)]
    expected = [plain.search(name, 5, evaluations=30) for name in names]
    neighbors = plain.neighbors(4)
    rows = np.arange(N)

    def work(t):
        found = approx.search(names[t], 5, evaluations=30)
        np.testing.assert_array_equal(found.indices, expected[t].indices)
        approx.cluster(threshold=0.5, evaluations=50)  # each goes on from the last
        np.testing.assert_array_equal(approx.neighbors(4).indices, neighbors.indices)
        np.testing.assert_array_equal(
            approx.pairs(rows, rows[::-1]), plain.pairs(rows, rows[::-1])
        )
        np.testing.assert_array_equal(approx @ np.ones(N), plain @ np.ones(N))
        return approx.certificate

    certificates = together(work)
    assert all(one is certificates[0] for one in certificates)
    assert max(judge.calls.values()) == 1
    assert judge.crowd == 1


@pytest.mark.parametrize("durable", [False, True])
def test_runs_on_one_ledger_wait_for_each_other_and_pay_once(durable, tmp_path):
    judge = Judge()
    ledger = fp.Ledger(tmp_path if durable else None)
    results = together(lambda _: fit(judge, store=ledger), 3)
    assert max(judge.calls.values()) == 1
    assert sum(one.evaluations for one in results) == judge.calls.total()
    assert ledger.evaluations == judge.calls.total()
    for one in results:
        np.testing.assert_array_equal(one.dense(), results[0].dense())


def test_searches_of_runs_that_share_a_ledger_pay_once():
    judge, ledger = Judge(), fp.Ledger()
    runs = [fit(judge, store=ledger, seed=seed) for seed in range(4)]
    together(lambda t: [runs[t].search(q, 5, **HOW) for q in range(30)], 4)
    assert max(judge.calls.values()) == 1


def test_a_folder_that_another_run_is_writing_to_is_refused(tmp_path):
    entered, leave = threading.Event(), threading.Event()

    def slow(a, b):
        entered.set()
        leave.wait(60)
        return float(K[int(a), int(b)])

    with futures.ThreadPoolExecutor(1) as pool:
        first = pool.submit(fit, slow, store=tmp_path)
        entered.wait(60)
        try:
            with pytest.raises(StoreError, match="is in use by process"):
                fit(slow, store=tmp_path)
        finally:
            leave.set()
        assert first.result().evaluations > 0


def test_entries_answer_while_they_are_added_to():
    size, rounds = 400, 60
    entries = Entries(size, symmetric=True)
    i, j = np.triu_indices(size, 1)
    order = np.random.default_rng(0).permutation(len(i))
    parts = np.array_split(order, rounds)
    value = (i * 1_000 + j).astype(float)

    def work(t):
        if t == 0:
            for part in parts:
                entries.add_pairs(i[part], j[part], value[part])
            return
        for part in parts:
            known, values = entries.lookup(i[part], j[part])
            np.testing.assert_array_equal(values[known], value[part][known])
            out = np.full((20, size), np.nan)
            entries.overlay(out, np.arange(20), np.arange(size))
            row, column = np.nonzero(np.isfinite(out))
            low, high = np.minimum(row, column), np.maximum(row, column)
            np.testing.assert_array_equal(out[row, column], low * 1_000 + high)
            assert entries.moments().number <= len(i)

    together(work, 6)
    assert entries.moments().number == len(i)


def test_what_can_be_asked_by_threads_can_still_be_sent_to_processes():
    ledger = fp.Ledger()
    similarity = fp.StringSimilarity("levenshtein")
    texts = [f"text {t} {t * t}" for t in range(60)]
    approx = fp.approximate(texts, similarity, store=ledger, budget=0.3)
    approx.search(3, 2)
    copy, other = (pickle.loads(pickle.dumps(one)) for one in (approx, ledger))  # noqa: S301
    np.testing.assert_array_equal(copy.dense(), approx.dense())
    assert copy.search(3, 2).evaluations == 0
    assert other.evaluations == ledger.evaluations


def test_estimators_that_share_a_store_in_threads_pay_once():
    judge, store = Judge(), fp.sklearn.Store()
    similarity = Proven(judge)
    texts = [str(t) for t in range(80)]

    def work(_):
        embedder = fp.sklearn.SimilarityEmbedder(similarity, landmarks=8, store=store)
        return embedder.fit_transform(texts)

    features = together(work, 4)
    for one in features:
        np.testing.assert_array_equal(one, features[0])
    assert max(judge.calls.values()) == 1
    assert store.evaluations == judge.calls.total()
