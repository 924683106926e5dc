"""What the estimators share: items, and the similarity that parameters say."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from fewpairs.checks import refuse
from fewpairs.errors import InputError
from fewpairs.methods import Method
from fewpairs.result.approximation import Approximation
from fewpairs.run.approximate import approximate
from fewpairs.similarity.base import Similarity
from fewpairs.similarity.binding import as_similarity
from fewpairs.similarity.exponential import Euclidean, Exponential, as_distance
from fewpairs.similarity.items import as_items, column_names
from fewpairs.similarity.missing import is_missing
from fewpairs.similarity.remembered import Remembered, Store

__all__ = ["SimilarityEstimator", "is_table"]


class SimilarityEstimator(BaseEstimator):  # type: ignore[misc]
    """What the estimators share: items, and the similarity of parameters."""

    similarity: Any
    gamma: float | None
    store: Store | None
    random_state: Any

    def items_of(self, X: Any, *, reset: bool) -> Any:
        """Return items: a checked array of numbers, or a list of anything else."""
        name = type(self).__name__
        if self.similarity is not None:
            X = _column_of_texts(X, name)
        if self.similarity is None or is_table(X):
            least = 2 if reset else 1
            return self.validated(X, reset=reset, ensure_min_samples=least)
        items = as_items(X, name, name="X")
        gone = 0
        if any(isinstance(item, str) for item in items):
            gone = sum(is_missing(item) for item in items)
        if gone:
            msg = (
                f"{name}: {gone:,} of {len(items):,} texts of X are missing. Fill them "
                "first, such as by X.fillna(''): an estimator needs a row for each."
            )
            raise InputError(msg)
        return items

    def validated(self, *data: Any, **options: Any) -> Any:
        """Return what scikit-learn makes of tables; its words, as an `InputError`."""
        try:
            return validate_data(self, *data, dtype="numeric", **options)
        except ValueError as error:
            raise InputError(str(error)) from error

    def _recipe(self, items: Any) -> Similarity:
        """Return the similarity that the parameters say."""
        gamma = self.gamma
        if self.similarity is None:
            distance: Similarity = Euclidean()
            if gamma is None:  # 1 / a typical distance
                spread = float(np.asarray(items).var(axis=0).sum())
                gamma = 1 / np.sqrt(2 * spread) if spread > 0 else 1.0
        else:
            distance = as_similarity(self.similarity, type(self).__name__)
            if gamma is not None:
                distance = as_distance(distance)
        if self.store is not None:
            if not isinstance(self.store, Store):
                msg = (
                    f"{type(self).__name__}: store is {self.store!r:.60}; pass a "
                    "fewpairs.sklearn.Store, or None."
                )
                raise InputError(msg)
            distance = Remembered(distance, self.store)
        return distance if gamma is None else Exponential(distance, gamma)

    def _random_state(self) -> Any:
        try:
            return check_random_state(self.random_state)
        except (TypeError, ValueError) as error:
            cure = "a whole number, a numpy.random.RandomState or None"
            name = type(self).__name__
            raise refuse(name, "random_state", self.random_state, cure) from error

    def approximate(self, items: Any, method: Method, budget: Any) -> Approximation:
        """Approximate the similarities of the items that an estimator is fitted to."""
        recipe = self._recipe(items)
        if recipe.by_position:
            msg = (
                f"{type(self).__name__}: {recipe.name} has its own vectors or matrix "
                "and does not look at X. Pass a similarity of items, such as "
                "fewpairs.Cosine() for rows of numbers."
            )
            raise InputError(msg)
        seed = self.random_state
        if not isinstance(seed, (int, np.integer)):
            seed = int(self._random_state().randint(2**31 - 1))
        approx = approximate(
            items, recipe, method=method, budget=budget, seed=int(seed)
        )
        if approx.shape[0] != len(items):
            msg = (
                f"{type(self).__name__}: {recipe.name} dropped "
                f"{len(items) - approx.shape[0]:,} of {len(items):,} items. An "
                "estimator needs them all: for fewpairs.WMD, pass empty='zero'."
            )
            raise InputError(msg)
        return approx


def _column_of_texts(X: Any, name: str) -> Any:
    """Return the only column of a table of texts; anything else as it is."""
    names = column_names(X)
    if not names or not len(X):
        return X
    texts = [one for one in names if isinstance(as_items(X[one], name)[0], str)]
    if texts and len(names) == 1:
        return X[texts[0]]
    if texts:
        msg = (
            f"{name}: X is a {type(X).__name__} with the columns "
            f"{', '.join(map(repr, names)):.200}, and one item a row is compared. Pass "
            f"a column, X[{texts[0]!r}]; a ColumnTransformer takes its name, "
            f"{texts[0]!r}."
        )
        raise InputError(msg)
    return X


def is_table(X: Any) -> bool:
    """Tell rows of numbers, or what scikit-learn refuses, from a list of items."""
    if hasattr(X, "iloc") or hasattr(X, "get_columns"):  # pandas, polars
        return np.ndim(X) == 2
    return hasattr(X, "dtype") and getattr(X, "ndim", 1) == 2
