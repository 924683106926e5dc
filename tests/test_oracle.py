"""The oracle counts, reuses, and stops before the budget."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fewpairs as fp
from fewpairs.ledger.ledger import Ledger
from fewpairs.matrix.budget import Budget
from fewpairs.reading.opening import open_oracle
from tests.conftest import Counting, Failing, oracle_of, random_matrix

N = 30


def counted_oracle(K, *, symmetric, **options):
    function = Counting(K)
    diagonal = options.pop("diagonal", None)
    similarity = fp.from_function(function, symmetric=symmetric, diagonal=diagonal)
    if "budget" in options:
        options["budget"] = Budget.of(options["budget"], "budget")
    scorer = similarity.bind(range(len(K)))
    return open_oracle(scorer, similarity, **options), function


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("symmetrize", [True, False])
def test_every_reading_returns_the_entries_of_the_matrix(symmetric, symmetrize):
    K = random_matrix(N, symmetric=symmetric)
    truth = (K + K.T) / 2 if symmetrize else K
    S, T = np.array([4, 9, 2]), np.array([2, 17, 8, 20])
    for name in ("from_matrix", "from_function"):
        if name == "from_matrix":
            oracle = oracle_of(K, symmetrize=symmetrize)
        else:
            oracle, _ = counted_oracle(K, symmetric=symmetric, symmetrize=symmetrize)
        assert np.allclose(oracle.columns(S), truth[:, S])
        assert np.allclose(oracle.rows(T), truth[T])
        assert np.allclose(oracle.principal(T), truth[np.ix_(T, T)])
        assert np.allclose(oracle.block(S[:2], T), truth[np.ix_(S[:2], T)])
        assert np.allclose(oracle.pairs(S, S[::-1]), truth[S, S[::-1]])
        assert np.allclose(oracle.diagonal(T), truth[T, T])


def test_a_large_principal_block_is_cut_into_blocks_and_comes_out_whole():
    K = random_matrix(300, symmetric=True)
    oracle = oracle_of(K)
    S = np.random.default_rng(0).permutation(300)[:211]
    assert np.array_equal(oracle.principal(S), K[np.ix_(S, S)])
    assert oracle.evaluations == 211 * 212 // 2


READS = st.lists(
    st.tuples(
        st.sampled_from(["columns", "rows", "principal", "pairs", "diagonal"]),
        st.lists(st.integers(0, 14), min_size=1, max_size=6, unique=True),
    ),
    max_size=8,
)


@given(READS, st.booleans(), st.booleans(), st.sampled_from([None, 1.0]))
def test_no_entry_or_mirror_is_ever_evaluated_twice(reads, symmetric, symmetrize, diag):
    K = random_matrix(15, symmetric=symmetric)
    if diag is not None:
        np.fill_diagonal(K, diag)
    truth = (K + K.T) / 2 if symmetrize else K
    oracle, function = counted_oracle(
        K, symmetric=symmetric, symmetrize=symmetrize, diagonal=diag
    )
    function.calls.clear()
    start = oracle.evaluations
    for read, positions in reads:
        S = np.array(positions)
        if read == "pairs":
            assert np.allclose(oracle.pairs(S, S[::-1]), truth[S, S[::-1]])
        elif read == "diagonal":
            assert np.allclose(oracle.diagonal(S), truth[S, S])
        elif read == "principal":
            assert np.allclose(oracle.principal(S), truth[np.ix_(S, S)])
        elif read == "columns":
            assert np.allclose(oracle.columns(S), truth[:, S])
        else:
            assert np.allclose(oracle.rows(S), truth[S])
    calls = [tuple(sorted(c)) if symmetric else c for c in function.calls]
    assert len(calls) == len(set(calls))
    assert oracle.evaluations - start == len(function.calls)
    assert oracle.charged == oracle.evaluations
    if diag is not None:
        assert all(a != b for a, b in calls)


@given(READS, READS, st.booleans(), st.booleans(), st.sampled_from([None, 1.0]))
def test_a_run_is_charged_the_same_whatever_its_ledger_knows(
    before, reads, symmetric, symmetrize, diagonal
):
    K = random_matrix(15, symmetric=symmetric)
    if diagonal is not None:
        np.fill_diagonal(K, diagonal)
    ledger = Ledger()
    options = {"symmetrize": symmetrize, "diagonal": diagonal, "symmetric": symmetric}

    def follow(script, **more):
        oracle, function = counted_oracle(K, **options, **more)
        for read, positions in script:
            S = np.array(positions)
            ends = (S, S[::-1]) if read == "pairs" else (S,)
            getattr(oracle, read)(*ends)
        return oracle, function

    follow(before, ledger=ledger)
    paid = ledger.evaluations
    shared, function = follow(reads, ledger=ledger)
    alone, _ = follow(reads)
    assert shared.charged == alone.charged == alone.evaluations
    assert shared.evaluations == len(function.calls) == ledger.evaluations - paid
    assert shared.evaluations <= alone.evaluations


def readings(oracle):
    """What a script of all kinds of reads returns."""
    return [
        oracle.columns(np.array([3, 8, 1])),
        oracle.pairs(np.array([2, 5, 9]), np.array([9, 5, 2])),
        oracle.principal(np.array([4, 8, 6, 7])),
        oracle.rows(np.array([5, 0, 8, 11])),
        oracle.diagonal(np.array([13, 2])),
    ]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("symmetric", [True, False])
def test_wherever_a_run_fails_another_pays_for_the_rest_alone(symmetric, seed):
    K = random_matrix(20, symmetric=symmetric)
    ledger, paid = Ledger(), []

    def reader(most):
        def judge(a, b):
            if len(paid) >= most:
                raise RuntimeError("down")
            paid.append((a, b))
            return float(K[a, b])

        similarity = fp.from_function(judge, symmetric=symmetric, chunk=7, name="judge")
        scorer = similarity.bind(range(20))
        return open_oracle(scorer, similarity, symmetrize=False, ledger=ledger)

    for most in np.sort(np.random.default_rng(seed).integers(20, 100, 3)):
        with pytest.raises(fp.SimilarityError, match="down"):
            readings(reader(most))
        assert ledger.evaluations == len(paid) == most
    plain, function = counted_oracle(K, symmetric=symmetric, symmetrize=False)
    for got, expected in zip(readings(reader(np.inf)), readings(plain), strict=True):
        assert np.array_equal(got, expected)
    assert len(paid) == len(function.calls)


def test_the_budget_is_checked_before_the_similarity_is_called():
    K = random_matrix(N, symmetric=True)
    oracle, function = counted_oracle(K, symmetric=True, budget=100)
    spent = len(function.calls)
    with pytest.raises(fp.BudgetError, match="Raise budget= to") as caught:
        oracle.columns(np.arange(5))
    assert len(function.calls) == spent == oracle.evaluations
    assert caught.value.allowed == 100 - spent
    oracle.columns(np.array([0, 1]))
    assert oracle.evaluations == len(function.calls) <= 100


def test_an_asymmetric_pair_costs_two_calls_and_its_diagonal_one():
    K = random_matrix(N, symmetric=False)
    oracle, function = counted_oracle(K, symmetric=False)
    oracle.columns(np.array([3]))
    assert oracle.evaluations == len(function.calls) == 2 * (N - 1) + 1


def test_what_was_paid_for_before_an_error_is_kept_and_never_paid_again():
    K = random_matrix(N, symmetric=True)
    fails_late = Failing(K, 100, RuntimeError("the service is down"))
    similarity = fp.from_function(fails_late, symmetric=True, name="judge")
    ledger = Ledger()
    with pytest.raises(fp.SimilarityError, match="the service is down") as caught:
        fp.approximate(
            range(N), similarity, method=fp.Nystrom(8), budget=1.0, store=ledger
        )
    assert caught.value.ledger is ledger
    assert ledger.evaluations == 100
    mended = Counting(K)
    approx = fp.approximate(
        range(N),
        fp.from_function(mended, symmetric=True, name="judge"),
        method=fp.Nystrom(8),
        budget=1.0,
        store=ledger,
    )
    paid_before = {tuple(sorted(pair)) for pair in fails_late.calls}
    paid_after = {tuple(sorted(pair)) for pair in mended.calls}
    assert len(paid_before & paid_after) == approx.bill.for_store == 8
    plain = fp.approximate(
        range(N),
        fp.from_function(mended, symmetric=True, name="judge"),
        method=fp.Nystrom(8),
        budget=1.0,
    )
    assert np.array_equal(approx.left, plain.left)
    assert approx.evaluations == plain.evaluations - 100 + 8


def test_an_interrupt_keeps_what_was_paid_for():
    K = random_matrix(N, symmetric=True)
    interrupted = Failing(K, 60, KeyboardInterrupt())
    ledger = Ledger()
    with pytest.raises(KeyboardInterrupt):
        fp.approximate(
            range(N),
            fp.from_function(interrupted, symmetric=True),
            method=fp.Nystrom(5),
            budget=1.0,
            store=ledger,
        )
    assert ledger.evaluations == 60
    i, j = np.array(interrupted.calls[16:]).T  # after the pairs that check the symmetry
    known, values = ledger.entries.lookup(i, j)
    assert known.all()
    assert np.array_equal(values, K[i, j])


def test_pairs_that_columns_failed_on_are_still_missing():
    K = random_matrix(N, symmetric=True)
    down = True

    def fails(a, b):
        if down:
            raise RuntimeError("the service is down")
        return K[a, b]

    similarity = fp.from_function(fails, symmetric=False, name="judge")
    ledger = Ledger()
    oracle = open_oracle(similarity.bind(list(range(N))), similarity, ledger=ledger)
    i, j = np.array([3, 3, 5]), np.array([5, 8, 8])
    with pytest.raises(fp.SimilarityError, match="the service is down"):
        oracle.columns(np.array([3, 5, 8]))
    assert not ledger.load().lookup(i, j)[0].any()
    down = False
    assert np.allclose(oracle.pairs(i, j), K[i, j])
    known, values = ledger.load().lookup(i, j)
    assert known.all()
    assert np.allclose(values, K[i, j])


def test_symmetrized_errors_split_one_pair_at_most():
    K = random_matrix(N, symmetric=False)
    fails = Failing(K, 101, RuntimeError("gone"))
    ledger = Ledger()
    with pytest.raises(fp.SimilarityError, match="gone"):
        fp.approximate(
            range(N),
            fp.from_function(fails, symmetric=False),
            method=fp.Nystrom(5),
            budget=1.0,
            store=ledger,
        )
    unique = {tuple(sorted(c)) for c in fails.calls}
    i, j = np.array(sorted(unique)).T
    assert ledger.entries.lookup(i, j)[0].sum() >= len(unique) - 1


def test_a_shared_ledger_is_free_the_second_time_and_gives_the_same_result():
    K = random_matrix(80, symmetric=True)
    ledger = Ledger()
    first = fp.approximate(None, K, method="sms", budget=0.4, store=ledger)
    again = fp.approximate(None, K, method="sms", budget=0.4, store=ledger)
    alone = fp.approximate(None, K, method="sms", budget=0.4)
    assert again.evaluations == 0
    assert first.evaluations == alone.evaluations == ledger.evaluations
    for other in (again, alone):
        assert np.array_equal(first.dense(), other.dense())
        assert first.certificate == other.certificate


def test_a_ledger_refuses_another_matrix():
    ledger = Ledger()
    fp.approximate(None, random_matrix(40, symmetric=True), budget=0.4, store=ledger)
    with pytest.raises(fp.InputError, match="Use another ledger"):
        fp.approximate(
            None, random_matrix(41, symmetric=True), budget=0.4, store=ledger
        )


def test_values_do_not_depend_on_the_size_of_chunks():
    K = random_matrix(50, symmetric=False)
    results = []
    for chunk in (1, 7, 64, 100_000):
        similarity = fp.from_function(
            lambda a, b: K[a, b], symmetric=False, batched=True, chunk=chunk
        )
        approx = fp.approximate(np.arange(50), similarity, method="sicur", budget=0.6)
        results.append((approx.dense(), approx.evaluations))
    for dense, evaluations in results[1:]:
        assert np.array_equal(dense, results[0][0])
        assert evaluations == results[0][1]
