"""Few evaluations per item without training: never below what is simpler."""

import numpy as np
import pytest

import fewpairs as fp
from fewpairs.kernels.linalg.item_ridges import item_ridges
from fewpairs.methods.auto.confirming import confirms, tops_stand_out
from fewpairs.methods.auto.correcting import Correcting
from fewpairs.methods.auto.first_look import FirstLook
from fewpairs.model.pair_inputs import BlockInputs, PairInputs
from fewpairs.model.training_pairs import TrainingPairs
from fewpairs.similarity.priors import Prior
from tests.test_few import hubs_and_topics, quality, reranked

N = 500
BUDGETS = (1, 2, 5, 10, 20, 28, 40, 50, 75, 100, 125, 150)  # up to 30 % of all pairs
NOISE = {"good": 0.05, "mediocre": 0.3}


@pytest.fixture(scope="module")
def K():
    return hubs_and_topics(N)[0]


def prior_of(kind, seed=0):
    """Return the hidden vectors with more or less noise, or noise alone."""
    rng = np.random.default_rng(seed)
    hidden = rng.standard_normal((N, 12))  # as in hubs_and_topics
    hidden /= np.linalg.norm(hidden, axis=1, keepdims=True)
    noise = np.random.default_rng(9).standard_normal(hidden.shape)
    return noise if kind == "useless" else hidden + NOISE[kind] * noise


def run(K, per_item, prior):
    budget = per_item * N // 2
    approx = fp.approximate(
        None, K, method=fp.Auto(student=False), budget=budget, prior=prior, seed=2
    )
    assert approx.evaluations <= budget
    return quality(approx, K)


# --- every budget helps ---------------------------------------------------------------


@pytest.mark.parametrize("kind", ["good", "mediocre"])
def test_no_budget_is_below_re_ranking_and_each_adds_to_the_last(K, kind):
    prior = prior_of(kind)
    found, r2 = np.array([run(K, p, prior) for p in BUDGETS]).T
    simple = np.array([reranked(K, prior, p * N // 2) for p in BUDGETS])
    assert (found > simple - 0.02).all(), (found, simple)
    assert (np.diff(found) > -0.02).all(), found
    assert (np.diff(r2) > -0.03).all(), r2


@pytest.mark.parametrize("per_item", [2, 10, 28, 50, 100])
def test_a_useless_prior_is_no_worse_than_none(K, per_item):
    without, useless = (run(K, per_item, p) for p in (None, prior_of("useless")))
    assert useless[0] > without[0] - 0.03
    assert useless[1] > without[1] - 0.03


def test_a_prior_that_knows_only_near_duplicates_is_used():
    rng = np.random.default_rng(0)
    K = 0.05 * rng.standard_normal((N, N))
    K = K + K.T
    twin = np.arange(N).reshape(-1, 2)[:, ::-1].ravel()
    K[np.arange(N), twin] = 5.0
    prior = np.repeat(rng.standard_normal((N // 2, 40)), 2, axis=0)
    approx = fp.approximate(None, K, budget=2 * N, prior=prior)
    assert (approx.neighbors(1)[0][:, 0] == twin).mean() > 0.3  # 0.002 by chance


# --- confirming a prior ---------------------------------------------------------------


def test_a_few_large_values_do_not_hide_that_a_prior_is_right():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 8)).astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    i, j = rng.integers(N, size=(2, 300))
    values = np.sum(X[i] * X[j], axis=1) + 0.5 * rng.standard_normal(300)
    values[:4] += [90, -80, 100, -95]
    assert confirms(Prior.of_embeddings(X), i, j, values, rng)
    assert not confirms(Prior.of_embeddings(X), i, j, rng.permutation(values), rng)


def test_pairs_that_a_prior_puts_first_stand_out_only_if_they_do():
    rng = np.random.default_rng(0)
    values = rng.standard_normal(300)
    assert tops_stand_out(rng.standard_normal(40) + 1.0, values)
    assert not tops_stand_out(rng.standard_normal(40), values)
    assert not tops_stand_out(np.zeros(40), np.zeros(300))
    assert not tops_stand_out(np.empty(0), values)


# --- the first look -------------------------------------------------------------------


def test_what_two_pairs_of_an_item_share_tells_how_many_pairs_effects_call_for():
    rng = np.random.default_rng(0)
    prior = Prior.of_embeddings(rng.standard_normal((N, 6)).astype(np.float32))
    i = rng.integers(N, size=1_500)
    j = (i + 1 + rng.integers(N - 1, size=1_500)) % N
    noise, effects = rng.standard_normal(1_500), rng.standard_normal(N)
    both = effects[i] + effects[j]

    def called_for(values):
        return FirstLook(prior, i, j, values, rng).pairs_per_item()

    assert called_for(noise) < 2
    assert called_for(0.2 * both + noise) < called_for(both + noise)
    assert called_for(both + 0.1 * noise) == pytest.approx(7.1, abs=0.2)


def low_rank_beside(prior_weight):
    """Return a matrix of which the prior knows a part, and landmarks the rest."""
    rng = np.random.default_rng(3)
    known, unknown = rng.standard_normal((2, 900, 2))
    K = prior_weight * np.tanh(known @ known.T) + np.tanh(unknown @ unknown.T)
    noise = 0.2 * rng.standard_normal(K.shape)
    return K + noise + noise.T, known


@pytest.mark.parametrize("rank", ["low", "none"])
def test_landmarks_are_bought_where_they_explain_what_the_prior_leaves(rank):
    K, prior = low_rank_beside(1.5)
    if rank == "none":
        rng = np.random.default_rng(0)
        shuffled = rng.permutation(K[np.triu_indices(len(K), 1)])
        unit = prior / np.linalg.norm(prior, axis=1, keepdims=True)
        K = 3 * unit @ unit.T
        K[np.triu_indices(len(K), 1)] += shuffled
        K = np.triu(K, 1) + np.triu(K, 1).T
    budget = 48 * len(K) // 2
    approx = fp.approximate(
        None, K, method=fp.Auto(student=False), budget=budget, prior=prior
    )
    assert approx.evaluations <= budget
    assert len(approx.model.landmarks) == (5 if rank == "low" else 0)
    if rank == "low":
        assert "5 landmarks" in approx.method
        without = fp.approximate(
            None, K, method=fp.Auto(student=False), budget=15 * len(K) // 2, prior=prior
        )
        assert not len(without.model.landmarks)  # too few evaluations for them
        assert quality(approx, K)[1] > quality(without, K)[1] + 0.1


def test_a_run_with_two_landmarks_grows_to_one_that_keeps_them():
    K, prior = low_rank_beside(1.5)
    method, gained = fp.Auto(student=False), []
    for seed in range(4):
        before = fp.approximate(
            None, K, method=method, budget=9_000, prior=prior, seed=seed
        )
        after = before.grow(15_000)
        assert set(before.model.landmarks) <= set(after.model.landmarks)
        assert after.evaluations <= 15_000
        (recall, r2), (before_recall, before_r2) = quality(after, K), quality(before, K)
        assert recall > before_recall
        gained.append(r2 - before_r2)
    assert np.mean(gained) > -0.01


def test_a_larger_budget_goes_on_with_the_random_pairs_of_a_smaller_one(K):
    """Guard and certificate draw anew, and what they had is learned from as random."""
    prior, method = prior_of("mediocre"), fp.Auto(student=False)
    before = fp.approximate(None, K, method=method, budget="20/item", prior=prior)
    after = before.grow("40/item")
    drawn = {*before.known.drawn, "held"} - {"uniform"}
    assert drawn == {"random", "guard", "held"}
    keys = np.concatenate([before.known.drawn[kind] for kind in sorted(drawn)])
    assert np.isin(keys, after.known.drawn["random"]).all()
    held = before.known.keys(before.evidence.i, before.evidence.j)
    assert np.array_equal(before.known.drawn["held"], held)


# --- the correction -------------------------------------------------------------------


def test_every_item_is_solved_for_as_by_itself():
    rng = np.random.default_rng(0)
    n, m = 40, 600
    i, j = rng.integers(n - 1, size=(2, m))
    weights, values = rng.random((2, m)).astype(np.float32)
    features = rng.standard_normal((n, 5)).astype(np.float32)
    some = np.arange(n) != 9
    told = item_ridges(i, j, weights, values, features, ridges=(2.0, 7.0), items=some)
    for ridge, solved in zip((2.0, 7.0), told, strict=True):
        for t in (0, 7, n - 2):
            sides = [(i == t, j), (j == t, i)]
            X = np.vstack([features[to[at]] * weights[at, None] for at, to in sides])
            y = np.concatenate([values[at] for at, _ in sides])
            alone = np.linalg.solve(X.T @ X + ridge * np.eye(5), X.T @ y)
            assert np.allclose(solved[t], alone, atol=1e-4)
        assert not solved[[9, n - 1]].any()  # not asked for; of which nothing is known


@pytest.fixture(scope="module")
def corrected():
    """A model that is bent at the top, and items whose partners it misjudges."""
    rng = np.random.default_rng(1)
    n = 200
    f = rng.standard_normal((n, 4)).astype(np.float32) / 2
    own = rng.standard_normal((n, 4)) / 2
    base = rng.standard_normal((n, n))
    base = (base + base.T) / 2
    truth = base + np.maximum(base - 0.5, 0) + (own @ f.T + f @ own.T) * (base > 0)
    cheap = 0.5 * base + 0.1
    i, j = np.triu_indices(n, 1)
    order = rng.permutation(len(i))
    random, rest = order[:1_500], order[1_500:]
    top = rest[base[i[rest], j[rest]] > 0.4][:4_000]

    def pairs(at):
        a, b = i[at], j[at]
        out = TrainingPairs()
        out.add(PairInputs(a, b, base[a, b], cheap[a, b]), truth[a, b])
        return out

    found = Correcting(f, n, rng).fit(pairs(random), pairs(top))
    everything = np.arange(n)
    block = found.block(BlockInputs(everything, everything, base.copy(), cheap))
    unread = np.setdiff1d(rest, top)
    return found, base, cheap, truth, block, (i[unread], j[unread])


def test_a_correction_is_nearer_to_what_was_not_read(corrected):
    _, base, _, truth, block, unread = corrected
    high = base[unread] > 0.4
    for part, share in ((high, 0.5), (~high, 1.0)):
        at = unread[0][part], unread[1][part]
        before = np.mean((base[at] - truth[at]) ** 2)
        assert np.mean((block[at] - truth[at]) ** 2) < share * before


def test_a_correction_says_the_same_of_pairs_and_blocks(corrected):
    found, base, cheap, _, block, (i, j) = corrected
    assert np.allclose(block, block.T, atol=1e-5)
    pairs = found.pairs(PairInputs(i, j, base[i, j], cheap[i, j]))
    assert np.allclose(pairs, block[i, j], atol=1e-5)


@pytest.mark.parametrize("everywhere", [True, False])
def test_vectors_of_items_count_as_far_as_random_pairs_say(everywhere):
    """Items differ in the same way everywhere, or at the top alone."""
    rng = np.random.default_rng(2)
    n = 200
    f = rng.standard_normal((n, 4)).astype(np.float32) / 2
    own = rng.standard_normal((n, 4)) / 2
    base = rng.standard_normal((n, n))
    base = (base + base.T) / 2
    there = 1.0 if everywhere else base > 0.7
    truth = base + (own @ f.T + f @ own.T) * there
    i, j = np.triu_indices(n, 1)
    order = rng.permutation(len(i))
    random, rest = order[:1_500], order[1_500:]
    looked = base[i[rest], j[rest]]
    # A few low ones were read as well: so items' vectors would count everywhere.
    top = np.concatenate([rest[looked > 0.8], rest[looked < -0.8][:300]])

    def pairs(at):
        out = TrainingPairs()
        inputs = PairInputs(i[at], j[at], base[i[at], j[at]], None)
        out.add(inputs, truth[i[at], j[at]])
        return out

    unread = np.setdiff1d(rest, top)
    unread = unread[np.abs(base[i[unread], j[unread]]) < 0.6]
    at = i[unread], j[unread]

    def missed(**options):
        found = Correcting(f, n, np.random.default_rng(0), **options)
        bent = found.fit(pairs(random), pairs(top))
        said = bent.pairs(PairInputs(*at, base[at], None))
        return bent.fade, np.mean((said - truth[at]) ** 2)

    fade, faded = missed()
    none, whole = missed(fades=False)
    assert none is None
    assert fade.low < 0.2 < 0.6 < fade.high
    if everywhere:
        assert fade.share > 0.8
        assert faded < 1.1 * whole < 0.7 * np.mean((base[at] - truth[at]) ** 2)
    else:
        assert fade.share < 0.3
        assert faded < 0.7 * whole


def test_what_prior_and_low_rank_say_stays_where_nothing_betters_it():
    rng = np.random.default_rng(0)
    n, m = 300, 1_200
    i, j = rng.integers(n, size=(2, m))
    base = rng.standard_normal(m)
    truth = base + 1e-4 * rng.standard_normal(m)
    far = rng.permutation(m)[:30]
    truth[far] += 3 * rng.standard_normal(30)
    random, top = TrainingPairs(), TrainingPairs()
    for part, to in ((base < 1, random), (base >= 1, top)):
        to.add(PairInputs(i[part], j[part], base[part], base[part]), truth[part])
    features = rng.standard_normal((n, 4)).astype(np.float32)
    found = Correcting(features, n, rng).fit(random, top)
    if found is not None:
        said = found.pairs(PairInputs(i, j, base, base))
        assert np.mean((said - truth) ** 2) < 1.2 * np.mean((base - truth) ** 2)
