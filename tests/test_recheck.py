"""A store never serves another function's values; what that costs is counted."""

import re
from functools import partial

import numpy as np
import pytest

import fewpairs as fp
from fewpairs.ledger.recheck import choose
from fewpairs.matrix.entries import Entries
from fewpairs.similarity.function_state import state_of
from tests.conftest import random_matrix

N = 60
K = random_matrix(N, symmetric=True)
A = random_matrix(N, symmetric=False)


class Counted:
    """A function whose meaning hangs on a number outside of it."""

    __name__ = "counted"

    def __init__(self, matrix=K):
        self.matrix = matrix
        self.calls = 0
        self.power = 1.0

    def __call__(self, a, b):
        self.calls += 1
        return float(self.matrix[a, b] * self.power)


def run(function, store, *, symmetric=True, budget=0.4, seed=0, method="auto", **more):
    similarity = fp.from_function(
        function, symmetric=symmetric, name="judge", chunk=50, **more
    )
    return fp.approximate(
        range(N), similarity, budget=budget, seed=seed, method=method, store=store
    )


@pytest.mark.parametrize("place", ["folder", "memory"])
@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("other", [{}, {"seed": 1}, {"budget": 0.6}, {"method": "sms"}])
def test_a_function_that_has_changed_is_refused_before_anything_is_kept(
    tmp_path, place, symmetric, other
):
    store = tmp_path if place == "folder" else fp.Ledger()
    function = Counted(K if symmetric else A)
    run(function, store, symmetric=symmetric)
    before = {path: path.read_bytes() for path in tmp_path.rglob("c/*/*")}
    paid = function.calls
    function.power = 1.01
    with pytest.raises(fp.StoreError) as caught:
        run(function, store, symmetric=symmetric, **other)
    assert function.calls - paid == 8 * (1 if symmetric else 2)
    message = str(caught.value)
    for cure in ("another folder", "forget()", "trust=True", "deterministic=False"):
        assert cure in message
    i, j = caught.value.pair
    stored, now = map(float, re.findall(r"(-?\d+\.\d+(?:e-\d+)?)", message)[:2])
    truth = K[i, j] if symmetric else (A[i, j] + A[j, i]) / 2
    assert stored == pytest.approx(truth, rel=1e-4)
    assert now == pytest.approx(1.01 * truth, rel=1e-4)
    assert f"items {i} and {j}" in message
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("c/*/*")}


@pytest.mark.parametrize("symmetric", [True, False])
def test_the_check_is_counted_and_changes_no_bit(tmp_path, symmetric):
    function = Counted(K if symmetric else A)
    plain = run(function, None, symmetric=symmetric)
    first = run(function, tmp_path, symmetric=symmetric)
    assert first.bill.for_store == 0
    function.calls = 0
    again = run(function, tmp_path, symmetric=symmetric)
    assert again.evaluations == function.calls == 8 * (1 if symmetric else 2)
    assert again.bill.for_store == again.evaluations
    assert again.bill.for_fit == again.bill.for_certificate == 0
    assert again.bill.for_symmetry == 0
    assert again.bill.charged == first.bill.charged
    assert np.array_equal(again.dense(), plain.dense())
    assert again.certificate == plain.certificate
    assert f"{again.evaluations:,} checking the store" in str(again)
    assert f"{first.evaluations:,} more were paid for before" in str(again)
    paid = first.evaluations + again.evaluations
    assert fp.Ledger(tmp_path).evaluations == paid


@pytest.mark.parametrize("budget", [1, 2, 30, 100, 0.2, 0.999, 1.0])
def test_the_budget_stays_hard_with_a_store_that_helps(tmp_path, budget):
    function = Counted()
    method = fp.Optimal(rank=3) if budget == 1.0 else "nystrom"
    run(function, tmp_path, budget=0.5, method="nystrom")
    function.calls = 0
    try:
        again = run(function, tmp_path, budget=budget, method=method, seed=3)
    except fp.BudgetError:
        assert isinstance(budget, int)
    else:
        assert function.calls == again.evaluations
    pairs = N * (N - 1) // 2
    limit = budget if isinstance(budget, int) else int(budget * pairs)
    # A budget of 1.0 is everything: the diagonal and the symmetry check too.
    assert function.calls <= limit + (N + 16 if budget == 1.0 else 0)


class Proven(fp.Similarity):
    """Symmetric by definition, so that nothing is read before the run."""

    proven = True
    diagonal = 1.0

    def __init__(self):
        self.calls = 0

    def bind(self, items):
        return _ProvenScorer(self, np.asarray(list(items), dtype=float))


class _ProvenScorer(fp.Scorer):
    chunk = 50

    def __init__(self, similarity, places):
        self.n, self._similarity, self._places = len(places), similarity, places

    def pairs(self, i, j):
        self._similarity.calls += len(i)
        return np.cos(self._places[i] - self._places[j]) * (i + j)


@pytest.mark.parametrize("method", ["nystrom", "auto", "sicur"])
def test_a_store_of_no_help_is_checked_within_the_budget(tmp_path, method):
    similarity = Proven()
    options = {"budget": 3_000, "method": method, "seed": 9}
    fp.plan(range(400), similarity, budget=300, seed=5, store=tmp_path)
    similarity.calls = 0
    approx = fp.approximate(range(400), similarity, **options, store=tmp_path)
    assert approx.bill.for_store == 8
    assert similarity.calls == approx.evaluations <= 3_000
    plain = fp.approximate(range(400), similarity, **options)
    assert np.array_equal(approx.left, plain.left)
    assert plain.certificate.pairs - 8 <= approx.certificate.pairs
    again = fp.approximate(range(400), similarity, **options, store=tmp_path)
    assert again.evaluations == 8
    assert np.array_equal(again.dense(), approx.dense())
    assert again.certificate == approx.certificate


def test_what_is_left_too_little_for_is_refused_within_the_budget(tmp_path):
    similarity = Proven()
    fp.plan(range(400), similarity, budget=300, seed=5, store=tmp_path)
    method = fp.Nystrom(np.arange(3))
    price = 3 * 399 - 3
    similarity.calls = 0
    with pytest.raises(fp.BudgetError, match="8 checking the store"):
        fp.approximate(
            range(400), similarity, method=method, budget=price, store=tmp_path
        )
    assert similarity.calls <= price


def test_forgetting_and_trusting_are_cures(tmp_path):
    function = Counted()
    first = run(function, tmp_path)
    function.power = 2.0
    function.calls = 0
    trusted = run(function, fp.Ledger(tmp_path, trust=True))
    assert function.calls == trusted.evaluations == 0
    assert np.array_equal(trusted.dense(), first.dense())
    similarity = fp.from_function(function, symmetric=True, name="judge", chunk=50)
    again = fp.approximate(range(N), similarity, budget=0.4, store=tmp_path, trust=True)
    assert again.evaluations == 0
    ledger = fp.Ledger(tmp_path)
    ledger.forget()
    assert "nothing paid for yet" in repr(ledger)
    assert ledger.evaluations == 0
    fresh = run(function, ledger)
    assert fresh.evaluations == first.evaluations
    assert np.array_equal(fresh.dense(), run(function, None).dense())
    assert run(function, tmp_path).evaluations == 8


def test_a_ledger_checks_a_function_once_until_something_about_it_changes():
    function, ledger = Counted(), fp.Ledger()
    run(function, ledger)
    function.calls = 0
    assert run(function, ledger, seed=3).bill.for_store == 0
    similarity = fp.from_function(lambda a, b: function(a, b), name="judge")
    ledger.trust = False
    other = fp.approximate(range(N), similarity, budget=0.4, store=ledger)
    assert other.bill.for_store == 8
    assert run(function, ledger, seed=4).bill.for_store == 0
    function.power = 3.0
    with pytest.raises(fp.StoreError, match="another function"):
        run(function, ledger)


SCALE, TABLE, SEEN = 1.0, np.ones(3), []


def helper(a):
    return a * SCALE


def reads_globals(a, b):
    global COUNT
    COUNT += 1
    SEEN.append(a)
    return helper(K[a, b]) * TABLE[0]


COUNT = 0


def test_the_state_of_a_function_is_what_it_reads_and_does_not_set(monkeypatch):
    before = state_of(reads_globals)
    reads_globals(1, 2)
    assert state_of(reads_globals) == before
    changes = {
        "SCALE": 2.0,
        "TABLE": np.array([1.0, 1.0, 2.0]),
        "helper": lambda a: a + 1,
    }
    for name, value in changes.items():
        with monkeypatch.context() as patch:
            patch.setitem(globals(), name, value)
            assert state_of(reads_globals) != before
    assert state_of(reads_globals) == before
    assert state_of(partial(helper, 1)) != state_of(partial(helper, 2))
    assert state_of(len) == state_of(len)
    counted = Counted()
    before = state_of(counted)
    counted(1, 2)
    assert state_of(counted) == before == state_of(counted.__call__)
    counted.power = 2.0
    assert state_of(counted) != before


def test_forgetting_in_memory_makes_a_new_ledger_of_it():
    function = Counted()
    ledger = fp.Ledger()
    run(function, ledger)
    ledger.forget()
    other = fp.approximate(None, np.eye(9), budget=1.0, store=ledger)
    assert other.evaluations > 0


def test_forgetting_waits_for_no_one_and_takes_nothing_from_a_run(tmp_path):
    run(Counted(), tmp_path)
    with fp.Ledger(tmp_path).session(), pytest.raises(fp.StoreError, match="in use"):
        fp.Ledger(tmp_path).forget()
    ledger = fp.Ledger(tmp_path)
    with ledger.session(), pytest.raises(fp.StoreError, match=r"forget.*a run"):
        ledger.forget()


def test_forgetting_an_object_store(request):
    url = f"memory://{request.node.name}"
    function = Counted()
    first = run(function, url)
    fp.Ledger(url).forget()
    assert run(function, url).evaluations == first.evaluations


def test_what_is_not_deterministic_says_so_and_is_not_checked(tmp_path):
    rng = np.random.default_rng(0)

    def judge(a, b):
        return float(K[a, b] + rng.normal())

    first = run(judge, tmp_path, symmetric=False, deterministic=False)
    again = run(judge, tmp_path, symmetric=False, deterministic=False)
    assert again.evaluations == 0
    assert np.array_equal(first.dense(), again.dense())
    with pytest.raises(fp.StoreError, match="deterministic=False"):
        run(judge, tmp_path, symmetric=False)
    with pytest.raises(fp.InputError, match=r"deterministic is .no"):
        fp.from_function(judge, deterministic="no")

    async def wait(a, b):
        return judge(a, b)

    assert fp.from_async(wait).deterministic
    assert not fp.from_async(wait, repeats=3).deterministic
    assert not fp.from_async(wait, deterministic=False).deterministic
    assert fp.from_async(wait, repeats=3, deterministic=True).deterministic
    with pytest.raises(fp.InputError, match="deterministic is 2"):
        fp.from_async(wait, deterministic=2)


@pytest.mark.parametrize(
    ("dtype", "noise", "passes"),
    [
        (np.float64, 1e-7, True),
        (np.float64, 1e-3, False),
        (np.float32, 1e-4, True),
        (np.float32, 3e-2, False),
    ],
)
def test_rounding_is_no_other_function(tmp_path, dtype, noise, passes):
    shift = [0.0]

    def batched(a, b):
        return (K[a, b] + shift[0] * np.abs(K).mean()).astype(dtype)

    run(batched, tmp_path, batched=True)
    shift[0] = noise
    if passes:
        assert run(batched, tmp_path, batched=True).evaluations == 8
    else:
        with pytest.raises(fp.StoreError, match="another function"):
            run(batched, tmp_path, batched=True)


def test_what_the_fingerprint_tells_apart_costs_nothing(tmp_path):
    texts = [f"{a} {b}" for a in ("red", "green", "blue") for b in range(20)]
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((60, 4))
    for t, (items, similarity) in enumerate(
        [
            (texts, fp.StringSimilarity("levenshtein")),
            (texts, fp.TokenOverlap()),
            (None, K),
            (vectors, fp.Cosine()),
        ]
    ):
        store = tmp_path / f"{t}"
        fp.approximate(items, similarity, budget=0.4, store=store)
        again = fp.approximate(items, similarity, budget=0.4, store=store)
        assert again.evaluations == 0


def test_growing_and_targets_check_once(tmp_path):
    function = Counted()
    similarity = fp.from_function(function, symmetric=True, name="judge")
    run(function, tmp_path)
    function.calls = 0
    approx = fp.approximate(
        range(N),
        similarity,
        budget=0.9,
        target_error=1e-9,
        method="nystrom",
        store=tmp_path,
    )
    assert function.calls == approx.evaluations
    assert approx.bill.for_store == 8


def test_the_pairs_are_spread_over_lines_pairs_and_values():
    entries = Entries(100, symmetric=True)
    values = np.zeros((2, 100))
    values[0, 50] = 7.0
    entries.add_lines(np.array([3, 4]), values)
    entries.add_pairs(np.arange(10, 20), np.arange(20, 30), np.arange(10.0))
    holes = np.full((1, 100), np.nan)
    holes[0, :40] = -1.0
    entries.add_partial(np.array([90]), holes)
    i, j, stored = choose(entries, 8)
    known, truth = entries.lookup(i, j)
    assert known.all()
    assert np.array_equal(truth, stored)
    assert len(set(zip(i.tolist(), j.tolist(), strict=True))) == 8
    assert (i != j).all()
    assert {stored.min(), stored.max()} == {-1.0, 9.0}
    assert 0.0 in stored
    assert len(choose(Entries(9, symmetric=True), 8)[0]) == 0
    few = Entries(9, symmetric=False)
    few.add_pairs(np.array([1, 2]), np.array([2, 2]), np.array([0.5, 1.0]))
    i, j, stored = choose(few, 8)
    assert (i.tolist(), j.tolist(), stored.tolist()) == ([1], [2], [0.5])
