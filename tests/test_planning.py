"""The bill before paying, and that it is kept."""

import numpy as np

import fewpairs as fp
from tests.conftest import Counting, random_matrix


def test_the_plan_names_the_evaluations_that_the_run_then_makes():
    K = random_matrix(150, symmetric=True)
    for method in ("regularized", "sms", fp.Nystrom(7)):
        plan = fp.plan(None, K, budget=0.2, method=method)
        approx = fp.approximate(None, K, budget=0.2, method=method)
        assert plan.evaluations == approx.evaluations
        assert plan.exact_evaluations == 150 * 151 // 2


def test_the_plan_of_the_default_is_hardly_more_than_it_spends():
    K = random_matrix(150, symmetric=True)
    plan = fp.plan(None, K, budget=0.2)
    approx = fp.approximate(None, K, budget=0.2)
    assert 0.95 * plan.evaluations < approx.evaluations <= plan.evaluations


def test_the_sample_is_counted_small_and_not_paid_for_again():
    K = random_matrix(200, symmetric=True)
    function = Counting(K)
    similarity = fp.from_function(function, symmetric=True)
    plan = fp.plan(range(200), similarity, budget=0.3)
    assert plan.sampled == len(function.calls) == plan.ledger.evaluations
    assert plan.sampled <= 0.1 * plan.evaluations + 16
    planned = {frozenset(pair) for pair in function.calls}
    function.calls.clear()
    approx = fp.approximate(range(200), similarity, budget=0.3, store=plan.ledger)
    again = planned & {frozenset(pair) for pair in function.calls}
    assert not again
    assert approx.bill.for_store == 0


def test_the_prediction_follows_from_what_an_evaluation_takes(monkeypatch):
    """A clock that only the similarity moves: one second an evaluation."""
    clock = [0.0]
    monkeypatch.setattr(
        "fewpairs.execution.calling.time.perf_counter", lambda: clock[0]
    )

    def slow(a, b):
        clock[0] += 1.0
        return float(a == b)

    plan = fp.plan(range(100), fp.from_function(slow, symmetric=True), budget=0.2)
    assert plan.seconds_each == 1.0
    assert np.isclose(plan.seconds, plan.evaluations)
    assert np.isclose(plan.exact_seconds, 100 * 101 / 2)


def test_the_plan_reads_like_a_bill():
    text = str(fp.plan(["a", "b", "ab"] * 40, fp.StringSimilarity("jaro"), budget=0.2))
    for part in ("plan for 120 items", "this budget", "all pairs", "7,140", "measured"):
        assert part in text
