"""Traps that users fell into, each once."""

from functools import partial

import numpy as np
import pytest

import fewpairs as fp
from fewpairs.evaluation import quality
from fewpairs.fingerprint import fingerprint
from tests.conftest import Counting, random_matrix

S = random_matrix(50, symmetric=True)
A = random_matrix(50, symmetric=False)
TEXTS = [f"text number {t}" for t in range(60)]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((None, S), (None, S + 100)),
        ((TEXTS, fp.StringSimilarity()), (TEXTS[::-1], fp.StringSimilarity())),
        ((TEXTS, fp.StringSimilarity()), (TEXTS, fp.StringSimilarity("indel"))),
        (
            (TEXTS, fp.StringSimilarity("ratio")),
            (TEXTS, fp.StringSimilarity("ratio", processor=str.upper)),
        ),
        ((range(50), lambda a, b: S[a, b]), (range(50), lambda a, b: -S[a, b])),
        ((S, fp.Cosine()), (A, fp.Cosine())),
    ],
    ids=["matrix", "items", "scorer", "processor", "lambda", "vectors"],
)
def test_a_ledger_refuses_other_items_and_other_similarities(first, second):
    ledger = fp.Ledger()
    fp.approximate(*first, budget=0.5, store=ledger)
    again = fp.approximate(*first, budget=0.5, store=ledger)
    assert again.evaluations == again.bill.for_store
    with pytest.raises(fp.InputError, match="Use another ledger"):
        fp.approximate(*second, budget=0.5, store=ledger)


def test_fingerprints_tell_values_apart_and_addresses_not():
    class Opaque:
        pass

    assert fingerprint(["ab", "c"]) != fingerprint(["a", "bc"])
    assert fingerprint([np.ones(3)]) != fingerprint([np.ones(3, dtype=np.float32)])
    assert fingerprint([{"a": 1}]) == fingerprint([{"a": 1}])
    assert fingerprint([{"a": 1}]) != fingerprint([{"a": 2}])
    assert fingerprint([partial(max, 1)]) != fingerprint([partial(max, 2)])
    one, two = Opaque(), Opaque()
    two.weight = 3
    assert fingerprint([one]) != fingerprint([two])
    assert fingerprint([{3, 1, 2}]) == fingerprint([{1, 2, 3}])
    assert fingerprint([Opaque()]) == fingerprint([Opaque()])
    assert fingerprint([1.5]) != fingerprint([2.5])


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int64, bool, np.float16])
@pytest.mark.parametrize("symmetric", [True, False])
def test_averaging_both_orders_overflows_in_no_type(dtype, symmetric):
    rng = np.random.default_rng(0)
    K = rng.integers(0, 120, (60, 60))
    K = (K + K.T if symmetric else 2 * K).astype(dtype)
    truth = (K.astype(float) + K.T.astype(float)) / 2
    batched = fp.from_function(lambda a, b: K[a, b], batched=True, symmetric=symmetric)
    matrix = fp.from_matrix(K, symmetric=symmetric)
    for items, similarity in ((None, matrix), (np.arange(60), batched)):
        approx = fp.approximate(items, similarity, budget=0.6)
        i, j = np.divmod(np.arange(3600), 60)
        known, values = approx.known.lookup(i, j)
        assert np.array_equal(values[known], truth.ravel()[known])


@pytest.mark.parametrize("method", ["auto", "nystrom", "sms", "sicur", "stacur"])
@pytest.mark.parametrize("n", [2, 3, 5, 40])
@pytest.mark.parametrize("symmetric", [True, False])
def test_a_budget_of_one_reads_everything(method, n, symmetric):
    K = random_matrix(n, symmetric=symmetric)
    function = Counting(K)
    for items, similarity in ((None, K), (range(n), function)):
        approx = fp.approximate(items, similarity, method=method, budget=1.0)
        assert np.allclose(approx.dense(), (K + K.T) / 2)
        assert approx.certificate.relative_error == 0
    calls = {tuple(sorted(c)) if symmetric else c for c in function.calls}
    assert len(function.calls) <= len(calls) + 8  # mirrors that settle the symmetry


def test_optimal_takes_a_plain_function_at_a_budget_of_one():
    approx = fp.approximate(
        range(50), lambda a, b: S[a, b], method=fp.Optimal(50), budget=1.0
    )
    assert np.allclose(approx.dense(), S)


@pytest.mark.parametrize(
    "K", [(S * 1e20).astype(np.float32), (S * 1e-25).astype(np.float32)]
)
def test_float32_values_of_any_size_are_certified(K):
    approx = fp.approximate(None, K, budget=0.5)
    truth = quality(approx, K).relative_error
    low, high = approx.certificate.interval
    assert low <= truth <= high


@pytest.mark.parametrize("scale", [1e160, 1e-200])
@pytest.mark.parametrize("method", ["auto", "nystrom", "sms", "sicur", "stacur"])
def test_values_whose_squares_are_out_of_range_are_not_certified(scale, method):
    approx = fp.approximate(None, S * scale, method=method, budget=0.5)
    assert np.isnan(approx.certificate.relative_error)
    assert "not certified" in str(approx)


def test_a_store_does_not_change_the_result_of_an_asymmetric_run():
    options = {"method": "sicur", "budget": 1500, "symmetrize": False}
    plain = fp.approximate(range(50), lambda a, b: A[a, b], **options)
    stored = fp.approximate(
        range(50), lambda a, b: A[a, b], **options, store=fp.Ledger()
    )
    assert np.array_equal(plain.dense(), stored.dense())
    assert plain.certificate == stored.certificate


def test_features_can_be_changed_without_changing_answers():
    approx = fp.approximate(None, S, budget=0.5)
    before = approx.dense()
    features = approx.embedding()
    features -= features.mean(axis=0)
    assert np.array_equal(approx.dense(), before)
    with pytest.raises(ValueError, match="read-only"):
        approx.left[0] = 0.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fp.from_function(max, diagonal=float("nan")), "diagonal is nan; pass"),
        (lambda: fp.from_function(max, diagonal="x"), "diagonal is 'x'; pass one"),
        (lambda: fp.from_function(max, bounds=(1, 0)), r"bounds is \(1, 0\); pass"),
        (lambda: fp.from_function(max, chunk=1.5), "chunk is 1.5; pass a whole number"),
        (lambda: fp.from_matrix(S, diagonal=5.0), r"diagonal=5.0, but matrix\["),
        (lambda: fp.from_matrix([[1, 2], [3]]), "got an array of shape"),
        (lambda: fp.from_matrix(np.ma.masked_less(S, 0)), "got a masked array"),
        (lambda: fp.StringSimilarity(weights=(1.5, 1.5, 1)), "weights is"),
        (lambda: fp.StringSimilarity(weights=5), "weights is 5; pass whole costs"),
        (lambda: fp.StringSimilarity(["a"]), "unknown scorer"),
        (lambda: fp.StringSimilarity(processor="lower"), "processor is 'lower'; pass"),
        (lambda: fp.KMeansMedoids([["a"]]), "needs a finite"),
        (lambda: fp.KMeansMedoids(np.ones((3, 0))), "needs a finite"),
        (
            lambda: fp.KMeansMedoids(S, iterations=0),
            "iterations is 0; pass a",
        ),
        (lambda: fp.approximate(None, S, seed="a"), "seed is 'a'; pass a whole number"),
        (lambda: fp.approximate(None, S, seed=-1), "seed is -1; pass a whole number"),
        (lambda: fp.plan(None, S, seed=1.5), "seed is 1.5; pass a whole number"),
        (lambda: quality(fp.approximate(None, S, budget=0.5), S, k=0), "k is 0; pass"),
    ],
)
def test_options_are_checked_when_they_are_given(make, message):
    with pytest.raises(fp.InputError, match=message):
        make()


@pytest.mark.parametrize(
    "ask",
    [
        lambda a: a.block([[1, 2]], [1]),
        lambda a: a.row([1, 2]),
        lambda a: a.row("x"),
        lambda a: a.pairs([1, 2], [1, 2, 3]),
        lambda a: a.block([[1], [1, 2]], [0]),
        lambda a: a.embedding(2.0),
        lambda a: a @ np.array(["a"] * 50),
        lambda a: a @ [[1], [1, 2]],
    ],
)
def test_questions_that_make_no_sense_are_refused(ask):
    with pytest.raises(fp.InputError):
        ask(fp.approximate(None, S, budget=0.5))


def test_the_plan_of_an_asymmetric_function_is_what_the_run_costs():
    function = Counting(A)
    plan = fp.plan(range(50), function, budget=0.4)
    function.calls.clear()
    approx = fp.approximate(range(50), function, budget=0.4, store=plan.ledger)
    reused = plan.evaluations - approx.evaluations
    assert 0 <= reused <= plan.sampled
    alone = fp.approximate(range(50), function, budget=0.4)
    # Pairs that settled the symmetry may lie in a landmark's column: paid for once.
    assert plan.evaluations - 16 <= alone.evaluations <= plan.evaluations
    assert str(fp.plan(None, S, budget=10**6)).count("100.00%") == 1


def test_whether_a_function_is_symmetric_must_be_known_before_it_is_paid_for():
    function = Counting(A)
    with pytest.raises(fp.InputError, match="it is not known whether"):
        fp.approximate(range(50), function, budget=0.5, symmetrize=False)
    assert not function.calls


def test_embeddings_of_any_size_choose_landmarks():
    X = np.random.default_rng(0).standard_normal((40, 4))
    for scale in (1e155, 1e-155, 0.0):
        drawn = fp.KMeansMedoids(X * scale).draw(40, 10, np.random.default_rng(0))
        assert len(np.unique(drawn)) == 10


def test_a_semidefinite_core_of_low_rank_is_not_called_indefinite():
    X = np.random.default_rng(0).standard_normal((300, 5))
    assert "core semidefinite" in fp.approximate(None, X @ X.T, budget=0.3).method
    assert (
        "too few to choose"
        in fp.approximate(None, S, method=fp.Regularized(2), budget=1.0).method
    )


@pytest.mark.parametrize("damage", ["left", "keys", "indices", "certificate"])
def test_damaged_folders_are_refused(tmp_path, damage):
    approx = fp.approximate(None, S, method="sms", budget=0.5)
    approx.save(tmp_path / "run")
    folder = tmp_path / "run"
    if damage == "left":
        (folder / "left.npy").write_bytes(b"")
    elif damage == "keys":
        keys = np.load(folder / "scattered-keys.npy")
        np.save(folder / "scattered-keys.npy", keys + 10_000)
    elif damage == "indices":
        indices = np.load(folder / "columns-0-indices.npy")
        np.save(folder / "columns-0-indices.npy", indices + 100)
    else:
        index = folder / "approximation.json"
        index.write_text(index.read_text().replace('"pairs"', '"paris"'))
    with pytest.raises(fp.InputError, match="is not a whole saved approximation"):
        fp.load(folder)


def test_a_constant_truth_can_be_measured():
    for value in (0.0, 1.0):
        K = np.full((20, 20), value)
        assert quality(fp.approximate(None, K, budget=0.5), K)[:2] == (0.0, 1.0)
