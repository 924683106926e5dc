"""Search: exact answers for a stated number of evaluations."""

import numpy as np
import pytest

import fewpairs as fp
from tests.conftest import Counting, best_of, random_matrix, shared

N, NEW = 300, 20


def made(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N + NEW, 6))
    # The cosine of X, the prior, says something of K, not everything.
    K = (X * [3, 2, 1, 0.3, 0.1, -0.5]) @ X.T / 4
    K = (K + K.T) / 2
    return K + 0.05 * random_matrix(N + NEW, symmetric=True), X


def fit(method="auto", *, prior=True, counting=None, **options):
    K, X = made()
    similarity = fp.from_function(counting or Counting(K), symmetric=True)
    given = prior and method in ("auto", "regularized")
    return fp.approximate(
        [str(t) for t in range(N)],
        by_name(similarity),
        method=fp.Auto(student=False) if method == "auto" else method,
        prior=X[:N] if given else None,
        budget=0.2,
        **options,
    )


def by_name(similarity):
    function = similarity.function
    return fp.from_function(
        lambda a, b: function(int(a), int(b)), symmetric=True, name="made"
    )


NAMES = [str(t) for t in range(N, N + NEW)]


@pytest.mark.parametrize(
    "method", ["nystrom", "sms", "sicur", "stacur", "skeleton", "regularized", "auto"]
)
def test_what_is_found_was_evaluated_and_is_counted(method):
    K, X = made()
    counting = Counting(K)
    approx = fit(method, counting=counting)
    before = len(counting.calls)
    given = X[N:] if method in ("auto", "regularized") else None
    found = approx.search(NAMES, 5, evaluations=60, prior=given)
    assert found.evaluations == len(counting.calls) - before <= NEW * 60
    assert found.indices.shape == found.similarities.shape == (NEW, 5)
    rows = np.arange(N, N + NEW)[:, None]
    np.testing.assert_array_equal(found.similarities, K[rows, found.indices])
    assert (np.diff(found.similarities, axis=1) <= 0).all()
    assert shared(best_of(K[N:, :N], 5), found.indices) > 0.5


def test_rounds_find_more_than_one_round_and_more_than_the_prior():
    K, X = made()
    approx, best = fit(), best_of(K[N:, :N], 10)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    by_prior = best_of(unit[N:] @ unit[:N].T, 30)
    shares = [
        shared(best, approx.search(NAMES, evaluations=30, rounds=r, prior=X[N:])[0])
        for r in (1, 6)
    ]
    assert shares[1] > max(shares[0], shared(best, by_prior)) + 0.03


def test_everything_is_found_when_everything_may_be_evaluated():
    K, X = made()
    found = fit().search(NAMES, 10, evaluations=N, prior=X[N:])
    np.testing.assert_array_equal(found.indices, best_of(K[N:, :N], 10))
    assert found.evaluations == N * NEW


def test_one_query_is_a_row_of_many():
    X = made()[1]
    approx = fit()
    many = approx.search(NAMES[:3], 4, prior=X[N : N + 3])
    one = approx.search(NAMES[1], 4, prior=X[N + 1 : N + 2])
    np.testing.assert_array_equal(one.indices, many.indices[1])
    assert one.indices.shape == (4,)


def test_fitted_items_are_searched_by_position_and_known_entries_are_free():
    K, _ = made()
    counting = Counting(K)
    approx = fit(counting=counting)
    before = len(counting.calls)
    found = approx.search([3, 50, -1], 8, evaluations=40)
    assert found.evaluations == len(counting.calls) - before <= 120
    assert not (found.indices == np.array([[3], [50], [N - 1]])).any()
    inner = K[:N, :N].copy()
    np.fill_diagonal(inner, -np.inf)
    best = best_of(inner[[3, 50, N - 1]], 8)
    neighbors = approx.neighbors(8).indices[[3, 50, N - 1]]
    assert shared(best, found.indices) >= shared(best, neighbors)
    # Kept: the pairs of the first search are known to the second.
    everything = approx.search(3, 8, evaluations=N)
    again = approx.search(3, 8, evaluations=N)
    assert again.evaluations == 0
    np.testing.assert_array_equal(again.indices, everything.indices)
    np.testing.assert_array_equal(again.indices, best[0])


def test_both_orders_are_averaged_at_twice_the_price():
    K = made()[0] + 0.2 * random_matrix(N + NEW, symmetric=False)
    counting = Counting(K)
    similarity = fp.from_function(counting, symmetric=False)
    approx = fp.approximate(range(N), similarity, method="regularized", budget=0.2)
    found = approx.search([N, N + 1], 5, evaluations=60, new=True)
    mean = (K + K.T) / 2
    rows = np.array([[N], [N + 1]])
    np.testing.assert_allclose(found.similarities, mean[rows, found.indices])
    assert found.evaluations <= 120
    with pytest.raises(fp.InputError, match="pass 10 or more"):
        approx.search([N], 5, evaluations=9, new=True)


def test_rows_of_an_asymmetric_matrix_are_searched():
    K = made()[0] + 0.2 * random_matrix(N + NEW, symmetric=False)
    similarity = fp.from_function(lambda a, b: K[a, b], symmetric=False)
    approx = fp.approximate(
        range(N), similarity, method="sicur", budget=0.2, symmetrize=False
    )
    for query, new in (([N, N + 1], True), ([4, 5], False)):
        found = approx.search(query, 5, new=new)
        rows = np.array(query)[:, None]
        np.testing.assert_array_equal(found.similarities, K[rows, found.indices])


def test_rows_and_vectors_are_queries_where_items_are_positions():
    K, X = made()
    matrix = fp.approximate(None, K[:N, :N], method="nystrom", budget=0.2)
    found = matrix.search(K[N:, :N], 5)
    rows = np.arange(N, N + NEW)[:, None]
    np.testing.assert_allclose(found.similarities, K[rows, found.indices])
    assert matrix.search(K[N, :N], 5).indices.shape == (5,)
    vectors = fp.approximate(X[:N], fp.Cosine(), method="nystrom", budget=0.2)
    assert vectors.search(X[N], 5).indices.shape == (5,)
    assert vectors.search(X[N:], 5).indices.shape == (NEW, 5)
    assert vectors.search(7, 5).indices.shape == (5,)


def test_lists_of_words_are_items_too():
    texts = [[f"w{t % 7}", f"v{t % 11}"] for t in range(80)]
    approx = fp.approximate(texts, fp.TokenOverlap("jaccard"), method="nystrom")
    assert approx.search(["w1", "v2"], 3).indices.shape == (3,)
    assert approx.search([["w1", "v2"], ["w3"]], 3).indices.shape == (2, 3)


def test_the_answers_of_the_approximation_stay_what_they_were():
    approx = fit()
    before, paid = approx.dense(), approx.evaluations
    approx.search([1, 2, 3], 5)
    np.testing.assert_array_equal(approx.dense(), before)
    assert approx.evaluations == paid
    assert approx.source.reader.evaluations > 0


def test_queries_in_parts_give_what_they_give_at_once(monkeypatch):
    X = made()[1]
    approx = fit()
    whole = approx.search(NAMES, 5, prior=X[N:])
    monkeypatch.setattr("fewpairs.answers.search._ENTRIES", 3 * N)
    parts = approx.search(NAMES, 5, prior=X[N:])
    np.testing.assert_array_equal(parts.indices, whole.indices)


def test_bad_queries_say_what_to_pass():
    X = made()[1]
    approx = fit()
    with pytest.raises(fp.InputError, match="new_items is empty"):
        approx.search([], 5)
    with pytest.raises(fp.InputError, match=f"from 0 to {N - 1}"):
        approx.search(N, 5)
    with pytest.raises(fp.InputError, match=f"from 1 to {N - 1}"):
        approx.search(3, N)
    with pytest.raises(fp.InputError, match=f"from 1 to {N}"):
        approx.search(NAMES, N + 1, prior=X[N:])
    with pytest.raises(fp.InputError, match="of type float"):
        approx.search([0.5], 5)
    with pytest.raises(fp.InputError, match="Pass prior="):
        approx.search(NAMES, 5)
    with pytest.raises(fp.InputError, match="evaluations is 0"):
        approx.search(3, 5, evaluations=0)
    with pytest.raises(fp.InputError, match=r"rounds is 1\.5"):
        approx.search(3, 5, rounds=1.5)
    with pytest.raises(fp.InputError, match="pass 5 or more"):
        approx.search(3, 5, evaluations=4)
    K = made()[0]
    similarity = fp.from_function(lambda a, b: K[a, b], symmetric=True)
    numbers = fp.approximate(range(N), similarity, method="nystrom", budget=0.2)
    with pytest.raises(fp.InputError, match="new=True for new items"):
        numbers.search(7, 5)
