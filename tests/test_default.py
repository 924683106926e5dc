"""The default: it finds what matters, and it never explodes."""

import json

import numpy as np
import pytest
from benchmarks.no_explosion import case, explained

import fewpairs as fp
from fewpairs.evaluation import quality
from fewpairs.matrix.entries import Entries
from fewpairs.methods.auto.candidates import Candidates, ceilings


def paraphrases(n=240, d=12, seed=0):
    """Pairs of near-duplicates, similar by a hidden metric; and their embeddings."""
    rng = np.random.default_rng(seed)
    half = rng.standard_normal((n // 2, d))
    X = np.vstack([half, half + 0.15 * rng.standard_normal((n // 2, d))])
    cosine = X @ X.T / np.outer(*(np.linalg.norm(X, axis=1),) * 2)
    K = 1 / (1 + np.exp(-12 * (cosine - 0.6))) + 0.02 * (X[:, :1] + X[:, :1].T)
    return K, X


K, X = paraphrases()
N = len(K)
TWIN = (np.arange(N) + N // 2) % N


# --- never an explosion --------------------------------------------------------------


@pytest.mark.parametrize("seed", range(104))
def test_no_matrix_makes_it_worse_than_the_mean(seed):
    """A part of `python -m benchmarks no_explosion`, which makes 2,000 such runs."""
    matrix, options = case(seed, largest=160)
    try:
        approx = fp.approximate(None, matrix, seed=seed, **options)
    except fp.BudgetError as error:  # what it says is needed must do
        options["budget"] = error.needed
        approx = fp.approximate(None, matrix, seed=seed, **options)
        assert approx.evaluations <= error.needed  # noqa: PT017
    assert np.isfinite(approx.dense()).all()
    assert min(explained(approx, (matrix + matrix.T) / 2)) >= -0.05


def test_pure_noise_gets_the_mean_and_the_receipt_says_so():
    noise = np.random.default_rng(0).standard_normal((200, 200))
    approx = fp.approximate(None, noise + noise.T, budget=0.2)
    assert "nothing predicts the pairs" in approx.method
    assert np.ptp(approx.factored.block([0, 1, 2], slice(None))) < 1e-12


def test_noise_at_a_budget_too_small_for_landmarks_gets_the_mean():
    K = np.random.default_rng(0).random((400, 400))
    approx = fp.approximate(None, K + K.T, budget=400)
    assert "nothing predicts the pairs" in approx.method
    assert len(approx.landmarks) == 0
    assert 390 <= approx.evaluations <= 400


def test_a_budget_too_small_for_anything_says_what_is_needed():
    with pytest.raises(
        fp.BudgetError, match=r"Auto needs [\d,]+ evaluations"
    ) as caught:
        fp.approximate(None, K, budget=30)
    assert caught.value.needed > 30
    fp.approximate(None, K, budget=caught.value.needed)


@pytest.mark.parametrize("purpose", ["balanced", "neighbors", "entries"])
def test_budgets_are_kept_and_spent(purpose):
    approx = fp.approximate(None, K, method=fp.Auto(purpose=purpose), budget=0.2)
    limit = 0.2 * N * (N - 1) / 2
    assert 0.95 * limit < approx.evaluations <= limit


def test_low_rank_is_recovered():
    Z = np.random.default_rng(0).standard_normal((300, 6))
    signs = np.array([1, 1, 1, -1, -1, 1])
    matrix = (Z * signs) @ Z.T
    approx = fp.approximate(None, matrix, budget=0.2)
    assert quality(approx, matrix).relative_error < 1e-6


def test_the_certificate_covers_the_true_error():
    Z = np.random.default_rng(0).standard_normal((200, 8))
    covered = []
    for matrix in (Z @ Z.T, np.tanh(Z @ Z.T / 3), K):
        for seed in range(14):
            approx = fp.approximate(None, matrix, budget=0.2, seed=seed)
            low, high = approx.certificate.interval
            covered.append(low <= quality(approx, matrix).relative_error <= high)
    assert np.mean(covered) >= 0.9


# --- the prior -----------------------------------------------------------------------


def test_a_prior_that_knows_something_is_used_and_helps():
    with_it = fp.approximate(None, K, budget=0.1, prior=X)
    without = fp.approximate(None, K, budget=0.1)
    assert "prior and row effects fitted" in with_it.method
    assert quality(with_it, K).r2 > quality(without, K).r2


def test_a_prior_that_knows_nothing_does_little_harm():
    rng = np.random.default_rng(1)
    lost = []
    for seed in range(4):
        useless = rng.standard_normal((N, 8))
        misled = fp.approximate(None, K, budget=0.3, prior=useless, seed=seed)
        without = fp.approximate(None, K, budget=0.3, seed=seed)
        assert "did not help" in misled.method
        lost.append(quality(without, K).r2 - quality(misled, K).r2)
    assert np.mean(lost) < 0.1


@pytest.mark.parametrize("method", ["auto", "regularized"])
def test_a_constant_prior_falls_back(method):
    approx = fp.approximate(None, K, budget=0.2, prior=np.ones((N, 3)), method=method)
    assert quality(approx, K).r2 > 0


def test_a_cheap_similarity_can_be_the_prior():
    texts = [f"{a} {b}" for a in "red green blue".split() for b in range(80)]
    costly = fp.StringSimilarity("levenshtein")
    approx = fp.approximate(
        texts, costly, budget=0.15, prior=fp.StringSimilarity("partial_ratio")
    )
    exact = costly.bind(texts).block(np.arange(240), np.arange(240))
    assert quality(approx, exact).r2 > 0.8


def test_a_prior_that_fails_is_named():
    def broken(a, b):
        return float("nan")

    prior = fp.from_function(broken, symmetric=True)
    with pytest.raises(fp.InputError, match=r"the prior .* returned NaN"):
        fp.approximate(range(N), fp.from_matrix(K), budget=0.2, prior=prior)


# --- refinement ----------------------------------------------------------------------


@pytest.mark.parametrize("prior", [None, X], ids=["alone", "prior"])
def test_near_duplicates_are_found_and_exact(prior):
    approx = fp.approximate(None, K, budget=0.25, prior=prior)
    known, _ = approx.known.lookup(np.arange(N), TWIN)
    assert known.mean() > (0.95 if prior is not None else 0.7)
    plain = fp.approximate(None, K, budget=0.25, method="regularized")
    assert quality(approx, K).recall > quality(plain, K).recall


def test_the_purpose_decides_between_neighbors_and_entries():
    def run(purpose):
        method = fp.Auto(purpose=purpose)
        return fp.approximate(None, K, budget=0.4, method=method, prior=X)

    near, wide = run("neighbors"), run("entries")
    assert len(near.landmarks) < len(wide.landmarks)
    assert quality(near, K).r2 < quality(wide, K).r2


def test_candidates_are_chosen_by_rank_each_pair_once_and_unread():
    n, m = 6, 3
    partner = np.array([[(i + 1 + t) % n for t in range(m)] for i in range(n)])
    score = np.tile(np.array([3.0, 2.0, 1.0], dtype=np.float32), (n, 1))
    said = np.arange(n * m, dtype=np.float32).reshape(n, m)
    found = Candidates(partner.astype(np.int32), score, said, None)
    known = Entries(n, symmetric=True)
    known.add_pairs(np.array([0]), np.array([1]), np.array([9.0]))
    i, j, base, cheap = found.choose(7, known)
    assert cheap is None
    sides = np.divmod(base.astype(int), m)  # every clue is that of its pair
    other = partner[sides]
    assert np.array_equal(np.minimum(sides[0], other), i)
    assert np.array_equal(np.maximum(sides[0], other), j)
    pairs = list(zip(i.tolist(), j.tolist(), strict=True))
    assert len(set(pairs)) == 7
    assert all(a < b for a, b in pairs)
    assert (0, 1) not in pairs
    steps = [min(b - a, n - b + a) for a, b in pairs]
    assert steps[:5] == [1] * 5  # the best of every item come first
    again = found.choose(100, known)
    later = set(zip(again.i.tolist(), again.j.tolist(), strict=True))
    assert not later & set(pairs)


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 1.0])
def test_a_share_of_the_candidates_is_chosen_by_the_prior_alone(share):
    n, m = 40, 6  # item i's candidates are i + 1 … i + 6: no pair is offered twice
    partner = (np.arange(n)[:, None] + 1 + np.arange(m)) % n
    score = np.tile(np.arange(m, 0, -1, dtype=np.float32), (n, 1))
    cheap = -score  # the prior ranks them the other way round
    found = Candidates(partner.astype(np.int32), score, score.copy(), cheap)
    known = Entries(n, symmetric=True)
    i, j, base, said = found.choose_by_both(n, known, by_prior=share)
    assert len(set(zip(i.tolist(), j.tolist(), strict=True))) == len(i) == n
    assert np.array_equal(said, -base)
    assert np.count_nonzero(base == m) == n - int(share * n)  # best by score
    assert np.count_nonzero(base == 1) == int(share * n)  # best by the prior


def test_without_a_prior_all_candidates_are_chosen_by_score():
    n, m = 12, 3
    partner = (np.arange(n)[:, None] + 1 + np.arange(m)) % n
    score = np.tile(np.array([3.0, 2.0, 1.0], dtype=np.float32), (n, 1))
    found = Candidates(partner.astype(np.int32), score, score.copy(), None)
    chosen = found.choose_by_both(n, Entries(n, symmetric=True), by_prior=0.5)
    assert chosen.cheap is None
    assert np.array_equal(chosen.base, np.full(n, 3.0))


def test_ceilings_are_quantiles_of_an_items_values():
    i, j = np.array([0, 0, 0, 1]), np.array([1, 2, 3, 2])
    out = ceilings(5, i, j, np.array([1.0, 5.0, 3.0, 7.0]), share=1.0)
    assert out[0] == 5.0
    assert np.isinf(out[[1, 2, 3, 4]]).all()  # fewer than three values


# --- the student ---------------------------------------------------------------------


FEWER, OF_FEWER = paraphrases(120)  # training takes a fifth of the time


def teach():
    method = fp.Auto(student=True)
    return fp.approximate(None, FEWER, method=method, budget=0.3, prior=OF_FEWER)


@pytest.fixture(scope="module")
def taught():
    return teach()


def test_a_student_learns_what_low_rank_does_not_hold(taught):
    plain = fp.approximate(None, FEWER, method="regularized", budget=0.3)
    assert "a student trained on" in taught.method
    assert quality(taught, FEWER).r2 > quality(plain, FEWER).r2
    assert quality(taught, FEWER).r2 > 0.9


def test_a_student_depends_on_the_seed_alone(taught):
    assert np.array_equal(teach().dense(), taught.dense())


def test_a_student_is_told_what_a_prior_says_that_landmarks_do_not_confirm(
    monkeypatch,
):
    # Less training, of both: the claim is about what a student is told.
    monkeypatch.setattr("fewpairs.methods.auto.student_rounds._FIRST_STEPS", 300)
    monkeypatch.setattr("fewpairs.methods.auto.student_rounds._LAST_STEPS", 100)
    noise = np.random.default_rng(1).standard_normal((N, 7))
    method = fp.Auto(student=True)
    misled = fp.approximate(None, K, method=method, budget=0.3, prior=noise)
    assert "the prior did not help" in misled.method
    unit = noise / np.linalg.norm(noise, axis=1, keepdims=True)
    assert np.allclose(misled.model.prior.embeddings, unit, atol=1e-6)
    alone = fp.approximate(None, K, method=method, budget=0.3)
    assert quality(misled, K).r2 > quality(alone, K).r2 - 0.1


def test_a_student_keeps_its_time_limit():
    method = fp.Auto(student=True, student_seconds=1e-9)
    approx = fp.approximate(None, K, method=method, budget=0.2)
    assert np.isfinite(approx.dense()).all()
    assert quality(approx, K).r2 > -0.05


@pytest.mark.parametrize(("an_evaluation", "learns"), [(10.0, True), (1e-6, False)])
def test_a_student_is_trained_where_evaluations_cost_more(
    monkeypatch, an_evaluation, learns
):
    """A clock that only the similarity moves."""
    clock = [0.0]
    monkeypatch.setattr(
        "fewpairs.execution.calling.time.perf_counter", lambda: clock[0]
    )

    def slow(a, b):
        clock[0] += an_evaluation * len(a)
        return K[a, b]

    similarity = fp.from_function(slow, symmetric=True, batched=True)
    approx = fp.approximate(range(N), similarity, budget=0.1)
    assert ("a student trained" in approx.method) is learns


def test_layers_give_one_answer_everywhere(taught):
    for approx in (taught, fp.approximate(None, K, budget=0.2, prior=X)):
        dense = approx.dense()
        n = len(dense)
        i, j = np.divmod(np.arange(0, n * n, 7), n)
        assert np.allclose(approx.pairs(i, j), dense[i, j], atol=1e-5)
        assert np.allclose(approx.row(3), dense[3], atol=1e-5)
        assert np.allclose(approx.block([5, 2], slice(9)), dense[[5, 2], :9], atol=1e-5)
        x = np.random.default_rng(0).standard_normal((n, 2))
        assert np.allclose(approx @ x, dense @ x, atol=1e-3)
        assert np.allclose(dense, dense.T, atol=1e-5)
        low_rank = approx.left @ approx.right.T
        assert np.allclose(approx.factored.dense(), low_rank, atol=1e-5)
        features = approx.embedding()
        assert features.shape == (n, len(approx.signature))
        assert approx.embedding(5).shape == (n, 5)


def test_layers_are_saved_and_loaded(taught, tmp_path):
    taught.save(tmp_path / "run")
    again = fp.load(tmp_path / "run")
    assert np.array_equal(again.dense(), taught.dense())
    assert again.certificate == taught.certificate
    assert json.loads((tmp_path / "run" / "approximation.json").read_text())["layers"]


def test_a_recipe_is_no_part_of_what_is_saved(tmp_path):
    prior = fp.from_matrix(X @ X.T, symmetric=True)
    items = list(range(N))
    approx = fp.approximate(items, fp.from_matrix(K), budget=0.2, prior=prior)
    assert "prior" in approx.method
    approx.save(tmp_path / "run")
    with pytest.raises(fp.InputError, match=r"needs its prior, .* Pass prior="):
        fp.load(tmp_path / "run")
    again = fp.load(tmp_path / "run", prior=prior, items=items)
    assert np.array_equal(again.dense(), approx.dense())


# --- growing -------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["auto", "nystrom", "sms", "sicur", "stacur"])
def test_growing_pays_only_for_what_is_new(method):
    calls = []

    def function(a, b):
        calls.append(frozenset((a, b)))
        return float(K[a, b])

    similarity = fp.from_function(function, symmetric=True)
    small = fp.approximate(range(N), similarity, method=method, budget=0.1)
    before = small.dense()
    large = small.grow(0.3)
    pairs = [pair for pair in calls if len(pair) == 2]
    # The check of the symmetry evaluates eight pairs in both orders.
    assert len(pairs) - len(set(pairs)) <= 8
    assert large.evaluations == len(calls)
    assert small.evaluations < large.evaluations <= 0.3 * N * (N - 1) / 2
    assert np.array_equal(small.dense(), before)
    keys, _ = small.known.scattered()
    known, _ = large.known.lookup(keys // N, keys % N)
    assert known.all()
    assert (
        large.bill.for_fit + large.bill.for_certificate + large.bill.for_symmetry
        == (large.evaluations)
    )


def test_growing_to_everything_is_exact():
    small = fp.approximate(None, K, budget=0.1)
    whole = small.grow(1.0)
    assert np.array_equal(whole.dense(), (K + K.T) / 2)
    assert whole.evaluations <= whole.bill.everything + 16


def test_what_cannot_grow_says_why(tmp_path):
    approx = fp.approximate(None, K, budget=0.2)
    with pytest.raises(fp.BudgetError, match="is spent already"):
        approx.grow(0.1)
    approx.save(tmp_path / "run")
    with pytest.raises(fp.InputError, match="this one was loaded"):
        fp.load(tmp_path / "run").grow(0.5)


def test_a_target_error_ends_the_run_early():
    Z = np.random.default_rng(0).standard_normal((300, 8))
    matrix = Z @ Z.T
    approx = fp.approximate(None, matrix, budget=0.5, target_error=0.1)
    assert "target error 0.1 reached" in approx.method
    assert approx.certificate.interval[1] <= 0.1
    assert approx.evaluations < 0.4 * 300 * 299 / 2


def test_a_target_out_of_reach_takes_the_budget_and_says_so():
    approx = fp.approximate(None, K, budget=0.15, target_error=1e-9)
    assert "the budget ended before the target error 1e-09 was reached" in approx.method
    assert approx.evaluations <= 0.15 * N * (N - 1) / 2
