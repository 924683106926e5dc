"""A map: items in the plane, near where their neighbors are."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, eigsh

from fewpairs.types import Indices

__all__ = ["broad_groups", "neighbor_graph", "place_items", "spectral_features"]

_EPOCHS = 200
_REPELLED = 5  # items drawn at random that every item is pushed away from, an epoch
_TIES = 0.1  # share of the mean degree that ties everything loosely together
_REACH = 4.0  # the farthest that a force pulls at once

Array = NDArray[np.float64]


def neighbor_graph(indices: Indices, similarities: Array) -> sparse.csr_array:
    """Return the weights of the neighbor graph: a symmetric sparse (n, n) array.

    A neighbor weighs 1 where it is the nearest, and less the more it falls behind,
    measured in the item's own spread: dense and sparse regions look alike.
    """
    n, k = indices.shape
    behind = similarities[:, :1] - similarities
    scale = np.maximum(behind.mean(axis=1, keepdims=True), 1e-9)
    weights = np.exp(-behind / scale).ravel()
    rows = np.repeat(np.arange(n), k)
    graph = sparse.csr_array((weights, (rows, indices.ravel())), shape=(n, n))
    mirrored = graph.T.tocsr()
    both = graph + mirrored - graph.multiply(mirrored)  # a or b, as probabilities
    return sparse.csr_array(both)


def spectral_features(graph: sparse.csr_array, dim: int, seed: int = 0) -> Array:
    """Return (n, dim) leading eigenvectors of the graph, loosely tied together.

    Without the ties, every clump of near-duplicates that nothing else points to would
    have an eigenvector of its own.
    """
    n = graph.shape[0]
    degree = np.asarray(graph.sum(axis=1)).ravel()
    ties = _TIES * degree.mean()
    root = 1 / np.sqrt(degree + ties)

    def times(x: Array) -> Array:
        scaled = root * x.ravel()
        return np.asarray(root * (graph @ scaled + ties * scaled.mean()))

    operator: Any = LinearOperator((n, n), matvec=times, dtype=np.float64)
    dim = min(dim, n - 2)
    start = np.random.default_rng(seed).random(n)
    _, vectors = eigsh(operator, k=dim + 1, which="LA", v0=start, tol=1e-4)
    found = vectors[:, -2::-1]  # the first says how many neighbors an item has
    signs = np.sign(found[np.abs(found).argmax(axis=0), np.arange(dim)])
    return np.asarray(found * signs)


def broad_groups(features: Array, number: int, seed: int = 0) -> NDArray[np.int64]:
    """Return labels of a few broad groups: spectral clustering by k-means."""
    from scipy.cluster.vq import kmeans2  # takes a while to import

    norms = np.linalg.norm(features, axis=1, keepdims=True)
    unit = features / np.where(norms > 0, norms, 1)
    rng = np.random.default_rng(seed)
    best, least = np.zeros(len(unit), dtype=np.int64), np.inf
    for _ in range(4):
        centers, labels = kmeans2(unit, number, minit="++", rng=rng, missing="warn")
        off = float(np.sum((unit - centers[labels]) ** 2))
        if off < least:
            best, least = labels.astype(np.int64), off
    return best


def place_items(graph: sparse.csr_array, start: Array, seed: int = 0) -> Array:
    """Return (n, 2) positions: neighbors attract, everything else repels.

    The forces of UMAP (McInnes, Healy & Melville 2018) with a = b = 1, all edges at
    once an epoch: 2w·(y − x)/(1 + d²) along an edge of weight w, and
    2·(x − y)/((ε + d²)(1 + d²)) away from items drawn at random.
    """
    n = graph.shape[0]
    rng = np.random.default_rng(seed)
    edges = sparse.triu(graph, 1).tocoo()
    keep = edges.data > 0.05
    i, j, weight = edges.row[keep], edges.col[keep], edges.data[keep]
    spread = np.abs(start).max(axis=0)
    at = 10 * start / np.where(spread > 0, spread, 1)
    at = at + rng.normal(scale=0.05, size=at.shape)
    degree = np.bincount(np.concatenate([i, j]), np.tile(weight, 2), minlength=n)
    pull = 1 / np.maximum(degree, 1e-9)
    everyone = np.arange(n)
    for epoch in range(_EPOCHS):
        step = 1.0 - epoch / _EPOCHS
        apart = at[j] - at[i]
        force = (weight / (1 + np.sum(apart**2, axis=1)))[:, None] * apart
        move = np.column_stack(
            [
                np.bincount(i, force[:, t], n) - np.bincount(j, force[:, t], n)
                for t in range(2)
            ]
        )
        move *= np.minimum(2 * pull, 2.0)[:, None]
        for _ in range(_REPELLED):
            other = rng.permutation(everyone)
            away = at - at[other]
            square = np.sum(away**2, axis=1)
            strength = 2 / ((0.01 + square) * (1 + square))
            move += np.clip(strength[:, None] * away, -_REACH, _REACH)
        at = at + step * np.clip(move, -_REACH, _REACH)
    return np.asarray(at - at.mean(axis=0))
