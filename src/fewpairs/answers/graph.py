"""The graph of nearest neighbors as sparse distances: what other libraries take."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from fewpairs.answers.across import refuse_two_sets
from fewpairs.answers.candidates import candidates_of, chunks, is_large
from fewpairs.answers.neighbors import neighbors
from fewpairs.checks import check_flag, check_number
from fewpairs.errors import InputError
from fewpairs.progress import Progress
from fewpairs.result.approximation import Approximation
from fewpairs.types import Indices

__all__ = ["neighbor_graph"]

_BLOCK = 1 << 22  # entries looked at at once
_ASKED = 200_000  # items, about, that look for an outsider of their component
_EACH = 8  # items per component, at most
_PROPOSED, _RANDOM = 128, 32  # partners that each of them looks at

_Edges = tuple[Indices, Indices, NDArray[Any]]


def neighbor_graph(
    approx: Approximation,
    k: int,
    *,
    top: float | None,
    connected: bool,
    progress: bool | Progress,
) -> sparse.csr_matrix:
    """Return the graph; see ``Approximation.graph``."""
    call = "Approximation.graph"
    refuse_two_sets(approx, call)
    n = approx.shape[0]
    check_number(call, "top", top, none=True)
    connected = check_flag(call, "connected", connected)
    found = neighbors(approx, k, progress=progress)
    i = np.repeat(np.arange(n), found.indices.shape[1])
    j, similarity = found.indices.ravel().astype(np.int64), found.similarities.ravel()
    if connected:
        more = _bridges(approx, i, j)
        i, j, similarity = (
            np.concatenate([a, b])
            for a, b in zip((i, j, similarity), more, strict=True)
        )
    reached = float(similarity.max())
    diagonal = approx.known.diagonal
    if top is None:
        top = max(1.0 if diagonal is None else diagonal, reached)
    if top < reached:
        msg = (
            f"{call}: top is {top:g}, and two items have a similarity of {reached:g}: "
            "their distance would be negative. Pass a larger top, or None."
        )
        raise InputError(msg)
    return _symmetric(n, i, j, np.float64(top) - similarity)


def _symmetric(
    n: int, i: Indices, j: Indices, distance: NDArray[Any]
) -> sparse.csr_matrix:
    """Return both directions of every edge, the shorter one, and an explicit diagonal.

    An edge of length 0 would be taken for none; it gets the least length there is.
    """
    least = np.finfo(np.float64).tiny
    own = np.arange(n)
    a, b = np.concatenate([i, j]), np.concatenate([j, i])
    length = np.maximum(np.concatenate([distance, distance]), least)
    order = np.lexsort((length, b, a))
    a, b, length = a[order], b[order], length[order]
    first = np.append(True, (np.diff(a) != 0) | (np.diff(b) != 0))
    a, b = np.concatenate([a[first], own]), np.concatenate([b[first], own])
    length = np.concatenate([length[first], np.zeros(n)])
    order = np.lexsort((length, a))  # nearest first in every row, itself before all
    starts = np.concatenate([[0], np.cumsum(np.bincount(a, minlength=n))])
    return sparse.csr_matrix((length[order], b[order], starts), shape=(n, n))


def _bridges(
    approx: Approximation, i: Indices, j: Indices
) -> tuple[Indices, Indices, NDArray[Any]]:
    """Return the edges that join the components, each by its most similar pair.

    As Borůvka's trees grow: every component but the largest looks for its most similar
    outsider, until there is one component.
    """
    n = approx.shape[0]
    found: list[tuple[int, int, float]] = []
    while True:
        a = np.concatenate([i, np.array([e[0] for e in found], dtype=np.int64)])
        b = np.concatenate([j, np.array([e[1] for e in found], dtype=np.int64)])
        edges = sparse.coo_array((np.ones(len(a)), (a, b)), shape=(n, n))
        number, labels = csgraph.connected_components(edges, directed=False)
        if number == 1:
            break
        largest = int(np.bincount(labels).argmax())
        found += _best_outsiders(approx, labels, np.flatnonzero(labels != largest))
    ends = np.array([e[:2] for e in found], dtype=np.int64).reshape(-1, 2)
    return ends[:, 0], ends[:, 1], np.array([e[2] for e in found])


def _best_outsiders(
    approx: Approximation, labels: NDArray[Any], items: Indices
) -> list[tuple[int, int, float]]:
    """Return every component's most similar pair with an outsider."""
    looked = _by_index if is_large(len(labels)) else _by_blocks
    best: dict[int, tuple[int, int, float]] = {}
    for rows, columns, values in looked(approx, labels, items):
        for row, column, value in zip(rows, columns, values, strict=True):
            label = int(labels[row])
            if label not in best or value > best[label][2]:
                best[label] = (int(row), int(column), float(value))
    return list(best.values())


def _by_blocks(
    approx: Approximation, labels: NDArray[Any], items: Indices
) -> Iterator[_Edges]:
    step = max(1, _BLOCK // len(labels))
    for start in range(0, len(items), step):
        rows = items[start : start + step]
        block = approx.block(rows, slice(None))
        block[labels[rows][:, None] == labels[None, :]] = -np.inf
        columns = block.argmax(axis=1)
        yield rows, columns, block[np.arange(len(rows)), columns]


def _by_index(
    approx: Approximation, labels: NDArray[Any], items: Indices
) -> Iterator[_Edges]:
    """Look at candidates and at a random few, of some items of every component.

    The candidates of an item may all be of its component; of the random ones, which
    spread over all components, some are not.
    """
    rng = np.random.default_rng(0)
    n = len(labels)
    items = items[np.argsort(labels[items], kind="stable")]
    own = labels[items]
    number = len(np.unique(own))
    each = int(np.clip(_ASKED // number, 1, _EACH))
    items = items[np.arange(len(items)) - np.searchsorted(own, own) < each]
    proposing = candidates_of(approx)
    first = np.unique(labels, return_index=True)[1]  # one of every component, some
    for part in chunks(len(items), 2 * _PROPOSED):
        rows = items[part]
        spread = np.hstack(
            [
                rng.integers(n, size=(len(rows), _RANDOM)),
                first[rng.integers(len(first), size=(len(rows), _RANDOM))],
            ]
        )
        partners = np.hstack([proposing.of(rows, _PROPOSED), spread])
        outside = (partners >= 0) & (labels[partners] != labels[rows][:, None])
        at, place = np.nonzero(outside)
        columns = partners[at, place]
        yield rows[at], columns, approx.pairs(rows[at], columns)
