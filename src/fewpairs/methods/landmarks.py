"""Which items become landmarks: uniform, or medoids of embeddings."""

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fewpairs.errors import InputError
from fewpairs.types import Indices

__all__ = ["KMeansMedoids", "Sampling", "Uniform"]


class Sampling(ABC):
    """A way of choosing items."""

    @abstractmethod
    def draw(self, n: int, size: int, rng: np.random.Generator) -> Indices:
        """Return ``size`` distinct positions below n."""


@dataclass(frozen=True)
class Uniform(Sampling):
    """Every set of items is equally likely, as in the paper.

    Examples
    --------
    >>> import numpy as np, fewpairs as fp
    >>> len(fp.Uniform().draw(100, 7, np.random.default_rng(0)))
    7
    """

    def draw(self, n: int, size: int, rng: np.random.Generator) -> Indices:
        """Draw without replacement."""
        return rng.permutation(n)[:size]


class KMeansMedoids(Sampling):
    """The items nearest to the k-means centers of cheap embeddings.

    Landmarks that spread over the data explain more of it than random ones where
    the embeddings mean something.

    Parameters
    ----------
    embeddings
        (n, d) array with one row an item.
    iterations
        Rounds of k-means.

    References
    ----------
    Zhang, Tsang & Kwok (2008), "Improved Nyström low-rank approximation and error
    analysis", ICML.

    Examples
    --------
    >>> import numpy as np, fewpairs as fp
    >>> X = np.random.default_rng(0).standard_normal((200, 8))
    >>> method = fp.Nystrom(landmarks=10, sampling=fp.KMeansMedoids(X))
    >>> len(fp.approximate(None, X @ X.T, method=method, budget=0.2).landmarks)
    10
    """

    def __init__(self, embeddings: ArrayLike, *, iterations: int = 20) -> None:
        try:
            X = np.asarray(embeddings)
        except ValueError:
            X = np.empty(0, dtype=object)
        numbers = X.ndim == 2 and X.size > 0 and X.dtype.kind in "biuf"
        if not numbers or not np.isfinite(X).all():
            msg = (
                "fewpairs.KMeansMedoids: needs a finite (n, d) array of numbers with "
                f"one row an item; got shape {X.shape} and dtype {X.dtype}"
                f"{', with NaN or infinity' if numbers else ''}."
            )
            raise InputError(msg)
        if not isinstance(iterations, (int, np.integer)) or iterations < 1:
            got = f"iterations is {iterations!r}"
            msg = f"fewpairs.KMeansMedoids: {got}; pass 1 or more."
            raise InputError(msg)
        # Squared distances must not leave the range of float64.
        X = X.astype(np.float64)
        self._X = X / (np.abs(X).max() or 1.0)
        self._iterations = iterations

    def draw(self, n: int, size: int, rng: np.random.Generator) -> Indices:
        """Run k-means with ``size`` centers and take the nearest item of each."""
        from scipy.cluster.vq import kmeans2

        if len(self._X) != n:
            msg = (
                f"fewpairs.KMeansMedoids: {len(self._X)} embeddings for {n} items. "
                "Pass one row an item, in the order of the items."
            )
            raise InputError(msg)
        if size >= n:
            return rng.permutation(n)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            # Duplicate items leave clusters empty: they are filled below.
            warnings.simplefilter("ignore", UserWarning)
            centers, _ = kmeans2(
                self._X, size, iter=self._iterations, minit="++", rng=rng
            )
        return self._medoids(centers, rng)

    def _medoids(self, centers: NDArray[Any], rng: np.random.Generator) -> Indices:
        squares = np.einsum("id,id->i", self._X, self._X)
        taken = np.zeros(len(self._X), dtype=bool)
        chosen = []
        for center in centers:
            distance = squares - 2 * (self._X @ center)
            distance[taken] = np.inf
            best = int(np.argmin(distance)) if np.isfinite(center).all() else -1
            if best >= 0:
                taken[best] = True
                chosen.append(best)
        missing = len(centers) - len(chosen)
        spare = rng.permutation(np.flatnonzero(~taken))[:missing]
        return np.concatenate([np.array(chosen, dtype=np.int64), spare])
