"""exp(−γ·distance): a similarity of any distance, with γ apart from its evaluation."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.checks import check_number
from fewpairs.similarity.base import Scorer, Similarity
from fewpairs.similarity.wmd.scorer import WMD, WMDScorer
from fewpairs.types import Indices

__all__ = ["Euclidean", "Exponential", "as_distance"]


@dataclass(frozen=True, repr=False, eq=False)
class Exponential(Similarity):
    """exp(−γ·d(a, b)) of a distance d.

    Parameters
    ----------
    distance
        A similarity whose values are distances, from 0 on.
    gamma
        γ, above 0.
    """

    distance: Similarity
    gamma: float = 1.0

    bounds = (0.0, 1.0)

    def __post_init__(self) -> None:
        check_number("fewpairs", "gamma", self.gamma, above=0)

    @property
    def symmetric(self) -> bool | None:  # type: ignore[override]
        """As the distance is."""
        return self.distance.symmetric

    @property
    def proven(self) -> bool:  # type: ignore[override]
        """As the distance is."""
        return self.distance.proven

    @property
    def deterministic(self) -> bool:  # type: ignore[override]
        """As the distance is."""
        return self.distance.deterministic

    @property
    def fingerprinted(self) -> bool:  # type: ignore[override]
        """As the distance is."""
        return self.distance.fingerprinted

    @property
    def diagonal(self) -> float | None:  # type: ignore[override]
        """1 where the distance of an item to itself is declared as 0."""
        own = self.distance.diagonal
        return None if own is None else float(np.exp(-self.gamma * own))

    @property
    def name(self) -> str:
        """The call that makes this similarity, in short."""
        return f"exp(−{self.gamma:g}·{self.distance.name})"

    def with_gamma(self, gamma: float) -> "Exponential":
        """Return the same with another γ."""
        return replace(self, gamma=gamma)

    def standing(self) -> tuple[list[Any], str]:
        """As the distance's."""
        return self.distance.standing()

    def identify(self) -> Iterable[Any]:
        """Return γ and what the distance is known by."""
        yield from ("exponential", self.gamma)
        yield from self.distance.identify()

    def bind(self, items: Sequence[Any]) -> Scorer:
        """Bind the distance."""
        return _Exponentials(self.distance.bind(items), self.gamma)

    def bind_two(self, left: Sequence[Any], right: Sequence[Any]) -> Scorer:
        """Bind the distance to two sets."""
        return _Exponentials(self.distance.bind_two(left, right), self.gamma)

    def beside(
        self, new_items: Sequence[Any], items: Sequence[Any], positions: Indices
    ) -> Scorer:
        """Bind the distance to new items and some old ones."""
        return _Exponentials(
            self.distance.beside(new_items, items, positions), self.gamma
        )


class _Exponentials(Scorer):
    def __init__(self, distances: Scorer, gamma: float) -> None:
        self.n, self.kept = distances.n, distances.kept
        self.chunk, self.backend = distances.chunk, distances.backend
        self._distances, self._gamma = distances, gamma

    def prepare(self, tell: Callable[[str], None]) -> None:
        self._distances.prepare(tell)

    def pairs(self, i: Indices, j: Indices) -> NDArray[np.float64]:
        return np.asarray(np.exp(-self._gamma * self._distances.pairs(i, j)))

    def block(self, rows: Indices, columns: Indices) -> NDArray[np.float64]:
        return np.asarray(np.exp(-self._gamma * self._distances.block(rows, columns)))


def as_distance(similarity: Similarity) -> Similarity:
    """Return what a similarity is a function of, where it is one of a distance."""
    if isinstance(similarity, Exponential):
        return similarity.distance
    return _WordMovers(similarity) if isinstance(similarity, WMD) else similarity


@dataclass(frozen=True, repr=False, eq=False)
class _WordMovers(Similarity):
    """The distance of `WMD`, whatever its γ."""

    similarity: WMD

    symmetric = True
    proven = True
    diagonal = 0.0

    @property
    def contextual(self) -> bool:  # type: ignore[override]
        return self.similarity.contextual

    @property
    def fingerprinted(self) -> bool:  # type: ignore[override]
        return self.similarity.fingerprinted

    @property
    def name(self) -> str:
        return "WMD"

    def identify(self) -> Iterable[Any]:
        return ("distance", *self.similarity.with_gamma(1.0).identify())

    def bind(self, items: Sequence[Any]) -> Scorer:
        return _WordMoversDistances(self.similarity.bind(items))


class _WordMoversDistances(Scorer):
    def __init__(self, movers: WMDScorer) -> None:
        self.n, self.kept, self.chunk = movers.n, movers.kept, movers.chunk
        self._movers, self.backend = movers, movers.backend

    def prepare(self, tell: Callable[[str], None]) -> None:
        self._movers.prepare(tell)

    def pairs(self, i: Indices, j: Indices) -> NDArray[np.float64]:
        return self._movers.pair_distances(i, j)

    def block(self, rows: Indices, columns: Indices) -> NDArray[np.float64]:
        return self._movers.distances(rows, columns)


class Euclidean(Similarity):
    """The Euclidean distance of vectors, as a distance for `Exponential`."""

    symmetric = True
    proven = True
    fingerprinted = True
    diagonal = 0.0

    def bind(self, items: Sequence[Any]) -> Scorer:
        """Keep the vectors as an array."""
        return _EuclideanDistances(np.asarray(items, dtype=np.float64))


class _EuclideanDistances(Scorer):
    def __init__(self, vectors: NDArray[np.float64]) -> None:
        self.n = len(vectors)
        self._vectors = vectors

    def pairs(self, i: Indices, j: Indices) -> NDArray[np.float64]:
        return np.asarray(np.linalg.norm(self._vectors[i] - self._vectors[j], axis=1))

    def block(self, rows: Indices, columns: Indices) -> NDArray[np.float64]:
        from scipy.spatial.distance import cdist

        return np.asarray(cdist(self._vectors[rows], self._vectors[columns]))
