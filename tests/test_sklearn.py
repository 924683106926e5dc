"""Estimators: scikit-learn's own checks, pipelines, grids, texts, and the price."""

import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import fewpairs as fp
from fewpairs.sklearn import (
    SimilarityClassifier,
    SimilarityClusterer,
    SimilarityEmbedder,
    Store,
)
from tests.conftest import Failing

CHECKS = """
import json, sys, warnings
warnings.simplefilter("error")
from sklearn.utils.estimator_checks import check_estimator
import fewpairs as fp
estimator = getattr(fp.sklearn, sys.argv[1])()
results = check_estimator(estimator, on_skip=None, on_fail=None)
facts = ("check_name", "status", "exception")
print(json.dumps([[str(r[fact]) for fact in facts] for r in results]))
"""


@pytest.mark.parametrize(
    "name", ["SimilarityEmbedder", "SimilarityClassifier", "SimilarityClusterer"]
)
def test_check_estimator_passes_and_skips_nothing(name):
    # SciPy reads this variable when it is imported; without it, a check is skipped.
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    run = subprocess.run(
        [sys.executable, "-c", CHECKS, name],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    results = json.loads(run.stdout)
    assert len(results) > 40
    assert [r for r in results if r[1] != "passed"] == []


TEXTS = [
    f"{color} {thing} {t}"
    for t in range(12)
    for color in ("red", "green")
    for thing in ("apple pie", "car engine", "mountain river")
]
KINDS = [text.split()[1] for text in TEXTS]
RATIO = fp.StringSimilarity("token_sort_ratio")


def test_texts_go_through_a_pipeline_and_a_grid():
    pipeline = make_pipeline(
        SimilarityEmbedder(RATIO, landmarks=10), StandardScaler(), LinearSVC()
    )
    grid = GridSearchCV(
        pipeline,
        {"similarityembedder__landmarks": [2, 10], "linearsvc__C": [0.1, 1.0]},
        cv=3,
        error_score="raise",
    )
    grid.fit(TEXTS, KINDS)
    assert grid.best_score_ > 0.9
    assert grid.predict(["green car engine 77"])[0] == "car"


TABLE = {"text": [f"{w} {t % 7}" for t in range(20) for w in ("red", "blue")]}


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_table_of_one_column_of_texts_is_that_column(library):
    frame = pytest.importorskip(library).DataFrame(TABLE)
    embedder = SimilarityEmbedder(fp.StringSimilarity("ratio"), landmarks=5)
    wanted = clone(embedder).fit_transform(TABLE["text"])
    assert np.array_equal(clone(embedder).fit_transform(frame), wanted)
    cure = r"with the columns 'text', 'n', .* Pass a column, X\['text'\]; a ColumnTrans"
    with pytest.raises(fp.InputError, match=cure):
        embedder.fit(pytest.importorskip(library).DataFrame({**TABLE, "n": range(40)}))


def test_missing_texts_of_an_estimator_have_to_be_filled():
    embedder = SimilarityEmbedder(fp.StringSimilarity("ratio"), landmarks=5)
    cure = r"SimilarityEmbedder: 1 of 41 texts of X are missing\. Fill them first"
    with pytest.raises(fp.InputError, match=cure):
        embedder.fit([*TABLE["text"], None])


def test_a_classifier_of_texts_learns():
    classifier = SimilarityClassifier(RATIO, landmarks=20)
    assert cross_val_score(classifier, TEXTS, KINDS, cv=3).mean() > 0.9
    classifier.fit(TEXTS, KINDS)
    assert classifier.decision_function(TEXTS[:4]).shape == (4, 3)
    again = pickle.loads(pickle.dumps(classifier))  # noqa: S301 - our own bytes
    assert again.predict(TEXTS[:5]).tolist() == KINDS[:5]


def test_the_classifier_is_a_linear_machine_on_the_embedding():
    X = np.random.default_rng(0).standard_normal((80, 4))
    y = (X[:, 0] > 0).astype(int)
    classifier = SimilarityClassifier(landmarks=15, C=2.0).fit(X, y)
    approx = fp.approximate(
        X,
        classifier.embedder_.approximation_.source.recipe,
        method=fp.Regularized(15),
        budget=None,
    )
    svm = LinearSVC(C=2.0, dual="auto", max_iter=100_000, random_state=0)
    svm.fit(approx.embedding(), y)
    assert np.allclose(classifier.svm_.coef_, svm.coef_)


@pytest.mark.parametrize("method", ["regularized", "nystrom", "sms", "sicur", "stacur"])
@pytest.mark.parametrize("dim", [None, 3])
def test_fitted_items_as_new_ones_get_their_own_features(method, dim):
    X = np.random.default_rng(1).standard_normal((60, 3))
    embedder = SimilarityEmbedder(method=method, landmarks=12, dim=dim)
    Z = embedder.fit_transform(X)
    assert dim is None or Z.shape[1] == dim
    again = embedder.transform(X)
    if method == "regularized":  # a landmark's own entry is no pair, its copy's is one
        again[embedder.approximation_.landmarks] = Z[embedder.approximation_.landmarks]
    assert np.allclose(again, Z, atol=1e-8)
    assert len(embedder.get_feature_names_out()) == Z.shape[1]


class Counted:
    """A distance of texts that counts its calls."""

    calls = 0


def counted_distance(a, b):
    Counted.calls += 1
    return float(abs(len(a) - len(b)) + sum(x != y for x, y in zip(a, b)))


def test_another_gamma_takes_no_new_evaluation():
    Counted.calls = 0
    distance = fp.from_function(counted_distance, symmetric=True, diagonal=0.0)
    store = Store()
    pipeline = make_pipeline(
        SimilarityEmbedder(distance, landmarks=8, method="sms", store=store),
        LinearSVC(),
    )
    gammas = "similarityembedder__gamma"
    folds = StratifiedKFold(3)
    first = GridSearchCV(pipeline, {gammas: [0.1]}, cv=folds, error_score="raise")
    first.fit(TEXTS, KINDS)
    paid = Counted.calls
    assert paid == store.evaluations > 0
    many = GridSearchCV(
        pipeline, {gammas: [0.01, 0.05, 0.3, 1.0, 50.0]}, cv=folds, error_score="raise"
    )
    many.fit(TEXTS, KINDS)
    assert Counted.calls == paid
    # And the features are those of a fit that evaluates everything itself.
    best = many.best_estimator_[0]
    alone = clone(best).set_params(store=None).fit(TEXTS)
    assert np.allclose(alone.transform(TEXTS), best.transform(TEXTS))


def test_overlapping_folds_share_what_was_paid_for():
    Counted.calls = 0
    distance = fp.from_function(counted_distance, symmetric=True, diagonal=0.0)
    store = Store()
    embedder = SimilarityEmbedder(
        distance, landmarks=30, method="nystrom", gamma=0.1, store=store
    )
    for start in range(0, 12, 3):
        embedder.fit(TEXTS[start : start + 60])
    n = len(TEXTS)
    assert Counted.calls == store.evaluations <= n * (n - 1) / 2 + 8


def test_word_movers_distance_is_evaluated_once_for_all_gammas():
    words = sorted({word for text in TEXTS for word in text.split()})
    vectors = np.random.default_rng(0).standard_normal((len(words), 5))
    wmd = fp.WMD((words, vectors), gamma=3.0)
    store = Store()
    paid = []
    for gamma in (0.5, 2.0, 7.0):
        embedder = SimilarityEmbedder(
            wmd, landmarks=9, gamma=gamma, store=store, method="nystrom"
        ).fit(TEXTS)
        paid.append(store.evaluations)
        expected = fp.approximate(
            TEXTS, wmd.with_gamma(gamma), method=fp.Nystrom(9), budget=None
        )
        assert np.allclose(embedder.approximation_.dense(), expected.dense())
    assert paid[0] == paid[1] == paid[2] > 0


def test_a_store_keeps_what_was_paid_for_when_a_similarity_fails():
    at = np.arange(40)
    K = 1.0 / (1 + np.abs(at[:, None] - at))
    fragile = Failing(K, 100, OSError("the network is down"))
    store = Store()
    similarity = fp.from_function(fragile, symmetric=True, diagonal=1.0, name="fragile")
    embedder = SimilarityEmbedder(similarity, landmarks=6, store=store)
    with pytest.raises(fp.SimilarityError, match="network"):
        embedder.fit(list(range(40)))
    assert store.evaluations == 100
    fragile.mend()
    embedder.fit(list(range(40)))
    pairs = [frozenset(pair) for pair in fragile.calls]
    assert len(pairs) - len(set(pairs)) <= 8  # both orders check the symmetry


def test_what_was_read_after_the_fit_survives_pickling():
    X = np.random.default_rng(0).standard_normal((200, 3))
    clusterer = SimilarityClusterer(fp.Cosine(), threshold=0.9, evaluations=40).fit(X)
    approx = clusterer.approximation_
    assert approx.reader("test").evaluations > 0
    again = pickle.loads(pickle.dumps(clusterer)).approximation_  # noqa: S301
    settled = again.cluster(0.9, evaluations=40)
    assert np.array_equal(settled, approx.cluster(0.9, evaluations=40))
    number = approx.reader("test").known.moments().number
    assert again.reader("test").known.moments().number == number


def test_clones_share_the_store_and_the_similarity():
    store = Store()
    embedder = SimilarityEmbedder(RATIO, landmarks=5, store=store)
    copy = clone(embedder)
    assert copy.store is store
    assert copy.similarity is RATIO


def test_clusters_of_texts_by_threshold_number_and_cuts():
    by_threshold = SimilarityClusterer(RATIO, threshold=0.6).fit(TEXTS)
    assert by_threshold.approximation_.evaluations > 0
    by_number = SimilarityClusterer(RATIO, n_clusters=6).fit_predict(TEXTS)
    assert by_number.max() == 5
    X = np.repeat(np.eye(3), 60, axis=0)
    X = X + 0.1 * np.random.default_rng(0).standard_normal(X.shape)
    truth = np.repeat(np.arange(3), 60)
    for options in ({"by": "spectral"}, {"by": "average"}):
        found = SimilarityClusterer(fp.Cosine(), n_clusters=3, **options).fit(X)
        assert adjusted_rand_score(found.labels_, truth) == 1.0
    settled = SimilarityClusterer(fp.Cosine(), threshold=0.5, evaluations=50).fit(X)
    assert settled.approximation_.reader("test").evaluations <= 50


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: SimilarityEmbedder(RATIO).fit("one text"), "Pass a sequence"),
        (lambda: SimilarityEmbedder(RATIO, store={}).fit(TEXTS), "Store, or None"),
        (lambda: SimilarityEmbedder(RATIO, gamma=-1).fit(TEXTS), "above 0"),
        (lambda: SimilarityEmbedder(RATIO).fit(["alone"]), "at least two"),
        (
            lambda: SimilarityEmbedder(fp.Cosine(np.eye(5))).fit(np.eye(5)),
            "does not look at X",
        ),
        (lambda: SimilarityClassifier(RATIO).fit(TEXTS, KINDS[:3]), "one label per"),
        (
            lambda: SimilarityEmbedder(RATIO, landmarks=5).fit(TEXTS).transform([]),
            "empty",
        ),
        (
            lambda: SimilarityEmbedder(RATIO, landmarks=5).fit(TEXTS).transform([7]),
            "new_items",
        ),
        (
            lambda: SimilarityEmbedder(
                fp.WMD((["red"], np.eye(1)), weights="tfidf", empty="zero"),
                store=Store(),
                gamma=1.0,
            ).fit(TEXTS),
            "depends on all items",
        ),
        (
            lambda: SimilarityEmbedder(
                fp.WMD((["red"], np.eye(1)), empty="drop"), landmarks=2
            ).fit(TEXTS),
            "dropped 36 of 72",
        ),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(fp.InputError, match=message):
        call()
