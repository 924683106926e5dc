"""The linear machine of the classification tables is LIBLINEAR's, and a kernel's."""

import numpy as np
import pytest
from experiments import machine as machines
from experiments.machine import Machine, Principal, leading


def objective(weights, features, labels, C):
    """LIBLINEAR's, class by class; the constant comes last."""
    X = np.hstack([features, np.ones((len(features), 1))])
    signs = np.where(labels[:, None] == np.unique(labels), 1, -1)
    if weights.shape[1] == 1:
        signs = signs[:, 1:]
    lost = np.maximum(0, 1 - signs * (X @ weights))
    return 0.5 * (weights**2).sum(axis=0) + C * (lost**2).sum(axis=0)


def profiles(classes, seed=0):
    """Similarities to landmarks: nearly dependent columns, as in the tables."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(classes, size=400)
    X = rng.standard_normal((classes, 6))[labels] + rng.standard_normal((400, 6))
    far = np.linalg.norm(X[:, None] - X[None, :60], axis=2)
    return np.exp(-0.3 * far), labels


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("classes", [2, 5])
def test_the_machine_is_liblinear(classes, C):
    from sklearn.svm import LinearSVC

    features, labels = profiles(classes)
    theirs = LinearSVC(C=C, dual=False, tol=1e-8, max_iter=100_000)
    theirs.fit(features, labels)
    best = np.vstack([theirs.coef_.T, theirs.intercept_])
    for dtype, near in ((np.float64, 1e-6), (np.float32, 1e-4)):
        machine = Machine(features, labels, C, tol=1e-6, dtype=dtype).fit()
        reached = objective(machine.coefficients, features, labels, C)
        lowest = objective(best, features, labels, C)
        np.testing.assert_allclose(reached, lowest, rtol=near)
        agree = np.mean(machine.predict(features) == theirs.predict(features))
        assert agree > 0.99
    values = np.squeeze(
        Machine(features, labels, C, dtype=np.float64, tol=1e-8)
        .fit()
        .decision(features)
    )
    np.testing.assert_allclose(values, theirs.decision_function(features), atol=1e-3)


def test_folds_that_start_at_one_another_end_where_fresh_ones_do():
    from sklearn.model_selection import StratifiedKFold, cross_val_score
    from sklearn.svm import LinearSVC

    features, labels = profiles(4)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    machine = Machine(features, labels, 3.0)
    ours = machine.validate(folds.split(features, labels))
    theirs = cross_val_score(LinearSVC(C=3.0, dual=False), features, labels, cv=folds)
    assert abs(ours - theirs.mean()) <= 0.0051  # two documents of 400
    first = np.arange(400) < 100
    parts = [
        machine.validate(folds.split(features, labels), judged)
        for judged in (first, ~first)
    ]
    assert abs(0.25 * parts[0] + 0.75 * parts[1] - ours) <= 0.0051


def test_a_kernel_and_its_features_make_the_same_machine():

    features, labels = profiles(3)
    train, test = np.arange(300), np.arange(300, 400)
    K = features @ features.T
    kernel = Principal.of_kernel(K[np.ix_(train, train)], np.float64)
    by_kernel = Machine(kernel, labels[train], 2.0, tol=1e-8).fit()
    linear = Machine(features[train], labels[train], 2.0, tol=1e-8, dtype=np.float64)
    np.testing.assert_allclose(
        by_kernel.decision(K[np.ix_(test, train)]),
        linear.fit().decision(features[test]),
        atol=1e-4,
    )


def test_leading_directions_of_a_large_matrix_are_as_good_as_the_best(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((900, 12))
    far = np.linalg.norm(X[:, None] - X[None], axis=2)
    K = np.exp(-0.3 * far) - 0.05 * np.cos(far)  # not positive semidefinite
    s = 40
    best = np.sort(np.abs(np.linalg.eigvalsh(K)))[::-1]
    monkeypatch.setattr(machines, "EXACT", 100)
    found = np.sum(leading(K, s) ** 2, axis=0)  # magnitudes of eigenvalues
    assert np.allclose(found, best[:s], rtol=0.03)
    left, least = (best**2).sum() - (found**2).sum(), (best[s:] ** 2).sum()
    assert left < 1.01 * least
