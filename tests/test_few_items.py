"""Few items, few evaluations: what is kept back must leave something to learn from."""

import numpy as np
import pytest

import fewpairs as fp
from fewpairs.methods.auto.correcting import Correcting
from fewpairs.methods.auto.spending import GUARD, Spending
from fewpairs.model.pair_inputs import PairInputs

N = 150
BUDGET = 12 * N // 2


def hubs(seed, useless=False):
    """Return a similarity of effects and of hidden vectors, and a dim view of these."""
    rng = np.random.default_rng(seed)
    X, effect = rng.standard_normal((N, 6)), rng.standard_normal(N)
    noise = 0.2 * rng.standard_normal((N, N))
    K = X @ X.T / 3 + effect + effect[:, None] + noise + noise.T
    view = rng.standard_normal(X.shape) if useless else X
    return K, np.hstack([view, 0.5 * rng.standard_normal((N, 20))])


def run(seed, useless=False):
    K, prior = hubs(seed, useless)
    method = fp.Auto(student=False)
    approx = fp.approximate(
        None, K, method=method, budget=BUDGET, prior=prior, seed=seed
    )
    assert approx.evaluations <= BUDGET
    return approx, K


def test_once_a_prior_is_confirmed_less_is_kept_back_for_the_guard():
    kept = [
        len(run(0, useless=useless)[0].known.drawn[GUARD]) for useless in (False, True)
    ]
    assert kept[0] <= 0.08 * BUDGET < 0.25 * BUDGET < kept[1]


def test_few_evaluations_of_few_items_are_learned_from(monkeypatch):
    def quality():
        found = []
        for seed in range(4):
            approx, K = run(seed)
            i, j = np.triu_indices(N, 1)
            found.append(1 - np.var(approx.pairs(i, j) - K[i, j]) / np.var(K[i, j]))
        return np.mean(found)

    learned = quality()
    monkeypatch.setattr(Spending, "release", lambda self: None)
    assert learned > 0.85
    assert learned > quality() + 0.05


@pytest.mark.parametrize("n", [500, 3_000])
def test_what_is_one_for_all_is_told_by_some_items_where_there_are_many(n):
    rng = np.random.default_rng(0)
    i, j = rng.integers(n, size=(2, 40_000))
    values = np.zeros(len(i))
    inputs = PairInputs(i, j, values, values)
    out = Correcting(None, n, np.random.default_rng(1))._left_out(inputs)
    told = np.unique(np.concatenate([i[out], j[out]]))
    assert out.sum() >= 250
    assert len(told) <= (n if n == 500 else 1_200)


def test_few_pairs_of_many_items_tell_it_wherever_they_are():
    n = 3_000
    i, j = np.random.default_rng(0).integers(n, size=(2, 3_000))
    inputs = PairInputs(i, j, np.zeros(3_000), None)
    out = Correcting(None, n, np.random.default_rng(1))._left_out(inputs)
    assert 0.1 < out.mean() < 0.2
