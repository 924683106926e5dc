"""The bill before paying, and that it is kept."""

import re

import numpy as np
import pytest

import fewpairs as fp
from fewpairs.run.expectation import expect
from fewpairs.run.measured import CURVES, Measured, Reached
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


def test_blocks_and_pairs_are_timed_apart(monkeypatch):
    """A call takes 1 ms, a pair of a list 10 µs, and of a block 0.1 µs."""
    clock = [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: clock[0])

    class Blocks(fp.Scorer):
        n, chunk = 4_000, 1 << 18

        def pairs(self, i, j):
            clock[0] += 1e-3 + 1e-5 * len(i)
            return np.cos(i - j)

        def block(self, rows, columns):
            clock[0] += 1e-3 + 1e-7 * len(rows) * len(columns)
            return np.cos(rows[:, None] - columns)

    class Quick(fp.Similarity):
        proven, diagonal = True, 1.0

        def bind(self, items):
            return Blocks()

    plan = fp.plan(range(4_000), Quick(), "10/item", method="nystrom")
    assert plan.rates.pair == pytest.approx(1e-5, rel=0.1)
    assert plan.rates.tile == pytest.approx(1e-7, rel=0.1)
    before = clock[0]
    fp.neighbors(range(4_000), Quick(), budget=1.0)
    assert plan.exact_seconds == pytest.approx(clock[0] - before, rel=0.2)
    before = clock[0]
    fp.approximate(range(4_000), Quick(), budget="10/item", method="nystrom")
    assert 1 / 1.5 < (clock[0] - before) / plan.seconds < 1.5
    assert plan.way.exact
    assert f"advice      {plan.way}" in str(plan)


def test_the_plan_reads_like_a_bill():
    text = str(fp.plan(["a", "b", "ab"] * 40, fp.StringSimilarity("jaro"), budget=0.2))
    for part in (
        "plan for 120 items",
        r"budget      1,428 evaluations \(20\.00%, 23\.8 per item\), \d+ MiB",
        r"evaluating  about [\d.]+ [mµ]?s",
        r"computing   about [\d.]+ [mµ]?s to [\d.]+ [mµ]?s",
        r"expect      \d+ to \d+ % of every item's 10 most similar found, \d+ to \d+ %",
        "all pairs   7,140",
        "measured",
    ):
        assert re.search(part, text), (part, text)


def test_a_plan_of_everything_expects_the_exact_matrix():
    K = random_matrix(40, symmetric=True)
    plan = fp.plan(None, K)
    assert plan.evaluations == plan.exact_evaluations
    assert (plan.per_item, plan.expectation) == (39, None)
    assert "everything is read: exact" in str(plan)


def test_a_plan_of_less_than_a_pair_per_item_says_so():
    vectors = np.random.default_rng(0).standard_normal((5_000, 3))
    plan = fp.plan(vectors, fp.Cosine(), "0.8/item")
    assert 0.75 < plan.per_item <= 0.8
    assert "less than a pair per item: the mean" in str(plan)


def test_other_methods_than_the_default_have_no_curves():
    plan = fp.plan(None, random_matrix(150, symmetric=True), method="nystrom")
    assert plan.expectation is None
    assert "expect" not in str(plan)


def test_pairs_per_item_of_both_orders_are_pairs():
    K = random_matrix(150, symmetric=False)
    similarity = fp.from_function(Counting(K), symmetric=False, diagonal=1.0)
    plan = fp.plan(range(150), similarity, "20/item")
    assert 19.5 < plan.per_item <= 20
    assert 0.95 * 20 * 150 < plan.evaluations <= 20 * 150


def test_the_sample_tells_what_a_prior_explains():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 5))
    explained = {}
    for name, prior in {"same": X, "none": rng.standard_normal((400, 5))}.items():
        plan = fp.plan(X, fp.Cosine(), prior=prior)
        explained[name] = plan.prior_r2
        assert f"explains {plan.prior_r2:.0%} of the differences" in str(plan)
    assert explained["same"] > 0.99
    assert explained["none"] < 0.1


def test_nothing_is_said_of_a_prior_by_a_handful_of_pairs():
    X = np.random.default_rng(0).standard_normal((60, 5))
    product = fp.from_function(lambda a, b: float(a @ b), symmetric=True)
    assert fp.plan(X, product, "10/item", prior=X).prior_r2 is None
    constant = fp.from_matrix(np.ones((400, 400)))
    assert fp.plan(None, constant, prior=np.eye(400)).prior_r2 is None


def test_a_plan_refuses_the_priors_that_a_run_refuses():
    X = np.random.default_rng(0).standard_normal((60, 5))
    with pytest.raises(fp.InputError, match=r"fewpairs\.plan: prior has 59 embeddings"):
        fp.plan(X, fp.Cosine(), prior=X[:59])
    with pytest.raises(fp.InputError, match="SMSNystrom takes no prior"):
        fp.plan(X, fp.Cosine(), prior=X, method="sms")


# --- what to expect -------------------------------------------------------------------

POINTS = (
    Reached(1, (0.1, 0.2), (0.0, 0.1), (0.001, 0.002)),
    Reached(100, (0.5, 0.6), (0.8, 0.9), (0.003, 0.004)),
)


@pytest.fixture
def curves(monkeypatch):
    made = (Measured("few", 3_000, POINTS), Measured("many", 40_000, POINTS[:1]))
    monkeypatch.setattr("fewpairs.run.expectation.CURVES", made)


@pytest.mark.usefixtures("curves")
def test_a_curve_is_read_between_its_points_on_a_logarithmic_scale():
    found = expect(2_000, 10)
    assert np.allclose(found.recall, (0.3, 0.4))
    assert np.allclose(found.r2, (0.4, 0.5))
    assert np.allclose(found.computing, (4, 6))
    assert "few 3,000" in found.source
    assert expect(2_000, 1).recall == (0.1, 0.2)
    assert expect(2_000, 700).recall == expect(2_000, 100).recall == (0.5, 0.6)


@pytest.mark.usefixtures("curves")
def test_a_data_set_of_the_same_size_tells():
    assert "many 40,000" in expect(10_000, 1).source
    assert "few" not in expect(10_000, 1).source
    assert expect(10_000, 0.9) is None


def test_what_was_measured_is_a_table_of_shares_by_rising_budgets():
    assert CURVES
    for curve in CURVES:
        budgets = [point.per_item for point in curve.points]
        assert budgets == sorted(set(budgets))
        for point in curve.points:
            for low, high in (point.recall, point.r2, point.computing):
                assert low <= high
            assert 0 <= point.recall[0] <= point.recall[1] <= 1
            assert point.r2[1] <= 1


# --- two sets ------------------------------------------------------------------------


def test_the_plan_of_two_sets_is_what_the_run_then_costs():
    K = np.random.default_rng(0).standard_normal((60, 90))
    function = Counting(K)
    plan = fp.plan(range(60), function, "20/item", others=range(90))
    assert (plan.n, plan.others) == (60, 90)
    assert plan.exact_evaluations == 60 * 90
    assert plan.evaluations == 20 * 60
    assert plan.per_item == 20
    assert plan.sampled == len(function.calls) <= 0.1 * plan.evaluations
    assert "60 items and 90 others" in str(plan)
    assert plan.expectation is None
    approx = fp.approximate(
        range(60), function, others=range(90), budget="20/item", store=plan.ledger
    )
    assert approx.evaluations <= plan.evaluations
    assert len(set(function.calls)) == len(function.calls)
    whole = fp.plan(None, K, 1.0)
    assert (whole.evaluations, whole.per_item) == (60 * 90, 90)


def test_a_plan_refuses_what_a_run_of_two_sets_refuses():
    K = np.random.default_rng(0).standard_normal((60, 90))
    with pytest.raises(fp.errors.InputError, match="these are two sets"):
        fp.plan(None, K, 0.2, method="nystrom")
    with pytest.raises(fp.errors.InputError, match="others is empty"):
        fp.plan(range(3), lambda a, b: a * b, others=[])
