"""Clusters: average linkage, its tree, and connected components at a threshold."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fewpairs.answers.clustering.components import Components, Linked, components
from fewpairs.errors import InputError
from fewpairs.kernels.linalg.average_linkage import (
    Corrected,
    Merges,
    chain,
    cut,
    in_order,
    tree,
)
from fewpairs.kernels.linalg.blas_threads import single_threaded
from fewpairs.progress import Progress
from fewpairs.types import Indices

__all__ = [
    "average_labels",
    "average_merges",
    "component_labels",
    "linkage_tree",
    "spectral_labels",
    "tree_labels",
]

SMALL = 4_096  # items that SciPy links on a dense matrix, ties in its order
_DENSE_LIMIT = 1 << 30  # bytes
_ROUNDING = 1e-12  # share of the largest similarity that tells nothing apart


def linkage_tree(items: Linked, call: str, progress: Progress) -> NDArray[np.float64]:
    """Return the tree of average linkage in SciPy's form, similarities falling."""
    factors = items.corrected() if items.n > SMALL else None
    if factors is None:
        return _dense_tree(items, np.arange(items.n), call)
    progress.start("joining clusters", items.n - 1)
    return tree(items.n, _chained(factors, -np.inf, progress))


def tree_labels(Z: NDArray[Any], clusters: int) -> Indices:
    """Return the clusters where a tree has so many."""
    n = len(Z) + 1
    labels = np.arange(2 * n - 1)
    for t in range(n - 1 - clusters, -1, -1):  # from the top down
        children = Z[t, :2].astype(np.int64)
        labels[children] = labels[n + t]
    return in_order(labels[:n])


def average_labels(
    items: Linked, threshold: float, call: str, progress: Progress
) -> Indices:
    """Return the clusters that average linkage has at a threshold."""
    found = components(items, threshold, call, progress)
    return cut(items.n, average_merges(items, found, threshold, call, progress))


def average_merges(
    items: Linked, found: Components, floor: float, call: str, progress: Progress
) -> Merges:
    """Return the merges of average linkage that are at or above a floor.

    An average at or above it needs a pair at or above it, so only the connected
    components ``found`` there, or lower, are linked, each by itself.
    """
    slack = _ROUNDING * max(abs(found.low), abs(found.high))
    order = np.argsort(found.labels, kind="stable")
    sizes = np.bincount(found.labels)
    progress.start("joining clusters", items.n)
    merges, factors = [Merges.none()], None
    for members in np.split(order, np.cumsum(sizes)[:-1]):
        if len(members) > SMALL and factors is None:
            factors = items.corrected()
        if len(members) > SMALL and factors is not None:
            here = _chained(factors.part(members), floor, progress)
            merges.append(_renamed(here, members))
            progress.advance(len(members) - len(here.first))
            continue
        if len(members) > 1:
            Z = _dense_tree(items, members, call)
            joined = Z[Z[:, 2] >= floor - slack]
            merges.append(_renamed(_as_merges(joined, len(members)), members))
        progress.advance(len(members))
    first, second, similarity = (
        np.concatenate([part[side] for part in merges]) for side in range(3)
    )
    return Merges(first, second, similarity)


def spectral_labels(graph: sparse.csr_matrix, clusters: int, seed: int) -> Indices:
    """Cut a connected graph of distances into so many clusters.

    An edge of distance d has the weight exp(−d / mean distance); the cut is the
    normalized one (Shi & Malik 2000), with labels by pivoted QR (Damle, Minden & Ying
    2019), which needs no starting point.
    """
    from sklearn.cluster import spectral_clustering

    n = graph.shape[0]
    if clusters in (1, n):
        return np.arange(n) // (n if clusters == 1 else 1)
    edges = graph.tocoo()
    off = edges.row != edges.col
    weights = np.exp(-edges.data[off] / max(float(edges.data[off].mean()), 1e-300))
    affinity = sparse.csr_matrix((weights, (edges.row[off], edges.col[off])), (n, n))
    labels = spectral_clustering(
        affinity, n_clusters=clusters, assign_labels="cluster_qr", random_state=seed
    )
    return in_order(labels)


def component_labels(
    items: Linked, threshold: float, call: str, progress: Progress
) -> Indices:
    """Return the connected components of the pairs at or above a threshold."""
    return in_order(components(items, threshold, call, progress).labels)


def _dense_tree(items: Linked, members: Indices, call: str) -> NDArray[np.float64]:
    """Link some of the items by SciPy."""
    from scipy.cluster import hierarchy  # takes a while to import

    m = len(members)
    if 8 * m * m > _DENSE_LIMIT:
        msg = (
            f"{call}: {m:,} items would have to be linked as a dense matrix of "
            f"{8 * m * m / 2**30:.1f} GiB. Pass of='factors', or a higher threshold."
        )
        raise InputError(msg)
    D = items.block(members, members)
    Z = hierarchy.linkage(-D[np.triu_indices(m, 1)].astype(np.float64), "average")
    Z[:, 2] *= -1
    return np.asarray(Z)


def _chained(items: Corrected, floor: float, progress: Progress) -> Merges:
    """Follow the chain on one BLAS thread.

    Its products are short and many: threads that wait for each other halve the time on
    idle cores, and multiply it where other programs use them too.
    """
    with single_threaded():
        return chain(items, floor=floor, tell=progress.advance)


def _as_merges(Z: NDArray[Any], n: int) -> Merges:
    """Return merges between items: any item stands for its cluster."""
    member = np.arange(n + len(Z))
    pairs = np.empty((len(Z), 2), dtype=np.int64)
    for t, children in enumerate(Z[:, :2].astype(np.int64)):
        pairs[t] = member[children]
        member[n + t] = member[children[1]]
    return Merges(pairs[:, 0], pairs[:, 1], Z[:, 2])


def _renamed(merges: Merges, names: Indices) -> Merges:
    return Merges(names[merges.first], names[merges.second], merges.similarity)
