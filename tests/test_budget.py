"""Budgets are parsed once, and mean the same wherever they are given."""

from functools import partial

import numpy as np
import pytest

import fewpairs as fp
from fewpairs.matrix.budget import Budget
from fewpairs.matrix.cost import Cost
from fewpairs.reading.opening import open_oracle
from tests.conftest import Counting, random_matrix

N = 80
TEXTS = ["red", "blue", "green", "reds"]
SAME = [
    (0.1, "10%"),
    (1.0, "100%"),
    (500, "500"),
    (500, "500_"),
    (100_000, "100,000"),
    (0.05, " 5 %"),
    ("30/item", "30.0 /item"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_a_text_is_the_budget_that_the_number_is(one, other):
    assert Budget.of(one, "budget") == Budget.of(other, "budget")


@pytest.mark.parametrize("symmetric", [True, False])
def test_pairs_per_item_are_half_as_many_pairs_as_items_times_pairs(symmetric):
    K = random_matrix(N, symmetric=symmetric)
    function = Counting(K)
    similarity = fp.from_function(function, symmetric=symmetric, diagonal=1.0)
    approx = fp.approximate(range(N), similarity, budget="20/item", method="nystrom")
    most = 10 * N * (1 if symmetric else 2)
    assert 0.8 * most < approx.evaluations == len(function.calls) <= most


def test_more_pairs_per_item_than_there_are_is_all_pairs():
    cost = Cost(N, symmetric=True, calls=1, free_diagonal=True)
    assert Budget.of("5000/item", "budget").limit(cost) == N * (N - 1) // 2


def test_only_a_share_of_everything_pays_for_the_check_on_top():
    cost = Cost(N, symmetric=True, calls=1, free_diagonal=False)
    assert Budget.of(1.0, "budget").limit(cost, on_top=16) == N * (N + 1) // 2 + 16
    most = Budget.of(f"{N - 1}/item", "budget")
    assert most.limit(cost, on_top=16) == N * (N + 1) // 2 + 16
    for given in (0.5, 700, "3/item", f"{N - 2}/item"):
        budget = Budget.of(given, "budget")
        assert budget.limit(cost, on_top=16) == budget.limit(cost)


def test_a_run_is_the_same_by_whichever_words_its_budget_was_given():
    K = random_matrix(N, symmetric=True)
    by_share = fp.approximate(None, K, budget=0.25)
    by_text = fp.approximate(None, K, budget="25%")
    assert np.array_equal(by_share.dense(), by_text.dense())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("0min", "budget is 0min; nothing can be read for that"),
        ("$-5", r"budget is \$-5; nothing can be read for that"),
        ("$5min", r"budget is '\$5min', and 'min' is no unit"),
        ("30/itm", "budget is '30/itm', and '/itm' is no unit"),
        ("per item", 'which is not a number. Pass pairs per item, such as "50/item"'),
        ("/item", "budget is '/item', which is not a number"),
        ("", "budget is '', which is not a number"),
    ],
)
def test_what_is_no_budget_is_refused_with_the_words_that_are(given, message):
    function = Counting(random_matrix(N, symmetric=True))
    similarity = fp.from_function(function, symmetric=False)
    approx = fp.approximate(range(N), similarity, budget=0.5)
    function.calls.clear()
    for call in (
        partial(fp.approximate, range(N), similarity, budget=given),
        partial(fp.approximate, range(N), similarity, budget=given, target_error=0.1),
        partial(fp.plan, range(N), similarity, given),
        partial(approx.grow, given),
        partial(fp.sklearn.SimilarityClusterer(similarity, budget=given).fit, TEXTS),
    ):
        with pytest.raises(fp.InputError, match=message):
            call()
    assert not function.calls


def test_every_door_takes_the_words():
    K = random_matrix(N, symmetric=True)
    similarity = fp.from_matrix(K)
    most = 12 * N
    assert fp.approximate(None, K, budget="24/item").evaluations <= most
    assert 0.9 * most < fp.plan(None, K, "24/item").evaluations <= most
    small = fp.approximate(None, similarity, budget="12/item", method="nystrom")
    assert small.evaluations < small.grow("24/item").evaluations <= most
    aimed = fp.approximate(None, K, budget="24/item", target_error=1e-9)
    assert 0.9 * most < aimed.evaluations <= most
    clusterer = fp.sklearn.SimilarityClusterer(
        fp.StringSimilarity("jaro"), budget="24/item", threshold=0.9
    )
    found = clusterer.fit([f"{t} {t}" for t in range(150)]).approximation_
    assert found.evaluations <= 12 * 150


def test_the_default_is_fifty_pairs_per_item():
    K = random_matrix(200, symmetric=True)
    similarity = fp.from_function(Counting(K), symmetric=True, diagonal=1.0)
    approx = fp.approximate(range(200), similarity)
    assert 0.95 * 25 * 200 < approx.evaluations <= 25 * 200
    assert 0.95 * 25 * 200 < fp.plan(range(200), similarity).evaluations <= 25 * 200


@pytest.mark.parametrize("n", [2, 40, 51])
def test_the_default_reads_everything_where_there_are_fewer_pairs(n):
    K = random_matrix(n, symmetric=True)
    approx = fp.approximate(None, K)
    assert np.array_equal(approx.dense(), K)
    assert approx.evaluations == n * (n + 1) // 2 == fp.plan(None, K).evaluations


def test_less_than_a_pair_per_item_says_what_it_buys():
    vectors = np.random.default_rng(0).standard_normal((5_000, 3))
    words = (
        r"2,000 evaluations is 0\.8 pairs per item: at least 1,000 of 5,000 items are "
        r'compared with none.*the mean.*budget="1/item" is 2,500 evaluations'
    )
    for budget in (2_000, "0.8/item"):
        with pytest.warns(fp.FewpairsWarning, match=words):
            approx = fp.approximate(vectors, fp.Cosine(), budget=budget)
        assert approx.evaluations <= 2_000


def test_a_budget_that_is_refused_names_the_pairs_per_item_that_would_do():
    function = Counting(random_matrix(N, symmetric=True))
    with pytest.raises(fp.BudgetError, match=r"of the pairs, [\d.]+ per item\)"):
        fp.approximate(range(N), fp.from_function(function), budget="5")
    assert not function.calls


def test_opening_an_oracle_evaluates_nothing_but_the_check_of_a_symmetry():
    function = Counting(random_matrix(N, symmetric=True))
    for symmetric, calls in ((False, 0), (True, 16)):
        function.calls.clear()
        similarity = fp.from_function(function, symmetric=symmetric)
        oracle = open_oracle(similarity.bind(list(range(N))), similarity)
        assert oracle.evaluations == oracle.charged == len(function.calls) == calls
