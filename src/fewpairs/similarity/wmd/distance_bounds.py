"""What word mover's distances are never below: of centroids, and relaxed ones."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.kernels.wmd.bags import Corpus
from fewpairs.types import Indices

__all__ = ["DistanceBounds"]

_DENSE = 0.1  # share of a block from which on it is bounded as a whole
# Distances of nearly equal words are sums that cancel: half of the digits are left.
_EXACT, _ROUGH = 1e-7, 1e-5


class DistanceBounds:
    """Upper bounds of exp(−γ·distance), from lower bounds of the distance.

    Moving all words takes at least the way between the texts' centroids, by the
    triangle inequality; and at least what every word takes to the nearest one of the
    other text (Kusner et al. 2015, sections 4.1 and 4.2).

    Parameters
    ----------
    corpus, gamma
        The texts, and γ.
    kernel, threads
        What computes relaxed distances.
    rough
        Whether it does so in single precision.
    """

    def __init__(
        self, corpus: Corpus, gamma: float, kernel: Any, *, threads: int, rough: bool
    ) -> None:
        self._corpus, self._gamma = corpus, gamma
        self._kernel, self._threads = kernel, threads
        self._slack = (_ROUGH if rough else _EXACT) * (corpus.scale or 1.0)
        start, word, mass = corpus.bags
        texts = np.repeat(np.arange(len(start) - 1), np.diff(start))
        self._centroids = np.zeros((len(start) - 1, corpus.vectors.shape[1]))
        np.add.at(self._centroids, texts, mass[:, None] * corpus.vectors[word])
        self._squares = np.einsum("td,td->t", self._centroids, self._centroids)

    def pairs(self, i: Indices, j: Indices) -> NDArray[np.float64]:
        """Return the bounds of single pairs: the better of both."""
        steps = self._centroids[i] - self._centroids[j]
        near = np.linalg.norm(steps, axis=1)
        relaxed = self._kernel.pair_distances(
            self._corpus, i, j, threads=self._threads, relaxed=True
        )
        least = np.maximum(near, relaxed) - self._slack
        return np.asarray(np.exp(-self._gamma * np.maximum(least, 0.0)))

    def may_reach(
        self, rows: Indices, columns: Indices, least: float
    ) -> NDArray[np.bool_]:
        """Tell which pairs of a block may reach ``least``; by centroids first."""
        if least <= 0:
            return np.ones((len(rows), len(columns)), dtype=bool)
        farthest = max(0.0, -np.log(least) / self._gamma) + self._slack
        a, b = self._centroids[rows], self._centroids[columns]
        squares = self._squares[rows][:, None] + self._squares[columns] - 2 * a @ b.T
        found = squares <= farthest**2 + 1e-12 * self._corpus.scale**2
        r, c = np.flatnonzero(found.any(axis=1)), np.flatnonzero(found.any(axis=0))
        inside = found[np.ix_(r, c)]
        if not inside.size:
            return np.asarray(found)
        if inside.mean() > _DENSE:
            relaxed = self._kernel.block_distances(
                self._corpus, rows[r], columns[c], threads=self._threads, relaxed=True
            )
            found[np.ix_(r, c)] = inside & (relaxed <= farthest)
        else:
            x, y = np.nonzero(found)
            relaxed = self._kernel.pair_distances(
                self._corpus, rows[x], columns[y], threads=self._threads, relaxed=True
            )
            found[x, y] = relaxed <= farthest
        return np.asarray(found)
