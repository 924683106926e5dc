"""Pairs above a threshold: every one exact, and honest about what was missed."""

import numpy as np
import pytest
from benchmarks.titles import titles_with_copies
from hypothesis import given
from hypothesis import strategies as st

import fewpairs as fp
from fewpairs.answers.matching import find_matches
from fewpairs.evaluation import exact_matrix
from tests.conftest import Counting

NOTHING = (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))


def with_copies(n, copies, seed):
    """A low-rank matrix with spikes that no low rank holds."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    K = 0.4 * np.tanh(X @ X.T)
    i, j = rng.integers(n, size=(2, copies))
    keep = i != j
    K[i[keep], j[keep]] = K[j[keep], i[keep]] = 0.9
    np.fill_diagonal(K, 1.0)
    return K


@given(
    seed=st.integers(0, 1_000),
    method=st.sampled_from(["auto", "nystrom", "sicur", "regularized"]),
    threshold=st.sampled_from([-0.2, 0.1, 0.35, 0.8, 2.0]),
    budget=st.sampled_from([0.2, 0.5, 1.0]),
)
def test_every_match_is_exact_and_every_evaluation_counted(
    seed, method, threshold, budget
):
    K = with_copies(60, 40, seed)
    function = Counting(K)
    similarity = fp.from_function(function, symmetric=True, diagonal=1.0)
    approx = fp.approximate(range(60), similarity, method=method, budget=budget)
    before = len(function.calls)
    found = find_matches(approx, threshold)
    assert len(function.calls) - before == found.checked
    assert (found.i < found.j).all()
    assert (found.similarity == K[found.i, found.j]).all()
    assert (found.similarity >= threshold).all()
    assert (np.diff(found.similarity) <= 0).all()
    assert len(set(zip(found.i, found.j))) == len(found.i)
    if budget == 1.0:
        assert (
            len(found.i) == (np.triu(K, 1) >= threshold)[np.triu_indices(60, 1)].sum()
        )
        assert found.checked == 0


def test_what_is_known_above_the_threshold_is_never_missed():
    K = with_copies(150, 80, 1)
    approx = fp.approximate(None, fp.from_matrix(K), budget=0.2)
    i, j = np.triu_indices(150, 1)
    read, values = approx.known.lookup(i, j)
    found = find_matches(approx, 0.8)
    known = set(zip(i[read & (values >= 0.8)], j[read & (values >= 0.8)]))
    assert known <= set(zip(found.i, found.j))
    assert found.known == len(known)


def test_equal_texts_are_found_whatever_is_predicted():
    K = with_copies(80, 0, 2)
    K[5, 70] = K[70, 5] = 1.0
    approx = fp.approximate(None, K, method=fp.Nystrom([0, 1, 2]), budget=None)
    assert len(find_matches(approx, 0.99, margin=0.0).i) == 0
    also = (np.array([70]), np.array([5]))
    found = find_matches(approx, 0.99, margin=0.0, also=also)
    assert list(zip(found.i, found.j)) == [(5, 70)]
    assert found.checked == 1
    assert len(find_matches(approx, 0.99, margin=0.0, also=NOTHING).i) == 0


@pytest.mark.parametrize("two_sets", [False, True])
def test_candidates_that_a_budget_leaves_out_count_as_missed(two_sets):
    A = np.random.default_rng(3).random((120, 120))
    K = A if two_sets else np.maximum(A, A.T)  # nothing predicts it
    others = {"others": range(120)} if two_sets else {}
    level, missing, said = 0.95, [], []
    for seed in range(5):
        approx = fp.approximate(None, K, budget=0.3, seed=seed, **others)
        found = find_matches(approx, level, most=50, cut=True)
        pairs = K if two_sets else K[np.triu_indices(120, 1)]
        missing.append((pairs >= level).sum() - len(found))
        said.append((found.missed.estimate, found.missed.at_most))
    estimates, highest = np.transpose(said)
    assert (highest >= missing).sum() >= 4
    np.testing.assert_allclose(estimates.mean(), np.mean(missing), rtol=0.5)


@pytest.mark.parametrize("seed", range(8))
def test_the_bound_on_what_is_missed_holds(seed):
    K = with_copies(200, 300, seed)
    approx = fp.approximate(
        None, fp.from_matrix(K), method="nystrom", budget=0.15, seed=seed
    )
    found = find_matches(approx, 0.8, margin=0.05)
    above = int((np.triu(K, 1) >= 0.8).sum())
    missed = above - len(found.i)
    assert found.missed.above <= found.missed.held_out
    assert missed <= found.missed.at_most


def test_hidden_rows_tell_the_share_that_is_found():
    titles, _ = titles_with_copies(1_500, seed=4)
    similarity = fp.StringSimilarity("levenshtein")
    approx = fp.approximate(titles, similarity, budget=0.05, prior=None)
    found = find_matches(approx, 0.75)
    i, j = np.nonzero(np.triu(exact_matrix(titles, similarity), 1) >= 0.75)
    # Landmarks' rows are read as a whole: what counts are the others.
    others = ~np.isin(i, approx.landmarks) & ~np.isin(j, approx.landmarks)
    got = np.isin(i * 1_500 + j, found.i * 1_500 + found.j)
    share = found.missed.found / found.missed.hidden
    assert found.missed.hidden >= 5
    assert share == pytest.approx(got[others].mean(), abs=0.25)
    assert found.missed.found_at_least < got[others].mean()


@pytest.mark.parametrize("symmetric", [True, False])
def test_evaluating_everything_finds_everything(symmetric):
    K = with_copies(70, 60, 6)
    K = K if symmetric else K + np.triu(0.1 * K, 1)
    both = (K + K.T) / 2
    similarity = fp.from_function(lambda a, b: K[a, b], symmetric=symmetric)
    found = fp.duplicates(range(70), similarity, 0.3)
    i, j = np.nonzero(np.triu(both >= 0.3, 1))
    assert set(zip(found.i, found.j)) == set(zip(i, j))
    assert found.similarity == pytest.approx(both[found.i, found.j])
    assert (np.diff(found.similarity) <= 0).all()
    assert len(fp.duplicates(range(70), similarity, 5.0)) == 0


def test_limits_and_bad_thresholds_are_refused():
    K = with_copies(60, 30, 4)
    approx = fp.approximate(None, fp.from_matrix(K), method="nystrom", budget=0.2)
    with pytest.raises(fp.BudgetError, match=r"may be evaluated\. Raise the threshold"):
        find_matches(approx, 0.1, most=3)
    with pytest.raises(fp.InputError, match="threshold is nan; pass one finite number"):
        find_matches(approx, float("nan"))


def test_a_loaded_result_needs_its_similarity_for_candidates(tmp_path):
    K = with_copies(60, 30, 5)
    approx = fp.approximate(None, fp.from_matrix(K), method="nystrom", budget=0.2)
    approx.save(tmp_path / "saved")
    loaded = fp.load(tmp_path / "saved")
    with pytest.raises(fp.InputError, match=r"Pass items= and similarity= to"):
        find_matches(loaded, 0.1)
    whole = fp.load(tmp_path / "saved", similarity=fp.from_matrix(K))
    ours, theirs = find_matches(whole, 0.1), find_matches(approx, 0.1)
    assert (ours.i == theirs.i).all()
    assert ours.missed == theirs.missed
