"""New items: the rows they would have had in the fit, at a stated price."""

import warnings

import numpy as np
import pytest

import fewpairs as fp
from fewpairs.errors import StaleWarning
from tests.conftest import Counting, random_matrix

N, NEW = 150, 30
METHODS = {
    "nystrom": "nystrom",
    "sms": "sms",
    "sms, unshifted": fp.SMSNystrom(landmarks=12, unshift=True),
    "sms, as published": fp.SMSNystrom(landmarks=12, variant="code"),
    "skeleton": "skeleton",
    "sicur": "sicur",
    "averaged": fp.SiCUR(landmarks=12, average=True),
    "stacur": "stacur",
    "stacur(d)": fp.StaCUR(landmarks=12, independent=True),
    "regularized": "regularized",
    "row effects": fp.Regularized(landmarks=12, centering="additive"),
    "constant": fp.Regularized(landmarks=12, centering="constant"),
    "auto": fp.Auto(student=False),
    "student": fp.Auto(student=True, student_seconds=1),
}
WITH_PRIOR = {
    "regularized": "regularized",
    "auto": fp.Auto(student=False),
    "student": fp.Auto(student=True, student_seconds=1),
}


def made(seed=0):
    X = np.random.default_rng(seed).standard_normal((N + NEW, 5))
    K = np.tanh(X @ X.T / 2) + 0.2 * np.add.outer(X[:, 0], X[:, 0])
    return K, X


def similarity_of(K, **facts):
    return fp.from_function(lambda a, b: K[a, b], batched=True, **facts)


def others(approx, number=20):
    return np.setdiff1d(np.arange(N), approx.landmarks)[:number]


@pytest.mark.parametrize("name", METHODS)
def test_a_fitted_item_gets_its_own_row_again(name):
    K, _ = made()
    method, similarity = METHODS[name], similarity_of(K, symmetric=True)
    approx = fp.approximate(range(N), similarity, method=method, budget=0.3)
    again = others(approx)
    placed = approx.project(again.tolist())
    for rows, own in (
        (placed.features, approx.embedding()),
        (placed.left, approx.left),
        (placed.right, approx.right),
        (approx.transform(again.tolist()), approx.embedding()),
    ):
        np.testing.assert_allclose(rows, own[again], rtol=1e-9, atol=1e-9)
    maps = [approx.factors.left_map, approx.factors.right_map]
    read = np.concatenate([side.landmarks for side in maps if side is not None])
    assert placed.evaluations == len(again) * len(np.unique(read))


@pytest.mark.parametrize("name", WITH_PRIOR)
def test_with_a_prior_of_embeddings_too(name):
    K, X = made()
    approx = fp.approximate(
        range(N),
        similarity_of(K, symmetric=True),
        method=WITH_PRIOR[name],
        budget=0.4,
        prior=X[:N],
    )
    again = others(approx)
    Z = approx.transform(again.tolist(), prior=X[again])
    np.testing.assert_allclose(Z, approx.embedding()[again], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", WITH_PRIOR)
def test_with_a_prior_that_is_a_recipe_too(name):
    K, X = made()
    cheap = fp.from_function(lambda a, b: float(X[a] @ X[b]), symmetric=True)
    approx = fp.approximate(
        range(N),
        similarity_of(K, symmetric=True),
        method=WITH_PRIOR[name],
        budget=0.4,
        prior=cheap,
    )
    again = others(approx)
    Z = approx.transform(again.tolist())
    np.testing.assert_allclose(Z, approx.embedding()[again], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("method", ["skeleton", "sicur", "stacur"])
def test_both_sides_of_an_asymmetric_matrix_are_read(method):
    K = made()[0] + 0.1 * random_matrix(N + NEW, symmetric=False)
    similarity = similarity_of(K, symmetric=False)
    approx = fp.approximate(
        range(N), similarity, method=method, budget=0.3, symmetrize=False
    )
    again = others(approx)
    placed = approx.project(again.tolist())
    np.testing.assert_allclose(placed.left, approx.left[again], atol=1e-9)
    np.testing.assert_allclose(placed.right, approx.right[again], atol=1e-9)


def test_averaging_both_orders_costs_two_evaluations():
    K = made()[0] + 0.1 * random_matrix(N + NEW, symmetric=False)
    counting = Counting(K)
    similarity = fp.from_function(counting, symmetric=False)
    approx = fp.approximate(range(N), similarity, method="nystrom", budget=0.3)
    before, again = len(counting.calls), others(approx)
    placed = approx.project(again.tolist())
    price = 2 * len(again) * len(approx.landmarks)
    assert placed.evaluations == len(counting.calls) - before == price
    np.testing.assert_allclose(placed.left, approx.left[again], atol=1e-9)


def test_a_matrix_of_low_rank_is_known_for_new_items():
    X = np.random.default_rng(0).standard_normal((N + NEW, 4))
    K = (X * [1, 1, -1, -1]) @ X.T
    similarity = similarity_of(K, symmetric=True)
    approx = fp.approximate(range(N), similarity, method="nystrom", budget=0.2)
    placed = approx.project(list(range(N, N + NEW)))
    np.testing.assert_allclose(placed.block(), K[N:, :N], atol=1e-8)
    signs = approx.signature
    np.testing.assert_allclose(
        (placed.features * signs) @ approx.embedding().T, K[N:, :N], atol=1e-8
    )
    assert len(placed) == NEW
    assert placed.block([1, 2], slice(5)).shape == (2, 5)
    assert not placed.stale


def test_values_that_were_read_are_exact():
    K, X = made()
    similarity = similarity_of(K, symmetric=True)
    approx = fp.approximate(
        range(N), similarity, method=fp.Auto(student=False), prior=X[:N], budget=0.2
    )
    placed = approx.project(list(range(N, N + NEW)), prior=X[N:])
    at = approx.factors.left_map.landmarks
    np.testing.assert_allclose(placed.block(columns=at), K[N:][:, at], rtol=1e-6)


def test_vectors_that_came_with_the_similarity_are_brought_along():
    X = np.random.default_rng(0).standard_normal((N + NEW, 5))
    names = [f"item {t}" for t in range(N)]
    approx = fp.approximate(names, fp.Cosine(X[:N]), method="nystrom", budget=0.2)
    plain = fp.approximate(X[:N], fp.Cosine(), method="nystrom", budget=0.2)
    np.testing.assert_allclose(approx.transform(X[N:]), plain.transform(X[N:]))
    with pytest.raises(fp.InputError, match="Pass embeddings of new items"):
        approx.transform(X[N:, :3])
    rng = np.random.default_rng(1)
    layers = [(rng.standard_normal((6, 15)), np.zeros(6)), (np.ones((1, 6)), [0.0])]
    mlp = fp.PairMLP(layers, X[:N], symmetric=True)
    approx = fp.approximate(names, mlp, method="nystrom", budget=0.2)
    again = others(approx)
    np.testing.assert_allclose(  # in single precision, by a core that is inverted
        approx.transform(X[again]), approx.embedding()[again], rtol=1e-3, atol=1e-4
    )


def test_rows_of_similarities_stand_for_items_of_a_matrix():
    K, _ = made()
    approx = fp.approximate(None, K[:N, :N], method="nystrom", budget=0.3)
    again = others(approx)
    placed = approx.project(K[again, :N])
    np.testing.assert_allclose(placed.left, approx.left[again], atol=1e-9)
    assert placed.evaluations == len(again) * len(approx.landmarks)
    with pytest.raises(fp.InputError, match=rf"Pass an \(m, {N}\) array"):
        approx.transform(["a", "b"])


def test_positions_of_dropped_items_are_respected():
    words = [f"w{t}" for t in range(12)]
    vectors = np.random.default_rng(0).standard_normal((12, 3))
    rng = np.random.default_rng(1)
    texts = [" ".join(rng.permutation(words)[: 2 + t % 3]) for t in range(60)]
    texts[5] = texts[20] = "unknown"
    wmd = fp.WMD((words, vectors), empty="drop")
    approx = fp.approximate(texts, wmd, method="nystrom", budget=0.4)
    kept = [t for t in range(60) if t not in (5, 20)]
    again = np.setdiff1d(np.arange(58), approx.landmarks)[:8]
    Z = approx.transform([texts[kept[t]] for t in again])
    np.testing.assert_allclose(Z, approx.embedding()[again], atol=1e-8)
    with pytest.raises(fp.InputError, match=r"drops new_items\[1\]"):
        approx.transform([texts[0], "unknown"])


def test_items_unlike_the_fitted_ones_are_told_of():
    rng = np.random.default_rng(0)
    X = np.zeros((400, 20))
    X[:300, :4] = rng.standard_normal((300, 4))
    X[300:350, :4] = rng.standard_normal((50, 4))
    X[350:] = rng.standard_normal((50, 20))
    K = np.tanh(X @ X.T) + 0.01 * random_matrix(400, symmetric=True)
    # Far items whose profiles no other landmark explains.
    K[350:, :300] = 3 * rng.standard_normal((50, 300))
    K[:300, 350:] = K[350:, :300].T
    approx = fp.approximate(
        range(300), similarity_of(K, symmetric=True), method="regularized", budget=0.2
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fresh = approx.project(list(range(300, 350)))
    assert np.median(fresh.staleness) < 1
    with pytest.warns(StaleWarning, match="with some of them among the items"):
        stale = approx.project(list(range(350, 400)))
    assert stale.stale
    assert np.median(stale.staleness) > 1
    with pytest.warns(StaleWarning, match="transform"):
        approx.transform([380])


def test_what_is_read_later_is_kept_and_grown_from():
    K, _ = made()
    counting = Counting(K)
    similarity = fp.from_function(counting, symmetric=True, diagonal=None)
    approx = fp.approximate(range(N), similarity, method="nystrom", budget=0.2)
    dense, paid = approx.dense(), len(counting.calls)
    reader = approx.reader("test")
    i, j = np.arange(40), np.arange(40) + 50
    first = reader.pairs(i, j)
    np.testing.assert_array_equal(first, K[i, j])
    fresh = len(counting.calls) - paid
    assert reader.evaluations == fresh > 0
    reader.pairs(j, i)
    assert len(counting.calls) == paid + fresh
    np.testing.assert_array_equal(approx.dense(), dense)
    with pytest.raises(fp.BudgetError), reader.allow(3) as oracle:
        oracle.pairs(np.arange(60), np.arange(60) + 70)
    larger = approx.grow(0.4)
    np.testing.assert_array_equal(larger.pairs(i, j), K[i, j])
    assert larger.evaluations == len(counting.calls) <= 0.4 * N * (N - 1) / 2
    assert "answers before it grew" in str(larger)


def test_a_ledger_gets_what_is_read_later():
    K, _ = made()
    ledger = fp.Ledger()
    similarity = similarity_of(K, symmetric=True, name="made")
    approx = fp.approximate(
        range(N), similarity, method="nystrom", budget=0.2, store=ledger
    )
    before = ledger.evaluations
    approx.reader("test").pairs(np.arange(40), np.arange(40) + 50)
    assert ledger.evaluations > before


@pytest.mark.parametrize("prior", [False, True])
@pytest.mark.parametrize("name", ["nystrom", "sicur", "averaged", "auto", "student"])
def test_a_loaded_approximation_places_new_items_alike(tmp_path, name, prior):
    K, X = made()
    if prior and name not in WITH_PRIOR:
        pytest.skip("takes no prior")
    similarity = similarity_of(K, symmetric=True)
    approx = fp.approximate(
        range(N),
        similarity,
        method=METHODS[name],
        budget=0.3,
        prior=X[:N] if prior else None,
    )
    approx.save(tmp_path / "run")
    again = fp.load(tmp_path / "run", items=range(N), similarity=similarity)
    new, more = list(range(N, N + NEW)), X[N:] if prior else None
    np.testing.assert_array_equal(
        again.transform(new, prior=more), approx.transform(new, prior=more)
    )
    assert approx.evaluations < again.grow(0.5).evaluations <= 0.5 * N * (N - 1) / 2


def test_a_loaded_asymmetric_similarity_is_averaged_again(tmp_path):
    K = made()[0] + 0.1 * random_matrix(N + NEW, symmetric=False)
    function = fp.from_function(lambda a, b: K[a, b])  # symmetry unknown
    approx = fp.approximate(range(N), function, method="nystrom", budget=0.3)
    approx.save(tmp_path / "run")
    again = fp.load(tmp_path / "run", items=range(N), similarity=function)
    np.testing.assert_allclose(again.transform([N]), approx.transform([N]))


def test_loading_says_what_to_pass(tmp_path):
    texts = [f"text {t % 17} {t}" for t in range(60)]
    levenshtein = fp.StringSimilarity("levenshtein")
    approx = fp.approximate(texts, levenshtein, method="nystrom", budget=0.3)
    approx.save(tmp_path / "run")
    again = fp.load(tmp_path / "run")
    for call in ("transform", "project", "search"):
        with pytest.raises(fp.InputError, match=r"items= and similarity= to fewpairs"):
            getattr(again, call)(["text"])
    with pytest.raises(fp.InputError, match=r"of 60\. Pass the items"):
        fp.load(tmp_path / "run", items=texts[:50], similarity=levenshtein)
    with pytest.raises(fp.InputError, match="not the items"):
        fp.load(tmp_path / "run", items=texts[::-1], similarity=levenshtein)
    whole = fp.load(tmp_path / "run", items=texts, similarity=levenshtein)
    np.testing.assert_array_equal(
        whole.transform(["text 9 43"]), approx.transform(["text 9 43"])
    )


def test_bad_new_items_say_what_to_pass():
    texts = [f"text {t % 17} {t}" for t in range(60)]
    approx = fp.approximate(
        texts, fp.StringSimilarity("levenshtein"), method="nystrom", budget=0.3
    )
    with pytest.raises(fp.InputError, match="transform: new_items is empty"):
        approx.transform([])
    with pytest.raises(fp.InputError, match=r"such as \[item\]"):
        approx.transform("text 1")
    with pytest.raises(fp.InputError, match=r"new_items\[1\] is 7, of type int"):
        approx.transform(["text", 7])
    X = np.random.default_rng(0).standard_normal((60, 4))
    vectors = fp.approximate(X, fp.Cosine(), method="nystrom", budget=0.3)
    with pytest.raises(fp.InputError, match="the fitted items are of type ndarray"):
        vectors.transform(np.ones((3, 5)))
    yardstick = fp.approximate(None, X @ X.T, method=fp.Optimal(rank=3), budget=1.0)
    with pytest.raises(fp.InputError, match="yardstick"):
        yardstick.transform(X)


def test_a_missing_prior_is_asked_for_before_anything_is_paid():
    K, X = made()
    counting = Counting(K)
    approx = fp.approximate(
        range(N),
        fp.from_function(counting, symmetric=True),
        method=fp.Auto(student=True, student_seconds=1),
        prior=X[:N],
        budget=0.3,
    )
    paid = len(counting.calls)
    with pytest.raises(fp.InputError, match=r"Pass prior=, an \(2, 5\) array"):
        approx.transform([N, N + 1])
    with pytest.raises(fp.InputError, match="Pass embeddings of the same kind"):
        approx.transform([N, N + 1], prior=X[:2, :3])
    assert len(counting.calls) == paid


def test_a_similarity_that_fails_names_the_new_item():
    def fails(a, b):
        if "bad" in (a, b):
            raise ValueError("no")
        return float(len(set(a) & set(b)))

    texts = [f"text {t % 17} {t}" for t in range(60)]
    similarity = fp.from_function(fails, symmetric=True)
    approx = fp.approximate(texts, similarity, method="nystrom", budget=0.3)
    with pytest.raises(fp.SimilarityError, match="new item 1 and item"):
        approx.transform(["good", "bad"])
