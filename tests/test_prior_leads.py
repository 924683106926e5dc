"""Where the prior alone knows more: reading goes by it, and so do the answers."""

from types import SimpleNamespace

import numpy as np
import pytest

import fewpairs as fp
from fewpairs.matrix.entries import Entries
from fewpairs.methods.auto import first_look
from fewpairs.methods.auto.best_values import best_values, with_new
from fewpairs.methods.auto.left_columns import do_without
from fewpairs.methods.auto.overclaiming import humbled
from fewpairs.methods.auto.reading_rounds import ReadingRounds
from fewpairs.methods.auto.shares import share_of_entries
from fewpairs.model.guard import Guard
from fewpairs.model.low_rank import LowRank
from fewpairs.model.model import Model
from fewpairs.model.pair_inputs import PairInputs
from fewpairs.similarity.priors import Prior

UNTRAINED = fp.Auto(student=False)


def unit(X):
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)


def falling_steeply(n=600, steep=12.0):
    """exp(−12.5 d): a few values are a million times as large as most."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 12))
    X[: n // 10] = X[n // 10 : n // 5] + 0.05 * rng.standard_normal((n // 10, 12))
    X = unit(X)
    distances = np.linalg.norm(X[:, None] - X[None], axis=2)
    return np.exp(-steep * distances), unit(X + 0.09 * rng.standard_normal(X.shape))


def recall(approx, K, k=10):
    K = K.astype(float)
    np.fill_diagonal(K, -np.inf)
    true = np.argsort(-K, axis=1)[:, :k]
    found = approx.neighbors(k).indices
    return np.mean([len(set(a) & set(b)) / k for a, b in zip(true, found, strict=True)])


@pytest.mark.parametrize("seed", range(3))
def test_what_was_read_is_not_hidden_behind_a_mean_that_outweighs_it(seed):
    K, prior = falling_steeply()
    approx = fp.approximate(
        None, K, method=UNTRAINED, budget="20/item", prior=prior, seed=seed
    )
    # Before, unread pairs came first: .3 with as many evaluations, and often less.
    assert recall(approx, K) > 0.62


def claiming(level, n=40):
    """A model that says ``level`` of every pair, a little more of later items."""
    rising = level * (1 + 1e-3 * np.arange(n)) ** 0.5
    low_rank = LowRank(np.sqrt(rising)[:, None], signature=np.ones(1))
    return Model(low_rank, np.empty(0, dtype=np.int64), "said", guard=Guard(0.0, 1.0))


def read_in_part(K, *, largest=False):
    known = Entries(len(K), symmetric=True)
    i, j = np.triu_indices(len(K), 1)
    some = np.random.default_rng(0).permutation(len(i))
    if largest:
        some = np.argsort(-K[i, j])
    i, j = i[some], j[some]
    known.add_pairs(i[:400], j[:400], K[i[:400], j[:400]])
    last = i[400:500], j[400:500], K[i[400:500], j[400:500]]
    return known, last


def test_claims_that_do_not_hold_leave_nothing_but_the_order():
    rng = np.random.default_rng(1)
    K = np.exp(rng.normal(0, 0.3, (40, 40)) - 9)
    K = np.triu(K, 1) + np.triu(K, 1).T
    known, last = read_in_part(K, largest=True)
    model = claiming(0.01)  # far above all that was read
    found = humbled(model, known, 20.0, last, last[2])
    i, j = last[:2]
    before, after = model.pairs(i, j), found.pairs(i, j)
    assert np.array_equal(np.argsort(before), np.argsort(after))
    low, high = np.quantile(last[2], [0.5, 0.75])
    assert np.median(after) == pytest.approx(low, rel=1e-6)
    assert after.max() <= high * (1 + 1e-6)
    assert "order alone" in found.words


def test_claims_that_hold_or_are_few_stay():
    rng = np.random.default_rng(1)
    K = rng.random((40, 40))
    K = np.triu(K, 1) + np.triu(K, 1).T
    known, last = read_in_part(K)
    modest = claiming(1e-3)
    assert humbled(modest, known, 20.0, last, last[2]) is modest
    # Half of an item's pairs are above what ranks second among a few that were read.
    right = claiming(0.9)
    bar = best_values(known, 40, 10)[:, -1]
    assert np.mean(last[2] >= bar[last[0]]) > 0.25
    assert humbled(right, known, 20.0, last, last[2]) is right


def test_a_better_order_must_not_cost_squared_error():
    rng = np.random.default_rng(1)
    K = np.exp(rng.normal(0, 0.3, (40, 40)) - 9)
    K = np.triu(K, 1) + np.triu(K, 1).T
    known, last = read_in_part(K, largest=True)
    truth = last[2] + 0.01  # of what stays unread the mean is right
    model = claiming(0.01)
    unread = (*last[:2], np.where(np.arange(100) < 10, truth, last[2]))
    assert humbled(model, known, 20.0, unread, last[2]) is not model
    all_of_them = (*last[:2], truth)
    assert humbled(model, known, 20.0, all_of_them, last[2]) is model


def rounds_that_read(values, said, cheap, n):
    """Reading rounds that have compared a scorer with the prior on some pairs."""
    spending = SimpleNamespace(oracle=SimpleNamespace(cost=SimpleNamespace(split=None)))
    rounds = ReadingRounds(spending, "balanced", 20.0, good_prior=False)
    i = np.repeat(np.arange(n), 12)
    j = (i + 1 + np.tile(np.arange(12), n)) % n
    empty = np.full((n, 10), -np.inf, dtype=np.float32)
    rounds._best = with_new(empty, i, j, values)
    rounds._steps = SimpleNamespace(lowest=lambda best: best[:, -1])
    rounds._compare(PairInputs(i, j, said, cheap), values, said, first=False)
    return rounds


def test_the_prior_leads_where_it_puts_hits_first_more_often():
    rng = np.random.default_rng(0)
    values, noise = rng.random(200 * 12), rng.random(200 * 12)
    near = values + 0.1 * noise
    assert rounds_that_read(values, noise, near, 200).prior_leads
    behind = rounds_that_read(values, near, noise, 200)
    assert not behind.prior_leads
    assert behind.lead > 2
    assert not rounds_that_read(values, near, near, 200).prior_leads


def test_a_sure_lead_stays_until_another_is_sure():
    rng = np.random.default_rng(0)
    values, noise = rng.random(200 * 12), rng.random(200 * 12)
    rounds = rounds_that_read(values, noise, values, 200)
    i = np.repeat(np.arange(200), 12)
    j = (i + 1 + np.tile(np.arange(12), 200)) % 200
    rounds._compare(PairInputs(i, j, noise, noise), values, noise, first=True)
    assert rounds.prior_leads
    rounds._compare(PairInputs(i, j, values, noise), values, values, first=False)
    assert not rounds.prior_leads


@pytest.mark.parametrize("per_item", [8, 20, 50])
def test_items_effects_get_no_more_random_pairs_than_a_share(per_item, monkeypatch):
    monkeypatch.setattr(first_look.FirstLook, "pairs_per_item", lambda self: 1e6)
    look = object.__new__(first_look.FirstLook)
    look.n = 1_000
    budget = per_item * look.n // 2
    spending = SimpleNamespace(
        budget=budget, left=budget, calls=1, per_item=lambda pairs: 2 * pairs / look.n
    )
    share = look.evaluations(spending, 0) / budget
    assert share == pytest.approx(min(0.7, 6 / per_item + 0.07), abs=0.001)


@pytest.mark.parametrize("low", [True, False])
def test_columns_alone_where_a_prior_is_in_their_way(low):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 24)) * 0.9 ** np.arange(24)
    prior = unit(X[:, :6] + rng.standard_normal((500, 6)))
    noise = 0.05 * rng.standard_normal((500, 500))
    K = X @ X.T if low else np.tanh(3 * prior @ prior.T) + noise + noise.T
    S = rng.permutation(500)[:20]
    spending = SimpleNamespace(columns=K[:, S], landmarks=S, rng=rng)
    assert do_without(Prior.of_embeddings(prior), spending) is low


def test_what_is_of_low_rank_by_itself_is_had_from_columns_alone():
    rng = np.random.default_rng(0)
    X = unit(rng.standard_normal((1_000, 60)) * 0.95 ** np.arange(60))
    K = (X @ X.T).astype(np.float64)
    prior = unit(X[:, ::4] + 0.2 * rng.standard_normal((1_000, 15)))
    approx = fp.approximate(None, K, method=UNTRAINED, budget=0.25, prior=prior)
    assert "fitted to" not in approx.method  # no regression on single pairs
    assert len(approx.landmarks) > 50
    assert recall(approx, K) > 0.95


def test_entries_get_fewer_random_pairs_of_larger_budgets_and_more_than_neighbors():
    shares = [share_of_entries(budget) for budget in (10, 20, 40, 80, 160)]
    assert np.all(np.diff(shares) < 0)
    assert max(share_of_entries(budget) for budget in (0.1, 1, 5)) <= 0.9


@pytest.mark.parametrize("per_item", [10, 30])
def test_entries_are_known_better_where_they_are_all_that_counts(per_item):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((800, 20))
    effects = 0.5 * rng.standard_normal(800)
    K = np.tanh(X @ X.T / 5) + effects[:, None] + effects
    prior = unit(X + rng.standard_normal(X.shape))
    off = ~np.eye(800, dtype=bool)

    def missed(purpose):
        method = fp.Auto(student=False, purpose=purpose)
        budget = f"{per_item}/item"
        approx = fp.approximate(None, K, method=method, budget=budget, prior=prior)
        return float(np.mean((approx.dense() - K)[off] ** 2))

    assert missed("entries") < missed("neighbors")
