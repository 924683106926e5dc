"""Features of items from a few pairs, and a linear machine on them."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import (
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.svm import LinearSVC
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from fewpairs.checks import check_number, check_whole
from fewpairs.errors import InputError
from fewpairs.matrix.budget import DEFAULT_BUDGET, GivenBudget
from fewpairs.methods import Method, as_method
from fewpairs.similarity.remembered import Store
from fewpairs.sklearn.base import SimilarityEstimator, is_table

__all__ = ["SimilarityClassifier", "SimilarityEmbedder"]


class SimilarityEmbedder(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    SimilarityEstimator,
):
    """Turn items into features Z, so that Z·Zᵀ approximates their similarities.

    Evaluations: about n·landmarks to fit, ``landmarks`` for each new item.

    Parameters
    ----------
    similarity
        A :class:`~fewpairs.Similarity`, or a function of two items; ``None``: the
        Euclidean distance of rows of numbers, as exp(−γ·distance).
    landmarks
        How many items every item is compared with; at most all.
    method
        Name or instance of a method, see :func:`fewpairs.approximate`. One that is not
        of landmarks gets 5 % of the pairs.
    gamma
        Where it is given, values of ``similarity`` are distances, and exp(−γ·distance)
        is approximated; :class:`~fewpairs.WMD` and its like are distances too, their
        own γ is not used. With a ``store``, another γ takes no new evaluation, as long
        as the method reads the same pairs: all but ``"auto"`` do.
    dim
        Keep so many leading directions; ``None``: all.
    store
        A :class:`Store`, shared by clones: no pair is evaluated twice.
    random_state
        Draws the landmarks.

    Attributes
    ----------
    approximation_
        The approximation of the fitted items.
    n_features_in_
        Number of columns, where X was numeric.

    Examples
    --------
    >>> import fewpairs as fp
    >>> texts = ["red apple", "green apple", "red car", "green car", "blue sky"] * 4
    >>> embedder = fp.sklearn.SimilarityEmbedder(
    ...     fp.StringSimilarity("levenshtein"), landmarks=3
    ... )
    >>> embedder.fit(texts).transform(["blue car"]).shape[0]
    1
    """

    def __init__(
        self,
        similarity: Any = None,
        *,
        landmarks: int = 100,
        method: Any = "regularized",
        gamma: float | None = None,
        dim: int | None = None,
        store: Store | None = None,
        random_state: Any = 0,
    ) -> None:
        self.similarity = similarity
        self.landmarks = landmarks
        self.method = method
        self.gamma = gamma
        self.dim = dim
        self.store = store
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 - scikit-learn's
        """Read the landmarks' similarities to all items."""
        self._embed(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> NDArray[Any]:  # noqa: ARG002
        """Fit, and return the features of the fitted items: no evaluation more."""
        return self._embed(X)

    def transform(self, X: Any) -> NDArray[Any]:
        """Return the features of new items."""
        check_is_fitted(self)
        items = self.items_of(X, reset=False)
        features = self.approximation_.transform(items)
        return features if self._turn is None else np.asarray(features @ self._turn)

    def _embed(self, X: Any) -> NDArray[Any]:
        items = self.items_of(X, reset=True)
        name = type(self).__name__
        check_whole(name, "landmarks", self.landmarks, least=1)
        method, budget = _with_landmarks(self.method, self.landmarks, len(items))
        approx = self.approximate(items, method, budget)
        self.approximation_ = approx
        features: NDArray[Any] = approx.embedding()
        self._turn = None
        check_whole(name, "dim", self.dim, least=1, none=True)
        if self.dim is not None and self.dim < features.shape[1]:
            leading = approx.embedding(self.dim)
            self._turn = np.linalg.lstsq(features, leading, rcond=None)[0]
            features = leading
        self._n_features_out = features.shape[1]
        return features


class SimilarityClassifier(ClassifierMixin, SimilarityEstimator):  # type: ignore[misc]
    """A linear support vector machine on the features of `SimilarityEmbedder`.

    The set-up of Ray et al. (2022) for document classification.

    Parameters
    ----------
    similarity, landmarks, method, gamma, dim, store, random_state
        As for :class:`SimilarityEmbedder`.
    C
        Inverse strength of the machine's regularization.

    Attributes
    ----------
    embedder_, svm_
        The fitted embedder and :class:`sklearn.svm.LinearSVC`.
    classes_
        The labels.

    References
    ----------
    Ray, Monath, McCallum & Musco (2022), "Sublinear time approximation of text
    similarity matrices", AAAI.

    Examples
    --------
    >>> import fewpairs as fp
    >>> texts = ["red apple", "green apple", "red car", "green car"] * 5
    >>> kinds = ["fruit", "fruit", "vehicle", "vehicle"] * 5
    >>> classifier = fp.sklearn.SimilarityClassifier(
    ...     fp.StringSimilarity("levenshtein"), landmarks=8
    ... )
    >>> classifier.fit(texts, kinds).predict(["blue apple", "blue car"]).tolist()
    ['fruit', 'vehicle']
    """

    def __init__(
        self,
        similarity: Any = None,
        *,
        landmarks: int = 100,
        method: Any = "regularized",
        gamma: float | None = None,
        dim: int | None = None,
        C: float = 1.0,
        store: Store | None = None,
        random_state: Any = 0,
    ) -> None:
        self.similarity = similarity
        self.landmarks = landmarks
        self.method = method
        self.gamma = gamma
        self.dim = dim
        self.C = C
        self.store = store
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Embed the items and train the machine."""
        check_number("SimilarityClassifier", "C", self.C, above=0)
        if self.similarity is None or is_table(X):
            X, y = self.validated(X, y, ensure_min_samples=2)
        else:
            X = self.items_of(X, reset=True)
            y = _labels(y, len(X))
        check_classification_targets(y)
        self.embedder_ = SimilarityEmbedder(
            self.similarity,
            landmarks=self.landmarks,
            method=self.method,
            gamma=self.gamma,
            dim=self.dim,
            store=self.store,
            random_state=self.random_state,
        )
        seed = self.random_state
        self.svm_ = LinearSVC(
            C=self.C, dual="auto", max_iter=100_000, random_state=seed
        )
        features = self.embedder_.fit_transform(X)
        if not features.shape[1]:
            msg = (
                "SimilarityClassifier: all similarities that were read are 0, so there "
                "are no features to learn from. Check the similarity, or lower gamma."
            )
            raise InputError(msg)
        self.svm_.fit(features, y)
        self.classes_ = self.svm_.classes_
        return self

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Return signed distances to the separating planes."""
        check_is_fitted(self)
        return np.asarray(self.svm_.decision_function(self._features(X)))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the labels of new items."""
        check_is_fitted(self)
        return np.asarray(self.svm_.predict(self._features(X)))

    def _features(self, X: Any) -> NDArray[Any]:
        return self.embedder_.transform(self.items_of(X, reset=False))


def _with_landmarks(method: Any, landmarks: int, n: int) -> tuple[Method, GivenBudget]:
    """Return a method with as many landmarks as there can be, and its budget."""
    chosen = as_method(method)
    given = chosen.with_landmarks(min(landmarks, n))
    return (chosen, DEFAULT_BUDGET) if given is None else (given, None)


def _labels(y: Any, n: int) -> NDArray[Any]:
    try:
        labels = np.asarray(y)
    except Exception:  # noqa: BLE001 - ragged, or no array at all
        labels = np.empty(0)
    if labels.shape != (n,):
        msg = (
            f"SimilarityClassifier: {n} items and labels of shape {labels.shape}; pass "
            "one label per item."
        )
        raise InputError(msg)
    return labels
