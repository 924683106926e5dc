"""Neighbors: the same answer as everywhere else, found without n×n."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fewpairs as fp
from fewpairs.kernels.linalg.largest import Largest
from tests.conftest import (
    Counting,
    Told,
    in_groups,
    nearest,
    random_matrix,
    shared,
)

N = 120
METHODS = {
    "nystrom": "nystrom",
    "sms": "sms",
    "skeleton": "skeleton",
    "sicur": "sicur",
    "stacur": "stacur",
    "averaged": fp.SiCUR(landmarks=12, average=True),
    "regularized": "regularized",
    "auto": fp.Auto(student=False),
    "student": fp.Auto(student=True, student_seconds=2),
    "optimal": fp.Optimal(rank=8),
}


def smooth(n=N, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, 5))
    return np.tanh(X @ X.T / 2), X


def fitted(name, **options):
    K, X = smooth()
    if name == "with a prior":
        return fp.approximate(None, K, method=fp.Auto(student=False), prior=X, **BUDGET)
    budget = {"budget": 1.0} if name == "optimal" else BUDGET
    return fp.approximate(None, K, method=METHODS[name], **budget, **options)


BUDGET = {"budget": 0.3}


def same_answers(found, approx):
    """Neighbors say what pairs say; a student's products round as they are cut."""
    rows = np.arange(len(found.indices))[:, None]
    rounding = 0.0 if approx.model.student is None else 1e-6
    np.testing.assert_allclose(
        found.similarities,
        approx.pairs(rows, found.indices),
        rtol=rounding,
        atol=rounding,
    )


def nearest_values(K, k):
    return np.take_along_axis(K, nearest(K, k), axis=1)


@pytest.mark.parametrize("name", [*METHODS, "with a prior"])
@pytest.mark.parametrize("k", [1, 7, N - 1])
def test_neighbors_are_the_largest_entries_of_the_answer(name, k):
    approx = fitted(name)
    found = indices, similarities = approx.neighbors(k)
    rows = np.arange(N)[:, None]
    assert indices.shape == similarities.shape == (N, k)
    same_answers(found, approx)
    np.testing.assert_allclose(
        similarities, nearest_values(approx.dense(), k), rtol=1e-5, atol=1e-6
    )
    assert not (indices == rows).any()
    assert all(len(set(row)) == k for row in indices)
    assert (np.diff(similarities, axis=1) <= 0).all()


@pytest.mark.parametrize("method", ["skeleton", "sicur", "stacur"])
def test_rows_of_an_asymmetric_matrix_are_ranked(method):
    K = smooth()[0] + 0.3 * random_matrix(N, symmetric=False)
    approx = fp.approximate(None, K, method=method, budget=0.4, symmetrize=False)
    _, similarities = approx.neighbors(5)
    np.testing.assert_allclose(
        similarities, nearest_values(approx.dense(), 5), atol=1e-9
    )


@pytest.mark.parametrize("name", ["nystrom", "sicur", "auto", "with a prior"])
def test_an_index_finds_them_too_where_factors_are_indefinite(name):
    approx = fitted(name)
    exact = nearest(approx.dense(), 5)
    found = approx.neighbors(5, index="faiss", candidates=60)
    hits = (exact[:, :, None] == found.indices[:, None, :]).any(axis=2).mean()
    assert hits > 0.95
    rows = np.arange(N)[:, None]
    np.testing.assert_array_equal(found.similarities, approx.pairs(rows, found.indices))


@pytest.mark.parametrize(
    "method",
    [
        fp.Nystrom(landmarks=10),
        fp.SiCUR(landmarks=12),
        fp.Auto(student=False),
        fp.Auto(student=True, student_seconds=2),
    ],
    ids=["nystrom", "sicur", "auto", "student"],
)
def test_many_items_find_through_an_index_what_blocks_find(large, method):
    X = in_groups(700)
    options = {"prior": X} if isinstance(method, fp.Auto) else {}
    approx = fp.approximate(X, fp.Cosine(), method=method, budget=0.05, **options)
    found = approx.neighbors(5)
    assert any("candidates" in key for key in approx.indexes)
    exact = approx.neighbors(5, index="blocks")
    assert shared(exact.indices, found.indices) > 0.95
    rows = np.arange(len(X))[:, None]
    same_answers(found, approx)
    assert not (found.indices == rows).any()
    assert (np.diff(found.similarities, axis=1) <= 0).all()


def test_known_entries_are_found_though_nothing_proposes_them(large):
    X = in_groups(700)
    approx = fp.approximate(None, X @ X.T, method=fp.Nystrom(landmarks=10))
    approx.known.add_pairs(np.array([3]), np.array([600]), np.array([100.0]))
    found = approx.neighbors(2)
    assert (found.indices[3, 0], found.indices[600, 0]) == (600, 3)


def test_items_that_nothing_proposes_get_neighbors_too(large):
    K = np.zeros((600, 600))
    approx = fp.approximate(None, K, method=fp.Nystrom(landmarks=3))
    indices, similarities = approx.neighbors(7)
    rows = np.arange(600)
    assert all(len({*row, own}) == 8 for own, row in zip(rows, indices))
    assert (similarities == 0).all()


def test_memory_for_neighbors_grows_with_the_items_and_not_with_their_square(
    large, monkeypatch
):
    import tracemalloc

    monkeypatch.setattr("fewpairs.answers.candidates._PAIRS", 1 << 14)
    monkeypatch.setattr("fewpairs.answers.ranking._PAIRS", 1 << 13)
    peaks = []
    for n in (2_000, 8_000):
        approx = fp.approximate(
            in_groups(n), fp.Cosine(), method=fp.Nystrom(landmarks=8)
        )
        tracemalloc.start()
        approx.neighbors(5)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 6 * peaks[0]
    assert peaks[1] < 8_000 * 8_000  # bytes: an eighth of the matrix


def test_names_of_indexes_that_are_gone_warn_and_work():
    with pytest.warns(DeprecationWarning, match="'faiss' is used"):
        old = fitted("nystrom").neighbors(3, index="hnsw")
    new = fitted("nystrom").neighbors(3, index="faiss")
    np.testing.assert_array_equal(old.indices, new.indices)


def test_a_student_ranks_candidates_and_known_entries():
    K, X = smooth(300)
    method = fp.Auto(student=True, student_seconds=3)
    approx = fp.approximate(None, K, method=method, prior=X, budget=0.2)
    exact, values = nearest(approx.dense(), 10), nearest_values(approx.dense(), 10)
    indices, similarities = approx.neighbors(10, candidates=60)
    assert (similarities <= values + 1e-6).all()
    assert (exact[:, :, None] == indices[:, None, :]).any(axis=2).mean() > 0.95


def test_of_equal_ones_those_at_lower_positions_come_first():
    K = np.random.default_rng(0).integers(0, 3, (40, 40)).astype(float)
    K = np.maximum(K, K.T)
    approx = fp.approximate(None, K, method="nystrom", budget=1.0)
    indices, _ = approx.neighbors(6)
    np.testing.assert_array_equal(indices, nearest(K, 6))


@given(
    rows=st.integers(1, 6),
    columns=st.integers(2, 40),
    tile=st.integers(1, 15),
    levels=st.integers(1, 6),
    seed=st.integers(0, 99),
    data=st.data(),
)
def test_the_largest_entries_do_not_depend_on_the_tiles(
    rows, columns, tile, levels, seed, data
):
    k = data.draw(st.integers(1, columns - 1))
    values = np.random.default_rng(seed).integers(levels, size=(rows, columns)) * 1.0
    best = Largest(rows, k)
    for start in range(0, columns, tile):
        best.add(values[:, start : start + tile], start)
    expected = np.argsort(-values, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(best.result(), expected)


def test_many_tiles_give_what_one_gives(monkeypatch):
    approx = fitted("auto")
    whole = approx.neighbors(9)
    monkeypatch.setattr("fewpairs.answers.blockwise._TILE", 17)
    np.testing.assert_array_equal(approx.neighbors(9).indices, whole.indices)


def test_the_recall_is_estimated_from_rows_that_are_counted():
    K, _ = smooth(300)
    counting = Counting(K)
    similarity = fp.from_function(counting, symmetric=True, diagonal=1.0)
    approx = fp.approximate(range(300), similarity, method="sms", budget=0.1)
    before = len(counting.calls)
    found = approx.neighbors(10, evaluations=9_000)
    assert found.evaluations == len(counting.calls) - before <= 9_000
    true = nearest(K, 10)
    recall = (true[:, :, None] == found.indices[:, None, :]).any(axis=2).mean()
    low, high = found.recall_interval
    assert low - 0.05 < recall < high + 0.05
    # What was read is kept: it goes on with other rows.
    approx.neighbors(10, evaluations=9_000)
    assert len(set(counting.calls)) == len(counting.calls)


def test_rows_that_are_known_have_nothing_missing():
    K, _ = smooth(40)
    approx = fp.approximate(None, K, method="nystrom", budget=1.0)
    found = approx.neighbors(3, evaluations=100)
    assert (found.recall, found.evaluations) == (1.0, 0)


def test_progress_is_told_of_every_item():
    told = Told()
    fitted("nystrom").neighbors(3, progress=told)
    assert told.stages[-1][1] == told.done == N
    assert told.finished


@pytest.mark.parametrize("k", [0, N, N + 5, 2.5, "3", True])
def test_a_number_of_neighbors_that_cannot_be_is_an_error(k):
    with pytest.raises(fp.InputError, match=f"from 1 to {N - 1}"):
        fitted("nystrom").neighbors(k)


def test_bad_options_say_what_to_pass():
    approx = fitted("nystrom")
    with pytest.raises(fp.InputError, match="'blocks', 'faiss' or None"):
        approx.neighbors(3, index="annoy")
    with pytest.raises(fp.InputError, match="from k = 3 on"):
        approx.neighbors(3, candidates=2)
    with pytest.raises(fp.InputError, match="a row takes about"):
        approx.neighbors(3, evaluations=50)
    with pytest.raises(fp.InputError, match="evaluations is -1; pass a whole number"):
        approx.neighbors(3, evaluations=-1)
    with pytest.raises(fp.InputError, match="start, advance and finish"):
        approx.neighbors(3, progress="yes")


def test_a_missing_index_says_what_to_install(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(fp.MissingExtraError, match=r"fewpairs\[index\]"):
        fitted("nystrom").neighbors(3, index="faiss")


def test_loaded_neighbors_are_the_same_and_an_estimate_needs_the_similarity(tmp_path):
    approx = fitted("auto")
    approx.save(tmp_path / "run")
    again = fp.load(tmp_path / "run")
    for before, after in zip(approx.neighbors(5), again.neighbors(5)):
        np.testing.assert_array_equal(before, after)
    with pytest.raises(fp.InputError, match=r"items= and similarity= to fewpairs.load"):
        again.neighbors(5, evaluations=1_000)
    whole = fp.load(tmp_path / "run", similarity=smooth()[0])
    assert whole.neighbors(5, evaluations=1_000).recall > 0
