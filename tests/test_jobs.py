"""Neighbors and duplicates in one call: exact where that is quicker."""

import math

import numpy as np
import pytest

import fewpairs as fp
from fewpairs.answers.all_pairs import AllPairs
from fewpairs.reading.timing import Rates
from fewpairs.run.compared import one_set
from fewpairs.run.expectation import approximating_seconds
from fewpairs.run.job import Job
from fewpairs.similarity.base import Scorer, Similarity
from tests import children
from tests.conftest import Counting, random_matrix
from tests.test_all_pairs import best
from tests.test_durable import child

K = random_matrix(120, symmetric=True)


def test_quick_similarities_are_read_in_full_and_the_answer_says_so():
    found = fp.neighbors(None, K, k=7)
    assert np.array_equal(found.indices, best(K, 7))
    assert found.similarities == pytest.approx(np.take_along_axis(K, best(K, 7), 1))
    assert (found.way.exact, found.recall) == (True, 1.0)
    assert found.evaluations == 120 * 119 // 2
    assert "take about" in str(found.way)
    assert "less than a minute" in repr(found)
    assert found.moments.number == 120 * 119 // 2


def test_duplicates_are_all_pairs_at_or_above_the_threshold():
    found = fp.duplicates(None, K, 0.5)
    assert {*zip(found.left, found.right)} == {*zip(*np.nonzero(np.triu(K, 1) >= 0.5))}
    assert np.array_equal(found.similarity, K[found.left, found.right])
    assert (np.diff(found.similarity) <= 0).all()
    assert found.evaluations == 120 * 119 // 2
    assert found.way.exact
    assert len(fp.duplicates(None, K, 1e6)) == 0


def test_a_threshold_as_people_type_it_holds_in_single_precision():
    strings = ["a" * 90 + "b" * 10, "a" * 100, "c" * 100]
    found = fp.duplicates(strings, fp.StringSimilarity("ratio"), 0.9)
    assert (found.left.tolist(), found.right.tolist()) == ([0], [1])
    assert found.similarity.tolist() == [0.9]
    approx = fp.approximate(strings, fp.StringSimilarity("ratio"), budget=1.0)
    assert approx.duplicates(0.9).similarity.tolist() == [0.9]


def test_every_pair_is_evaluated_once_the_sample_among_them():
    calls = Counting(K)
    similarity = fp.from_function(calls, symmetric=True, diagonal=1.0)
    found = fp.neighbors(range(120), similarity, k=3)
    assert found.evaluations == len(calls.calls) == 120 * 119 // 2 + 8
    assert np.array_equal(found.indices, best(K, 3))


@pytest.mark.parametrize("executor", ["threads:2", "processes:2"])
def test_the_answer_is_the_same_whoever_evaluates(executor):
    plain = fp.neighbors(range(150), children.Touchy(), k=4, budget=1.0)
    other = fp.neighbors(
        range(150), children.Touchy(), k=4, budget=1.0, executor=executor
    )
    assert np.array_equal(plain.indices, other.indices)
    assert np.array_equal(plain.similarities, other.similarities)
    assert plain.moments == other.moments


def test_a_budget_below_all_pairs_is_kept_and_approximates():
    calls = Counting(K)
    similarity = fp.from_function(calls, symmetric=True, diagonal=1.0)
    found = fp.neighbors(range(120), similarity, k=3, budget=2_000)
    assert not found.way.exact
    assert "the budget, 2000, is fewer than all pairs" in str(found.way)
    assert found.evaluations == len(calls.calls) <= 2_000
    calls.calls.clear()
    pairs = fp.duplicates(range(120), similarity, 0.1, budget=2_000)
    assert pairs.evaluations == len(calls.calls) <= 2_000
    assert pairs.missed.held_out > 0
    assert np.array_equal(pairs.similarity, K[pairs.left, pairs.right])


def test_a_budget_that_covers_all_pairs_reads_them():
    for budget in (1.0, "100%", "119/item", 120 * 119 // 2):
        found = fp.duplicates(None, fp.from_matrix(K), 0.5, budget=budget)
        assert found.way.exact
        assert found.evaluations == 120 * 119 // 2


@pytest.mark.parametrize("kind", ["all pairs", "two sets"])
def test_six_kills_of_a_pass_cost_a_tile_each_and_change_no_bit(tmp_path, kind):
    store, log, out = (tmp_path / name for name in ("store", "log", "out.npy"))
    with child("kill_often", store, log, out, kind, 6) as killer:
        assert int(killer.communicate()[0]) == 6
    calmly = (tmp_path / name for name in ("calm", "calm-log", "calm.npy"))
    children.run(*calmly, kind)
    calm = (tmp_path / "calm-log").stat().st_size
    n, m = children.N, children.LEFT
    assert calm == (m * (n - m) if kind == "two sets" else n * (n - 1) // 2)
    assert calm < log.stat().st_size <= calm + 6 * 2 * children.CHUNK
    assert np.array_equal(np.load(out), np.load(tmp_path / "calm.npy"))
    assert not list(store.rglob("*.partial"))


# --- which way ------------------------------------------------------------------------


class Timed(Similarity):
    """Moves a clock: so much a call, and so much a pair."""

    symmetric = proven = fingerprinted = True
    diagonal = 1.0

    def __init__(self, clock, each, chunk=1 << 18):
        self.clock, self.each, self.call = clock, each, 1e-4
        self.chunk = chunk if each < 1e-5 else min(chunk, 1 << 10)

    def bind(self, items):
        return _TimedScorer(self, len(items))


class _TimedScorer(Scorer):
    dtype = np.dtype(np.float32)

    def __init__(self, similarity, n):
        self.n = n
        self._similarity = similarity
        self.chunk = similarity.chunk

    def pairs(self, i, j):
        own = self._similarity
        own.clock[0] += own.call + own.each * len(i)
        return np.zeros(len(i), dtype=np.float32)

    def block(self, rows, columns):
        own = self._similarity
        own.clock[0] += own.call + own.each * len(rows) * len(columns)
        return np.zeros((len(rows), len(columns)), dtype=np.float32)


CASES = [
    (1_000, 1e-8),
    (1_000, 1e-6),
    (1_000, 1e-4),
    (1_000, 1e-2),
    (5_000, 1e-6),
    (10_000, 1e-6),
    (10_000, 1e-4),
    (30_000, 1e-6),
    (50_000, 1e-8),
    (50_000, 1e-2),
]


@pytest.mark.parametrize(("n", "each"), CASES)
def test_the_way_chosen_is_quick_or_within_a_fifth_of_the_quicker(monkeypatch, n, each):
    """By a clock that the similarity alone moves."""
    clock = [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: clock[0])
    call = "fewpairs.neighbors"
    job = Job.of(
        call, one_set(range(n), Timed(clock, each), call), budget="auto",
        prior=None, seed=0, store=None, executor=None, progress=False, trust=False,
    )  # fmt: skip
    with job.opened() as oracle:
        sweep = AllPairs(oracle, job.ledger.passes, job.scorer.dtype, k=10)
        way = job.choose(oracle, sweep)
        exact = each * n * (n - 1) / 2
        approximate = approximating_seconds(oracle.cost, Rates(each, each, each))
        assert clock[0] < 1.5 + 0.02 * min(exact, approximate)  # of the sample
    taken = exact if way.exact else approximate
    assert taken <= max(60, 1.2 * min(exact, approximate))
    assert exact / 1.5 < way.exact_seconds < 1.5 * exact + 0.001
    assert 1 / 1.5 < way.approximate_seconds / approximate < 1.5


def test_a_run_that_goes_on_goes_the_same_way(monkeypatch, tmp_path):
    with monkeypatch.context() as slow:
        slow.setattr("fewpairs.answers.way._QUICK", 0.0)
        slow.setattr("fewpairs.run.job.approximating_seconds", lambda *_: 0.0)
        first = fp.neighbors(None, K, k=2, store=tmp_path, prior=None)
    again = fp.neighbors(None, K, k=2, store=tmp_path, prior=None)
    assert not first.way.exact
    assert first.way == again.way
    assert again.evaluations == 0
    assert np.array_equal(first.indices, again.indices)
    assert fp.neighbors(None, K, k=2, prior=None).way.exact


# --- what cannot work -----------------------------------------------------------------


@pytest.mark.parametrize("k", [0, 120, -1, 2.5, "three", None, True])
def test_a_k_that_cannot_be_is_refused_unpaid(k):
    calls = Counting(K)
    with pytest.raises(fp.InputError, match=r"fewpairs\.neighbors: k is .*from 1 to"):
        fp.neighbors(range(120), calls, k=k)
    assert not calls.calls


@pytest.mark.parametrize("threshold", [math.nan, math.inf, "0.9", None, True])
def test_a_threshold_that_is_no_number_is_refused_unpaid(threshold):
    calls = Counting(K)
    with pytest.raises(fp.InputError, match=r"fewpairs\.duplicates: threshold is"):
        fp.duplicates(range(120), calls, threshold)
    approx = fp.approximate(None, K, budget=0.5)
    with pytest.raises(fp.InputError, match=r"Approximation\.duplicates: threshold is"):
        approx.duplicates(threshold)
    assert not calls.calls


def test_a_threshold_in_per_cent_is_asked_about():
    with pytest.raises(fp.InputError, match=r"threshold is 90, .* Did you mean 0\.9\?"):
        fp.duplicates(["a", "b", "c"], fp.StringSimilarity("ratio"), 90)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"budget": "fast"}, "budget is 'fast', which is not a number"),
        ({"budget": 0}, "budget is 0; nothing can be read"),
        ({"executor": 3}, "executor is 3; pass"),
        ({"store": 3}, "store is 3; pass a path"),
        ({"seed": -1}, "seed is -1; pass"),
        ({"trust": "yes"}, "trust is 'yes'; pass"),
        ({"progress": "bar"}, "progress is 'bar'"),
    ],
)
def test_other_arguments_are_refused_as_everywhere(options, match):
    calls = Counting(K)
    with pytest.raises(fp.InputError, match=f"neighbors: {match}"):
        fp.neighbors(range(120), calls, **options)
    assert not calls.calls


def test_candidates_within_a_number_of_evaluations_are_the_best():
    calls = Counting(K)
    similarity = fp.from_function(calls, symmetric=True, diagonal=1.0)
    approx = fp.approximate(range(120), similarity, budget=0.3)
    calls.calls.clear()
    found = approx.duplicates(0.2, margin=0.5, evaluations=25)
    assert found.evaluations == len(calls.calls) == found.checked == 25
    everything = approx.duplicates(0.2, margin=0.5)
    assert len(everything) >= len(found)
    with pytest.raises(fp.InputError, match=r"evaluations is -1; pass"):
        approx.duplicates(0.2, evaluations=-1)
    with pytest.raises(fp.InputError, match=r"margin is -1"):
        approx.duplicates(0.2, margin=-1)
