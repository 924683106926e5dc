"""NN-descent, seeded by the prior: neighbors of neighbors are compared."""

import numpy as np

from benchmarks.few.answers import Answer, FromReads, calibrate
from benchmarks.few.reader import Array, Reader, first_of_each
from benchmarks.few.reranking import rerank
from benchmarks.few.sets import DataSet

__all__ = ["nn_descent"]

DEGREE = 10  # neighbors of the graph, K
SAMPLED = 10  # of new and of old neighbors that a join compares, ρ·K
SEED = 0.5  # share of the budget that the prior's top gets
ROUND = 1.0  # pairs per item that a round reads at most


def nn_descent(data: DataSet, evaluations: int, rng: np.random.Generator) -> Answer:
    """Improve the prior's graph by local joins until the budget ends.

    Half of the budget reads the prior's top: a far better start than the paper's
    random graph. Then, in rounds, every item's neighbors (those that have it as theirs
    included) are compared with each other, where at least one of the two is new to the
    item; ρ·K of the new and of the old ones are sampled.

    Two departures from the paper, which has no budget, and both help: a round reads no
    more than one pair per item, and of its pairs those first whose smaller similarity
    to the neighbor that they share is largest. If nothing is left to compare, the
    prior's top is read on.

    References
    ----------
    Dong, Moses and Li, Efficient k-nearest neighbor graph construction for generic
    similarity measures, WWW 2011.
    """
    reader = Reader(data, evaluations)
    fitted = calibrate(reader, rng)
    rerank(reader, round(SEED * reader.left), rng)
    compared = np.empty(0, dtype=np.int64)  # directed edges whose joins are all read
    while reader.left:
        edges = _edges(reader)
        new = ~np.isin(edges, compared, assume_unique=True)
        fresh = _sampled(edges[new], data.n, rng)
        keys = _promising(reader, fresh, _sampled(edges[~new], data.n, rng))
        if not len(keys):
            break
        most = min(reader.left, int(ROUND * data.n))
        reader.read(keys[:most])
        if len(keys) <= most:
            item = np.repeat(np.arange(data.n), fresh.shape[1])
            used = (item * data.n + fresh.ravel())[fresh.ravel() >= 0]
            compared = np.union1d(compared, used)
    rerank(reader, reader.left, rng)
    return FromReads(reader, fitted.pairs)


def _edges(reader: Reader) -> Array:
    """Return the graph's edges and their reverses as ``item·n + neighbor``, sorted."""
    n = reader.data.n
    start, other, _ = reader.partners()
    best = first_of_each(start, other, DEGREE)
    item, place = np.nonzero(best >= 0)
    neighbor = best[item, place]
    return np.union1d(item * n + neighbor, neighbor * n + item)


def _sampled(edges: Array, n: int, rng: np.random.Generator) -> Array:
    """Return up to ``SAMPLED`` random neighbors of every item, −1 for none."""
    edges = rng.permutation(edges)
    edges = edges[np.argsort(edges // n, kind="stable")]
    start = np.searchsorted(edges // n, np.arange(n + 1))
    return first_of_each(start, edges % n, SAMPLED)


def _promising(reader: Reader, new: Array, old: Array) -> Array:
    """Return unread pairs of new neighbors with new and old ones, best first."""
    a, b = np.triu_indices(new.shape[1], 1)
    c, d = np.divmod(np.arange(new.shape[1] * old.shape[1]), old.shape[1])
    to_new, to_old = _similarities(reader, new), _similarities(reader, old)
    i = np.concatenate([new[:, a].ravel(), new[:, c].ravel()])
    j = np.concatenate([new[:, b].ravel(), old[:, d].ravel()])
    both = np.minimum(to_new[:, a], to_new[:, b]).ravel()
    mixed = np.minimum(to_new[:, c], to_old[:, d]).ravel()
    promise = np.concatenate([both, mixed])
    there = np.flatnonzero((i >= 0) & (j >= 0))
    order = there[np.argsort(-promise[there], kind="stable")]
    return reader.unread(i[order], j[order])


def _similarities(reader: Reader, neighbors: Array) -> Array:
    item = np.repeat(np.arange(len(neighbors)), neighbors.shape[1])
    _, values = reader.look_up(item, np.maximum(neighbors.ravel(), 0))
    return values.reshape(neighbors.shape)
