"""Scores, decisions and rankings against SciPy, scikit-learn and definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics

import fewpairs as fp
from fewpairs.evaluation import (
    accuracy,
    classification,
    f1,
    pearson,
    quality,
    recall_at_k,
    spearman,
)

NUMBERS = st.lists(st.integers(-20, 20), min_size=3, max_size=30)


@given(NUMBERS, st.randoms())
def test_correlations_are_those_of_scipy(values, random):
    other = [value + random.randint(-9, 9) for value in values]
    if len(set(values)) > 1 and len(set(other)) > 1:
        assert pearson(values, other) == pytest.approx(stats.pearsonr(values, other)[0])
        expected = stats.spearmanr(values, other)[0]
        assert spearman(values, other) == pytest.approx(expected)


def test_correlations_survive_any_scale_and_say_nothing_of_a_constant():
    assert pearson([1e200, 2e200, 4e200], [1e-200, 2e-200, 4e-200]) == pytest.approx(1)
    assert np.isnan(pearson([1, 1, 1], [1, 2, 3]))
    assert np.isnan(spearman([1, 2, 3], [4, 4, 4]))


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 6)), min_size=1, max_size=40))
def test_decisions_are_those_of_sklearn(pairs):
    truth, scores = (list(side) for side in zip(*pairs))
    said = [score >= 3 for score in scores]
    found = classification(truth, scores, threshold=3)
    assert found.f1 == f1(truth, said)
    assert found.f1 == pytest.approx(metrics.f1_score(truth, said, zero_division=0))
    assert found.accuracy == accuracy(truth, said)
    assert found.accuracy == pytest.approx(metrics.accuracy_score(truth, said))
    precision = metrics.precision_score(truth, said, zero_division=0)
    recall = metrics.recall_score(truth, said, zero_division=0)
    assert (found.precision, found.recall) == pytest.approx((precision, recall))
    best = max(classification(truth, scores, threshold=t).f1 for t in scores)
    assert classification(truth, scores).f1 == pytest.approx(best)


def test_recall_counts_true_neighbors_among_those_found():
    truth, found = [[1, 2, 3], [4, 5, 6]], [[3, 2, 9], [7, 8, 4]]
    assert recall_at_k(truth, found) == pytest.approx((2 + 1) / 6)
    assert recall_at_k(truth, found, k=2) == pytest.approx((1 + 0) / 4)


def test_recall_is_that_of_quality():
    K = np.random.default_rng(0).standard_normal((80, 80))
    K = K + K.T
    approx = fp.approximate(None, K, budget=0.5)
    ranks = []
    for D in (K.copy(), approx.dense().copy()):
        np.fill_diagonal(D, -np.inf)
        ranks.append(np.argsort(-D, axis=1))
    expected = quality(approx, K, k=7).recall
    assert recall_at_k(*ranks, k=7) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pearson([1], [2]), "at least two"),
        (lambda: pearson([1, 2], [1, 2, 3]), "same length"),
        (lambda: pearson([1, 2], ["a", "b"]), "not numbers"),
        (lambda: spearman([1, np.nan], [1, 2]), "NaN"),
        (lambda: f1([0, 2], [0, 1]), "must be 0 and 1"),
        (lambda: accuracy([], []), "at least one"),
        (lambda: recall_at_k([[1]], [[1], [2]]), "one row of"),
        (lambda: recall_at_k([[1, 2]], [[1, 2]], k=3), "from 1 to 2"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(fp.InputError, match=message):
        call()
