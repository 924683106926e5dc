"""Budgets are parsed once, and mean the same wherever they are given."""

import numpy as np
import pytest

import fewpairs as fp
from fewpairs.matrix.budget import Budget
from fewpairs.matrix.cost import Cost
from fewpairs.reading.opening import open_oracle
from tests.conftest import Counting, random_matrix

N = 80
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
    for given in (0.5, 700, "3/item"):
        budget = Budget.of(given, "budget")
        assert budget.limit(cost, on_top=16) == budget.limit(cost)


def test_a_run_is_the_same_by_whichever_words_its_budget_was_given():
    K = random_matrix(N, symmetric=True)
    by_share = fp.approximate(None, K, budget=0.25)
    by_text = fp.approximate(None, K, budget="25%")
    assert np.array_equal(by_share.dense(), by_text.dense())


@pytest.mark.parametrize("given", ["20min", "$5", "5", "per item", "/item"])
def test_what_is_no_budget_yet_is_refused_before_anything_is_paid(given):
    function = Counting(random_matrix(N, symmetric=True))
    if given == "5":
        with pytest.raises(fp.BudgetError, match="needs"):
            fp.approximate(range(N), fp.from_function(function), budget=given)
    else:
        with pytest.raises(fp.InputError, match="which is not a number"):
            fp.approximate(range(N), fp.from_function(function), budget=given)
    assert not function.calls


def test_opening_an_oracle_evaluates_nothing_but_the_check_of_a_symmetry():
    function = Counting(random_matrix(N, symmetric=True))
    for symmetric, calls in ((False, 0), (True, 16)):
        function.calls.clear()
        similarity = fp.from_function(function, symmetric=symmetric)
        oracle = open_oracle(similarity.bind(list(range(N))), similarity)
        assert oracle.evaluations == oracle.charged == len(function.calls) == calls
