"""Few evaluations per item: every budget helps, nothing is lost on the way."""

from dataclasses import replace

import numpy as np
import pytest

import fewpairs as fp
from fewpairs.kernels.linalg.mixed_effects import MixedEffects
from fewpairs.matrix.cost import Cost
from fewpairs.matrix.entries import Entries
from fewpairs.methods.auto import expansion, few, proposals
from fewpairs.methods.auto.pair_regression import PairRegression
from fewpairs.model.blend import Blend
from fewpairs.similarity.given_priors import as_prior
from fewpairs.similarity.priors import Prior
from tests.conftest import best_of, nearest, shared

N = 600


def hubs_and_topics(n=N, seed=0):
    """Topics that a noisy prior sees, row effects that it does not, rough on top."""
    rng = np.random.default_rng(seed)
    hidden = rng.standard_normal((n, 12))
    hidden /= np.linalg.norm(hidden, axis=1, keepdims=True)
    effects = 0.15 * rng.standard_normal(n)
    rough = 0.05 * rng.standard_normal((n, n))
    K = np.tanh(2 * hidden @ hidden.T) + effects[:, None] + effects + rough + rough.T
    prior = hidden + 0.12 * rng.standard_normal(hidden.shape)
    return K, prior


def quality(approx, K, k=10):
    n = len(K)
    upper = np.triu_indices(n, 1)
    answers = np.asarray(approx.dense())
    r2 = 1 - np.mean((answers - K)[upper] ** 2) / np.var(K[upper])
    return shared(nearest(K, k), approx.neighbors(k)[0]), r2


def reranked(K, prior, pairs):
    """The prior's top pairs of every item, read; others by the prior."""
    n = len(K)
    unit = prior / np.linalg.norm(prior, axis=1, keepdims=True)
    cheap = unit @ unit.T - 2 * np.eye(n)
    order = np.argsort(-cheap, axis=1)
    keys = {}
    for column in order.T:
        for i, j in zip(range(n), column):
            if len(keys) < pairs:
                keys[min(i, j), max(i, j)] = True
    i, j = np.array(list(keys)).T
    score = cheap - 10
    score[i, j] = score[j, i] = K[i, j]
    return shared(nearest(K, 10), best_of(score, 10))


@pytest.fixture(scope="module")
def case():
    return hubs_and_topics()


# --- the regression ---------------------------------------------------------------


def pairs_of_items(rng, n, m):
    """Return m random pairs of n items."""
    i = rng.integers(n, size=m)
    return i, (i + 1 + rng.integers(n - 1, size=m)) % n


def test_mixed_effects_recover_weights_effects_and_their_variances():
    rng = np.random.default_rng(0)
    n, m = 1_000, 6_000
    effects = 0.6 * rng.standard_normal(n)
    i, j = pairs_of_items(rng, n, m)
    X = rng.standard_normal((m, 3)).astype(np.float32)
    y = X @ [0.5, -0.3, 0.0] + effects[i] + effects[j] + 0.4 * rng.standard_normal(m)
    fitted = MixedEffects(n, np.array([-1, 0, 0]))
    for at in np.array_split(np.arange(m), 3):
        fitted.add(X[at].__getitem__, i[at], j[at], y[at])
    found = fitted.solve()
    assert np.allclose(found.weights, [0.5, -0.3, 0.0], atol=0.03)
    assert np.corrcoef(found.items, effects)[0, 1] > 0.95
    assert found.noise == pytest.approx(0.16, rel=0.15)
    assert found.spread == pytest.approx(0.36, rel=0.15)


def test_small_effects_are_found_small():
    rng = np.random.default_rng(2)
    n, m = 1_000, 3_000
    effects = 0.1 * rng.standard_normal(n)
    i, j = pairs_of_items(rng, n, m)
    y = effects[i] + effects[j] + rng.standard_normal(m)
    found = []
    for small in (False, True):
        fitted = MixedEffects(n, np.array([-1]), small=small)
        fitted.add(np.ones((m, 1), np.float32).__getitem__, i, j, y)
        found.append(fitted.solve())
    assert found[1].spread < 0.03 < found[0].spread
    missed = [float(np.mean((one.items - effects) ** 2)) for one in found]
    assert missed[1] < 0.7 * missed[0]


def test_an_item_of_which_nothing_is_known_has_no_effect():
    fitted = MixedEffects(4, np.array([-1]))
    i, j = np.array([0, 0, 1]), np.array([1, 2, 2])
    X = np.ones((3, 1), np.float32)
    fitted.add(X.__getitem__, i, j, np.array([1.0, 0.5, -0.5]))
    assert fitted.solve().items[3] == 0


def test_a_group_of_features_that_says_nothing_is_shrunk_away():
    rng = np.random.default_rng(1)
    n, m = 200, 400
    i, j = rng.integers(n, size=m), rng.integers(n, size=m)
    X = rng.standard_normal((m, 41)).astype(np.float32)
    y = X[:, 0] + 0.5 * rng.standard_normal(m)
    fitted = MixedEffects(n, np.repeat([-1, 0], [1, 40]))
    fitted.add(X.__getitem__, i, j, y)
    weights = fitted.solve().weights
    least_squares = np.linalg.lstsq(X, y, rcond=None)[0]
    assert np.sum(weights[1:] ** 2) < 0.3 * np.sum(least_squares[1:] ** 2)


def test_the_model_of_a_regression_is_what_was_fitted(case):
    K, prior = case
    rng = np.random.default_rng(0)
    unit = (prior / np.linalg.norm(prior, axis=1, keepdims=True)).astype(np.float32)
    i, j = np.triu_indices(N, 1)
    some = rng.permutation(len(i))[: 4 * N]
    regression = PairRegression(N, Prior.of_embeddings(unit), rng)
    model = regression.fit(i[some], j[some], K[i[some], j[some]])
    everything = np.arange(N)
    block = model.block(everything, everything)
    assert np.allclose(block, block.T)
    assert np.allclose(
        model.pairs(i[some], j[some]), block[i[some], j[some]], atol=1e-6
    )
    left = 1 - np.mean((block - K)[i, j] ** 2) / np.var(K[i, j])
    assert left > 0.7


# --- every budget helps -----------------------------------------------------------


@pytest.mark.parametrize("per_item", [2, 4, 8, 16, 30])
def test_the_default_is_ahead_of_re_ranking_and_of_the_mean(case, per_item):
    K, prior = case
    budget = per_item * N // 2
    approx = fp.approximate(None, K, budget=budget, prior=prior, seed=1)
    found, r2 = quality(approx, K)
    assert approx.evaluations <= budget
    assert found >= reranked(K, prior, budget)
    assert r2 > 0.3


def test_recall_and_r2_rise_with_the_budget(case):
    K, prior = case
    results = []
    for per_item in (2, 6, 18, 60, 150):
        budget = per_item * N // 2
        results.append(quality(fp.approximate(None, K, budget=budget, prior=prior), K))
    recalls, r2s = np.array(results).T
    assert (np.diff(recalls) > -0.03).all(), recalls
    assert (np.diff(r2s) > -0.03).all(), r2s
    assert recalls[-1] > recalls[0] + 0.2


def test_a_student_keeps_up_where_closed_forms_do_well(case):
    K, prior = case[0][:300, :300], case[1][:300]
    budget = 16 * 300 // 2
    plain = fp.approximate(
        None, K, method=fp.Auto(student=False), budget=budget, prior=prior
    )
    taught = fp.approximate(
        None, K, method=fp.Auto(student=True), budget=budget, prior=prior
    )
    assert "student" in taught.method
    assert quality(taught, K)[0] > quality(plain, K)[0] - 0.07


def test_a_useless_prior_does_little_harm(case):
    K, _ = case
    budget = 12 * N // 2
    noise = np.random.default_rng(3).standard_normal((N, 12))
    without = quality(fp.approximate(None, K, budget=budget), K)
    useless = quality(fp.approximate(None, K, budget=budget, prior=noise), K)
    assert useless[1] > without[1] - 0.05


def test_a_prior_without_embeddings_serves_too(case):
    K, prior = case
    unit = prior / np.linalg.norm(prior, axis=1, keepdims=True)
    cheap = fp.from_matrix(unit @ unit.T)
    approx = fp.approximate(None, K, budget=12 * N // 2, prior=cheap)
    assert quality(approx, K)[1] > 0.5


def test_purposes_trade_entries_for_neighbors():
    for per_item in (4, 30):
        shares = [
            few.random_share(p, per_item) for p in ("neighbors", "balanced", "entries")
        ]
        assert shares == sorted(shares)


@pytest.mark.parametrize("purpose", ["neighbors", "balanced", "entries"])
def test_a_prior_that_says_little_leaves_more_of_a_budget_to_random_pairs(purpose):
    told, untold = (
        np.array([few.random_share(purpose, p, told=t) for p in (2, 5, 8, 30, 60, 200)])
        for t in (True, False)
    )
    assert (untold >= told).all()
    assert (untold[0] > told[0]) == (purpose != "entries")
    assert (np.diff(untold[:4]) <= 0).all()


# --- as everywhere ------------------------------------------------------------------


def test_the_same_seed_gives_the_same_bits(case):
    K, prior = case
    one, two = (
        fp.approximate(None, K, budget=8 * N // 2, prior=prior, seed=5).dense()
        for _ in range(2)
    )
    assert np.array_equal(one, two)


@pytest.mark.parametrize("student", [False, True])
def test_what_is_saved_answers_to_the_bit(case, tmp_path, student):
    K, prior = case
    K, prior = K[:300, :300], prior[:300]
    method = fp.Auto(student=student, student_seconds=2)
    approx = fp.approximate(None, K, method=method, budget=11 * 150, prior=prior)
    assert approx.model.correction is not None
    approx.save(tmp_path / "run")
    again = fp.load(tmp_path / "run")
    assert np.array_equal(again.dense(), approx.dense())


def test_how_far_items_vectors_hold_is_saved(case, tmp_path):
    K, prior = case
    approx = fp.approximate(None, K, budget=40 * N // 2, prior=prior)
    approx.save(tmp_path / "run")
    again = fp.load(tmp_path / "run")
    assert again.model.correction.fade == approx.model.correction.fade
    assert again.model.correction.fade.share < 1
    assert again.model.correction.bulk == approx.model.correction.bulk
    for saved, part in zip(
        again.model.correction.form, approx.model.correction.form, strict=True
    ):
        assert np.array_equal(saved, part)
    assert np.array_equal(again.dense(), approx.dense())


def test_a_trained_answer_blends_the_student_with_the_correction(case):
    K, prior = case
    method = fp.Auto(student=True, student_seconds=2)
    model = fp.approximate(None, K, method=method, budget=5_000, prior=prior).model
    model = replace(model, guard=None, ceilings=None)
    bent, student = replace(model, student=None), replace(model, blend=None)
    bare = replace(bent, correction=None)
    i, j = np.random.default_rng(0).integers(N, size=(2, 2_000))
    said = [one.pairs(i, j) for one in (student, bent, bare)]
    assert np.std(said[1] - said[2]) > 0.02 * np.std(said[2]), "nothing is corrected"
    together = model.pairs(i, j)
    np.testing.assert_array_equal(together, model.blend(*said[:2]))
    everything = np.arange(N)
    block = model.block(everything, everything)
    np.testing.assert_allclose(block[i, j], together, atol=1e-4)


@pytest.mark.parametrize("student", [False, True])
def test_a_run_that_failed_in_a_round_goes_on_to_the_same_bits(case, student):
    K, prior = case
    K, prior = K[:200, :200], prior[:200]
    items = list(range(200))
    calls = []

    def similarity(i, j):
        calls.append(1)
        if len(calls) == fails_at:
            raise RuntimeError("the judge went away")
        return float(K[i, j])

    judge = fp.from_function(similarity, symmetric=True)
    method = fp.Auto(student=student, student_seconds=600)
    run = {"method": method, "budget": 11 * 100, "prior": prior}
    fails_at = -1
    whole = fp.approximate(items, judge, **run).dense()
    ledger = fp.Ledger()
    fails_at = len(calls) + 900  # in the middle of the rounds
    with pytest.raises(fp.SimilarityError, match="went away"):
        fp.approximate(items, judge, store=ledger, **run)
    fails_at = -1
    assert np.array_equal(
        fp.approximate(items, judge, store=ledger, **run).dense(), whole
    )


def test_growing_keeps_what_was_read_and_gets_better(case):
    K, prior = case
    first = fp.approximate(None, K, budget=6 * N // 2, prior=prior)
    grown = first.grow(24 * N // 2)
    assert grown.evaluations <= 24 * N // 2
    assert quality(grown, K)[0] > quality(first, K)[0]


def test_new_items_are_placed_by_a_few_references(case):
    K, prior = case
    fitted, new = np.arange(N - 50), np.arange(N - 50, N)
    judge = fp.from_function(lambda i, j: float(K[i, j]), symmetric=True)
    approx = fp.approximate(
        list(fitted), judge, budget=20 * len(fitted) // 2, prior=prior[fitted]
    )
    projection = approx.project(list(new), prior=prior[new])
    assert projection.evaluations <= 32 * len(new)
    truth = K[np.ix_(new, fitted)]
    error = np.mean((projection.block() - truth) ** 2)
    assert error < 0.4 * np.var(truth)


# --- more items than can be compared with each other ----------------------------------


def test_an_index_proposes_what_blocks_would(case, monkeypatch):
    pytest.importorskip("faiss")
    K, prior = case
    budget = 16 * N // 2
    blocks = quality(fp.approximate(None, K, budget=budget, prior=prior), K)
    monkeypatch.setattr(proposals, "EXACT", 100)
    index = quality(fp.approximate(None, K, budget=budget, prior=prior), K)
    assert index[0] > blocks[0] - 0.05


def test_a_prior_without_embeddings_proposes_among_many_items(monkeypatch):
    pytest.importorskip("faiss")
    monkeypatch.setattr(proposals, "EXACT", 100)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 8))[rng.integers(60, size=N)]
    X += 0.3 * rng.standard_normal((N, 8))
    near = np.exp(-np.sum((X[:, None] - X[None]) ** 2, axis=2) / 16)
    prior = as_prior(fp.from_matrix(near), None, N, "a test")
    assert prior.vectors is None
    model = PairRegression(N, prior, rng).fit(
        *(ends := rng.integers(N, size=(2, 4_000))), near[ends[0], ends[1]]
    )
    found = proposals.propose(model, Entries(N, symmetric=True, diagonal=1.0), 40)
    best = np.argsort(-near + 2 * np.eye(N), axis=1)[:, :10]
    offered = [np.isin(best[t], found.partner[t]).mean() for t in range(N)]
    assert np.mean(offered) > 0.8


class Recorded:
    """Stands for an oracle: decides once, as a ledger does."""

    cost = Cost(1_000, symmetric=True, calls=1, free_diagonal=True)

    def __init__(self):
        self.decided = {}

    def decide(self, name, choose):
        return self.decided.setdefault(name, choose())


def test_what_finds_candidates_is_written_down_and_not_decided_again(monkeypatch):
    monkeypatch.setattr(proposals, "EXACT", 100)
    monkeypatch.setattr(proposals, "gpu", lambda: "cuda")
    oracle = Recorded()
    assert proposals.searching(oracle) == "cuda"
    assert oracle.decided == {"search": "cuda"}
    monkeypatch.setattr(proposals, "gpu", lambda: None)
    with pytest.raises(fp.errors.StoreError, match="begun with candidates found on a"):
        proposals.searching(oracle)


def test_few_items_are_compared_in_blocks_and_nothing_is_decided():
    oracle = Recorded()
    assert proposals.searching(oracle) is None
    assert oracle.decided == {}


def reached(near, have, *, known=(), fresh=None):
    """Return {item: others} that `expansion._distinct` finds of all items."""
    n = len(near)
    entries = Entries(n, symmetric=True, diagonal=1.0)
    for i, j in known:
        entries.add_pairs(np.array([i]), np.array([j]), np.array([0.5]))
    fresh = np.ones(near.shape, dtype=bool) if fresh is None else fresh
    rows = np.arange(n)
    at, other = expansion._distinct(rows, near, fresh, have, entries)
    return [sorted(other[at == item].tolist()) for item in range(n)]


NEAR = np.array([[1, 2], [2, 3], [3, 0], [0, 0], [0, 1]], dtype=np.int32)
HAVE = np.array([[1], [0], [0], [1], [2]], dtype=np.int32)


def test_neighbors_of_neighbors_are_offered_once_and_never_the_item_itself():
    for item, new in enumerate(reached(NEAR, HAVE)):
        expected = set(NEAR[NEAR[item]].ravel().tolist()) - {item, int(HAVE[item, 0])}
        assert new == sorted(expected)


def test_neighbors_of_neighbors_that_were_read_are_not_offered():
    assert reached(NEAR, HAVE)[4] == [1, 3]
    assert reached(NEAR, HAVE, known=[(3, 4)])[4] == [1]


def test_only_what_goes_through_a_new_neighbor_is_looked_at_again():
    before = NEAR.copy()
    before[1] = [2, 4]  # 3 is new for item 1, and for those next to item 1
    fresh = expansion._fresh(NEAR, before)
    assert np.argwhere(fresh).tolist() == [[1, 1]]
    assert reached(NEAR, HAVE, fresh=fresh) == [[3], [], [], [], [3]]


def test_the_best_that_was_read_comes_first_whatever_its_sign():
    entries = Entries(4, symmetric=True)
    i, j = np.array([0, 0, 0]), np.array([1, 2, 3])
    entries.add_pairs(i, j, np.array([-2.0, 0.5, -0.0]))
    best = expansion.best_known(entries, 4, 2)
    assert best.tolist() == [[2, 3], [0, 1], [0, 2], [0, 3]]


def test_a_gpu_finds_the_same_neighbors_of_neighbors(case, monkeypatch):
    """Here torch on the cores stands in for it: the same mathematics."""
    pytest.importorskip("torch")
    K, prior = case
    rng = np.random.default_rng(0)
    i, j = rng.integers(N, size=(2, 5 * N))
    i, j = i[i != j], j[i != j]
    known = Entries(N, symmetric=True, diagonal=1.0)
    known.add_pairs(i, j, K[i, j])
    given = as_prior(prior, None, N, "a test")
    model = PairRegression(N, given, rng).fit(i, j, K[i, j])
    found = []
    for by in (None, "cuda"):
        candidates = proposals.propose(model, known, 20)
        candidates.by = by
        for _ in range(2):  # the second time only through what is new
            expansion.expand(candidates, model, known, lambda inputs: inputs.base, 4)
        order = np.argsort(candidates.partner, axis=1)
        found.append(np.take_along_axis(candidates.partner, order, axis=1))
    same = np.mean([np.isin(a, b).mean() for a, b in zip(*found, strict=True)])
    assert same > 0.999  # products are rounded otherwise


# --- the blend ------------------------------------------------------------------------


def test_a_blend_trusts_a_student_where_it_is_right():
    rng = np.random.default_rng(0)
    truth = rng.standard_normal(3_000)
    base = truth + 0.5 * rng.standard_normal(3_000)
    wrong_below = np.where(truth < 1.2, 2.0, 0.05) * rng.standard_normal(3_000)
    student = np.where(truth < 1.2, np.minimum(truth + wrong_below, 1.2), truth)
    blend = Blend.by(student, base, truth)
    assert blend.shares[-1] > 0.8
    assert blend.shares[0] < 0.3
    together = blend(student, base)
    assert np.mean((together - truth) ** 2) < np.mean((base - truth) ** 2)
