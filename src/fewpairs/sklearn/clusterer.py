"""Clusters of items from a few pairs."""

from typing import Any, Self

from sklearn.base import ClusterMixin

from fewpairs.matrix.budget import DEFAULT_BUDGET, Budget, GivenBudget
from fewpairs.methods import as_method
from fewpairs.similarity.remembered import Store
from fewpairs.sklearn.base import SimilarityEstimator

__all__ = ["SimilarityClusterer"]

_EVERYTHING = 100  # items of which all pairs are read


class SimilarityClusterer(ClusterMixin, SimilarityEstimator):  # type: ignore[misc]
    """Clusters of items by their approximated similarities.

    Evaluations: those of ``budget``; all pairs for up to 100 items. And
    ``evaluations``, for exact merges near the threshold.

    Parameters
    ----------
    similarity, gamma, store, random_state
        As for :class:`SimilarityEmbedder`.
    n_clusters
        How many clusters; not used where a threshold is given.
    threshold
        Clusters are joined as long as their average similarity is at least this.
    by
        ``"average"``, ``"components"`` or ``"spectral"``, see
        :meth:`fewpairs.Approximation.cluster`.
    method, budget
        See :func:`fewpairs.approximate`.
    evaluations
        For exact merges near the threshold.

    Attributes
    ----------
    labels_
        The clusters of the items, counted from 0.
    approximation_
        The approximation of the items.

    Examples
    --------
    >>> import fewpairs as fp
    >>> texts = ["red apple", "red apples", "blue car", "blue cars"]
    >>> clusterer = fp.sklearn.SimilarityClusterer(
    ...     fp.StringSimilarity("levenshtein"), threshold=0.7
    ... )
    >>> clusterer.fit_predict(texts).tolist()
    [0, 0, 1, 1]
    """

    def __init__(
        self,
        similarity: Any = None,
        *,
        n_clusters: int = 2,
        threshold: float | None = None,
        by: str = "average",
        method: Any = "auto",
        budget: GivenBudget = DEFAULT_BUDGET,
        gamma: float | None = None,
        evaluations: int = 0,
        store: Store | None = None,
        random_state: Any = 0,
    ) -> None:
        self.similarity = similarity
        self.n_clusters = n_clusters
        self.threshold = threshold
        self.by = by
        self.method = method
        self.budget = budget
        self.gamma = gamma
        self.evaluations = evaluations
        self.store = store
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 - scikit-learn's
        """Approximate the similarities and cluster them."""
        items = self.items_of(X, reset=True)
        given = Budget.of(self.budget, f"{type(self).__name__}: budget")
        budget = 1.0 if len(items) <= _EVERYTHING else given
        self.approximation_ = self.approximate(items, as_method(self.method), budget)
        self.labels_ = self.approximation_.cluster(
            self.threshold,
            clusters=None if self.threshold is not None else self.n_clusters,
            by=self.by,
            evaluations=self.evaluations,
        )
        return self
