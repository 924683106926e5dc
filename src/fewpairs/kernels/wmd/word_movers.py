"""Word mover's distances of whole blocks and of pairs, in native code on all cores.

A block is cut into tiles: a few documents of its shorter side (anchors) against all,
or many, of the longer side. A tile is one BLAS product of word vectors and one call
into code that runs without Python's lock, so tiles run side by side.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewpairs.kernels.linalg.blas_threads import single_threaded, spread
from fewpairs.kernels.wmd import documents
from fewpairs.kernels.wmd.bags import Bags, Corpus, select

__all__ = ["block_distances", "pair_distances", "prepare"]

Indices = NDArray[np.int64]

_PRODUCTS = 1 << 20  # inner products of words that a tile aims at: 8 MB
_TASK = 1 << 14  # pairs of words below which another thread does not pay
_TASKS_A_THREAD = 6  # so that one long text does not keep the others waiting


class _Side(NamedTuple):
    """Documents of the longer side, prepared once for all anchors.

    ``words`` are the vocabulary in use, ``row_of`` their positions by word number (−1
    elsewhere), ``bags`` the documents with these positions for words.
    """

    columns: slice
    words: Indices
    row_of: NDArray[np.int32]
    vectors: NDArray[np.float64]
    bags: Bags


def prepare(tell: Callable[[str], None]) -> None:
    """Compile the native code, or load what an earlier process compiled."""
    if not documents.is_compiled():
        tell("compiling word mover's distance, once on this machine")
    masses = np.array([0.5, 0.5, 1.0])
    bags = Bags(np.array([0, 2, 3]), np.array([0, 1, 2]), masses)
    corpus = Corpus.of(np.eye(3), bags)
    first, second = np.array([0]), np.array([1])
    block_distances(corpus, first, second, threads=1, relaxed=False)
    pair_distances(corpus, first, second, threads=1)


def block_distances(
    corpus: Corpus, rows: Indices, columns: Indices, *, threads: int, relaxed: bool
) -> NDArray[np.float64]:
    """Return the distances of all rows to all columns; below 0 where none was found.

    With ``relaxed``, lower bounds at a tenth of the time.
    """
    if len(rows) > len(columns):
        turned = block_distances(
            corpus, columns, rows, threads=threads, relaxed=relaxed
        )
        return turned.T
    out = np.empty((len(rows), len(columns)))
    if not len(rows):
        return out

    def work(tile: tuple[slice, _Side]) -> None:
        part, side = tile
        anchors = select(corpus.bags, rows[part])
        found = np.empty((part.stop - part.start, len(side.bags.start) - 1))
        documents.tile_distances(
            corpus.vectors,
            corpus.squares,
            side.vectors @ corpus.vectors[anchors.word].T,
            side.words,
            side.row_of,
            anchors,
            side.bags,
            corpus.scale,
            relaxed,
            found,  # not a view of `out`: other strides would be compiled for anew
        )
        out[part, side.columns] = found

    with single_threaded():
        spread(work, _tiles(corpus, rows, columns, threads), threads)
    return out


def pair_distances(
    corpus: Corpus, i: Indices, j: Indices, *, threads: int, relaxed: bool = False
) -> NDArray[np.float64]:
    """Return the distances of single pairs; below 0 where none was found.

    With ``relaxed``, lower bounds.
    """
    out = np.empty(len(i))
    # Views and read-only arrays would be compiled for anew.
    i, j = (np.require(places, np.int64, ["C", "W"]) for places in (i, j))

    def work(part: slice) -> None:
        documents.pair_distances(
            corpus.vectors,
            corpus.bags,
            i[part],
            j[part],
            corpus.scale,
            relaxed,
            out[part],
        )

    lengths = np.diff(corpus.bags.start)
    sizes = lengths[i] * lengths[j]
    spread(work, _cuts(sizes, _parts(int(sizes.sum()), threads)), threads)
    return out


def _tiles(
    corpus: Corpus, rows: Indices, columns: Indices, threads: int
) -> list[tuple[slice, _Side]]:
    """Cut a block into tiles: about equal work, products of a bounded size."""
    lengths = np.diff(corpus.bags.start)
    own, others = lengths[rows], lengths[columns]
    parts = _parts(int(own.sum()) * int(others.sum()), threads)
    # A word that occurs in several parts of the columns is compared in each of them:
    # columns are cut only where rows are too few to share out.
    column_parts = -(-parts // len(rows))
    tiles = []
    for cut in _cuts(others, column_parts):
        side = _side(corpus, columns, cut)
        products = int(own.sum()) * max(1, len(side.words))
        row_parts = max(-(-parts // column_parts), products // _PRODUCTS)
        tiles += [(part, side) for part in _cuts(own, row_parts)]
    return tiles


def _side(corpus: Corpus, columns: Indices, cut: slice) -> _Side:
    bags = select(corpus.bags, columns[cut])
    row_of = np.full(len(corpus.vectors), -1, dtype=np.int32)
    row_of[bags.word] = 0
    words = np.flatnonzero(row_of == 0)
    row_of[words] = np.arange(len(words))
    renumbered = bags._replace(word=row_of[bags.word].astype(np.int64))
    return _Side(cut, words, row_of, corpus.vectors[words], renumbered)


def _parts(work: int, threads: int) -> int:
    """Return into how many parts so many pairs of words are worth cutting."""
    if threads == 1:
        return 1
    return int(min(_TASKS_A_THREAD * threads, max(1, work // _TASK)))


def _cuts(sizes: NDArray[np.int64], parts: int) -> Iterator[slice]:
    """Cut tasks of these sizes into at most so many parts of about equal size."""
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if len(ends) else 0
    at = np.searchsorted(ends, total * np.arange(1, parts) / parts) + 1
    bounds = np.unique(np.concatenate([[0], np.minimum(at, len(ends)), [len(ends)]]))
    return (slice(int(a), int(b)) for a, b in pairwise(bounds))
