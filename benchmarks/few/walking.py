"""Bi-metric search: a walk on the prior's graph under the expensive similarity."""

import numpy as np
from numpy.typing import NDArray

from benchmarks.few.answers import Answer, FromReads, calibrate
from benchmarks.few.cosines import in_threads
from benchmarks.few.reader import Array, Reader, first_of_each
from benchmarks.few.reranking import rerank
from benchmarks.few.sets import DataSet

__all__ = ["walk"]

CANDIDATES = 64  # under the prior that the graph's edges are chosen from
DEGREE = 4  # edges that leave an item: more cost more than they find
ALPHA = 1.2  # of the pruning: larger keeps more long edges
BEAM = 32  # of the best known that are expanded, at most
BATCH = 256  # items whose edges are chosen together
SEED = 0.5  # share of the budget that the walks' starting points get


def walk(data: DataSet, evaluations: int, rng: np.random.Generator) -> Answer:
    """Build a graph with the prior alone; search it with the expensive similarity.

    Every item is a query. As in the paper, half of the quota is spent on the prior's
    nearest, where the walk starts, and the rest on greedy search: the best known
    partner that was not expanded yet is, and its neighbors in the graph are read. All
    walks go in step, and a pair that two of them meet is paid for once. The graph is
    DiskANN's: edges to near items that no kept edge makes superfluous, and their
    reverses. If all walks have ended, the prior's top is read on.

    References
    ----------
    Xu, Silwal and Indyk, A bi-metric framework for fast similarity search,
    arXiv:2406.02891, 2024. Subramanya et al., DiskANN, NeurIPS 2019.
    """
    reader = Reader(data, evaluations)
    fitted = calibrate(reader, rng)
    rerank(reader, round(SEED * reader.left), rng)
    graph = _graph(data)
    expanded = np.empty(0, dtype=np.int64)
    while reader.left:
        start, other, _ = reader.partners()
        best = first_of_each(start, other, BEAM)
        steps = np.arange(data.n)[:, None] * data.n + best
        ready = (best >= 0) & ~np.isin(steps, expanded)
        walkers = rng.permutation(np.flatnonzero(ready.any(axis=1)))
        if not len(walkers):
            break
        chosen = steps[walkers, ready[walkers].argmax(axis=1)]
        expanded = np.union1d(expanded, chosen)
        near = graph[chosen % data.n]
        i = np.repeat(walkers, near.shape[1])
        reader.propose(i[near.ravel() >= 0], near.ravel()[near.ravel() >= 0])
    rerank(reader, reader.left, rng)
    return FromReads(reader, fitted.pairs)


def _graph(data: DataSet) -> Array:
    """Return every item's edges and reverse edges, −1 for none."""
    n = data.n
    top = data.top(CANDIDATES)
    kept = np.empty((n, DEGREE), dtype=np.int64)

    def fill(first: int) -> None:
        part = slice(first, first + BATCH)
        kept[part] = _pruned(data.prior, first, top[part])

    in_threads(fill, range(0, n, BATCH))
    item, place = np.nonzero(kept >= 0)
    there = kept[item, place]
    edges = np.union1d(item * n + there, there * n + item)
    start = np.searchsorted(edges // n, np.arange(n + 1))
    return np.asarray(first_of_each(start, edges % n, 2 * DEGREE))


def _pruned(prior: NDArray[np.float32], first: int, top: Array) -> Array:
    """Return the candidates that DiskANN's RobustPrune keeps, nearest first.

    A candidate goes when a kept one is ``ALPHA`` times nearer to it than the item is.
    """
    near = prior[top]
    own = prior[first : first + len(top)]
    to_item = np.sqrt(np.maximum(2 - 2 * np.einsum("tcd,td->tc", near, own), 0))
    between = np.sqrt(np.maximum(2 - 2 * near @ near.transpose(0, 2, 1), 0))
    alive = np.ones(top.shape, dtype=bool)
    kept = np.full((len(top), DEGREE), -1)
    count = np.zeros(len(top), dtype=np.int64)
    for c in range(top.shape[1]):
        takes = np.flatnonzero(alive[:, c] & (count < DEGREE))
        kept[takes, count[takes]] = top[takes, c]
        count[takes] += 1
        alive[takes] &= ALPHA * between[takes, c] > to_item[takes]
    return kept
