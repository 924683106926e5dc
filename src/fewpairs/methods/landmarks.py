"""Which items become landmarks: uniform, or medoids of embeddings."""

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fewpairs.checks import check_instance, check_whole
from fewpairs.errors import InputError
from fewpairs.types import Indices

__all__ = ["KMeansMedoids", "Sampling", "Uniform"]

_ROUNDS = 10_000  # of k-means: more never end


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
        n, size = _check_draw("fewpairs.Uniform.draw", n, size, rng)
        return rng.permutation(n)[:size]


def _check_draw(call: str, n: Any, size: Any, rng: Any) -> tuple[int, int]:
    n = check_whole(call, "n", n, least=1)
    size = check_whole(call, "size", size, least=1, most=n)
    cure = "numpy.random.default_rng(seed)"
    check_instance(call, "rng", rng, np.random.Generator, cure)
    return n, size


class KMeansMedoids(Sampling):
    """The items nearest to the k-means centers of cheap embeddings.

    Landmarks that spread over the data explain more of it than random ones where
    the embeddings mean something.

    Parameters
    ----------
    embeddings
        (n, d) array with one row per item.
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
        except Exception:  # noqa: BLE001 - ragged, or no array at all
            X = np.empty(0, dtype=object)
        numbers = X.ndim == 2 and X.size > 0 and X.dtype.kind in "biuf"
        if not numbers or not np.isfinite(X).all():
            msg = (
                "fewpairs.KMeansMedoids: needs a finite (n, d) array of numbers with "
                f"one row per item; got shape {X.shape} and dtype {X.dtype}"
                f"{', with NaN or infinity' if numbers else ''}."
            )
            raise InputError(msg)
        call = "fewpairs.KMeansMedoids"
        iterations = check_whole(call, "iterations", iterations, least=1, most=_ROUNDS)
        # Squared distances must not leave the range of float64.
        X = X.astype(np.float64)
        self._X = X / (np.abs(X).max() or 1.0)
        self._iterations = iterations

    def draw(self, n: int, size: int, rng: np.random.Generator) -> Indices:
        """Run k-means with ``size`` centers and take the nearest item of each."""
        from scipy.cluster.vq import kmeans2

        n, size = _check_draw("fewpairs.KMeansMedoids.draw", n, size, rng)
        if len(self._X) != n:
            msg = (
                f"fewpairs.KMeansMedoids: {len(self._X)} embeddings for {n} items. "
                "Pass one row per item, in the order of the items."
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
