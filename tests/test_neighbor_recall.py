"""The mean recall of neighbors: intervals that hold, and what they cost."""

import numpy as np
import pytest

import fewpairs as fp
from fewpairs.errors import InputError
from fewpairs.kernels.statistics.means import mean_interval

N, DEPTH = 300, 5


def planted(seed, noise):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, 6))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    E = rng.standard_normal((N, N)) * noise
    K = X @ X.T + (E + E.T) / 2
    np.fill_diagonal(K, 1.0)
    return K, X


def true_recall(K, indices):
    others = K - 2 * np.eye(len(K)) * np.abs(K).max()
    least = np.sort(others, axis=1)[:, -DEPTH]
    return float((K[np.arange(len(K))[:, None], indices] >= least[:, None]).mean())


@pytest.mark.parametrize("noise", [0.02, 0.2])
@pytest.mark.parametrize("how", ["rows", "candidates"])
def test_the_interval_holds_the_true_mean_recall(how, noise):
    for seed in range(3):
        K, X = planted(seed, noise)
        approx = fp.approximate(None, K, budget=0.15, prior=X, seed=seed)
        found = approx.neighbors(DEPTH, recall=how, evaluations=6_000, seed=seed)
        low, high = found.recall_interval
        assert low <= true_recall(K, found.indices) <= high
        assert 0 < found.evaluations <= 6_000


def test_candidates_say_more_than_rows_for_the_same_evaluations():
    K, X = planted(0, 0.02)
    approx = fp.approximate(None, K, budget=0.15, prior=X)
    rows = approx.neighbors(DEPTH, recall="rows", evaluations=4_000)
    next_ones = approx.neighbors(DEPTH, recall="candidates", evaluations=4_000)
    assert next_ones.recall_interval[0] > rows.recall_interval[0] + 0.1


def test_neighbors_of_two_sets_are_measured_too():
    K, X = planted(1, 0.02)
    across = K[:120, 120:]
    approx = fp.approximate(None, across, prior=(X[:120], X[120:]), budget=0.3)
    found = approx.neighbors(DEPTH, recall="candidates", evaluations=4_000)
    least = np.sort(across, axis=1)[:, -DEPTH]
    mine = across[np.arange(120)[:, None], found.indices]
    low, high = found.recall_interval
    assert low <= (mine >= least[:, None]).mean() <= high
    with pytest.raises(InputError, match="goes with of='items'"):
        approx.neighbors(DEPTH, of="others", recall="candidates", evaluations=999)


def test_what_makes_no_interval_is_refused():
    K, X = planted(2, 0.02)
    approx = fp.approximate(None, K, budget=0.15, prior=X)
    with pytest.raises(InputError, match="without evaluations"):
        approx.neighbors(DEPTH, recall="rows")
    with pytest.raises(InputError, match=r"recall is 0\.9"):
        approx.neighbors(DEPTH, recall=0.9, evaluations=900)
    with pytest.raises(InputError, match=r"delta is .*between 0 and 1"):
        approx.neighbors(DEPTH, recall="rows", evaluations=900, delta=1)
    with pytest.raises(InputError, match="do not read two rows"):
        approx.neighbors(DEPTH, recall="rows", evaluations=20)


@pytest.mark.parametrize("how", ["rows", "candidates"])
def test_neighbors_in_one_call_have_their_recall_within_the_budget(how):
    K, X = planted(3, 0.02)
    budget = 9_000
    found = fp.neighbors(None, K, DEPTH, prior=X, budget=budget, recall=how)
    low, high = found.recall_interval
    assert not found.way.exact
    assert low <= true_recall(K, found.indices) <= high
    assert low > 0
    assert found.evaluations <= budget
    plain = fp.neighbors(None, K, DEPTH, prior=X, budget=budget)
    assert plain.recall_interval is None
    whole = fp.neighbors(None, K, DEPTH, budget=1.0, recall=how)
    assert whole.recall_interval == (1.0, 1.0)


def test_a_recall_that_the_budget_cannot_pay_is_refused_before_anything_is_paid():
    K, X = planted(3, 0.02)
    with pytest.raises(InputError, match="a recall takes two rows at least, 600"):
        fp.neighbors(None, K, DEPTH, prior=X, budget=1_000, recall="rows")
    with pytest.raises(
        InputError, match=r"recall is 0\.9; pass 'rows' or 'candidates'"
    ):
        fp.neighbors(None, K, DEPTH, prior=X, budget=9_000, recall=0.9)
    with pytest.raises(InputError, match="delta is 0"):
        fp.neighbors(None, K, DEPTH, prior=X, budget=9_000, recall="rows", delta=0)


@pytest.mark.parametrize("delta", [0.05, 0.2])
def test_an_interval_of_a_mean_holds_as_often_as_it_says(delta):
    rng = np.random.default_rng(0)
    failed, runs = 0, 300
    for run in range(runs):
        whole = rng.beta(*[(8, 1), (0.3, 0.1), (1, 30)][run % 3], size=200)
        low, high = mean_interval(rng.permutation(whole)[:40], 200, delta)
        failed += not low <= whole.mean() <= high
    assert failed / runs <= delta + 2 * np.sqrt(delta * (1 - delta) / runs)


def test_all_numbers_make_their_mean():
    assert mean_interval([0.25, 0.75], 2) == (0.5, 0.5)
    assert mean_interval([], 4) == (0.0, 1.0)
