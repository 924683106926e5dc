"""Pairs of documents cut into segments: one document against a list of others.

A segment is what a warp of a GPU takes at a time. Others are sorted by length, so that
a segment's problems are of one size, and segments of about one size are a batch: all of
a batch are given the same memory.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "MOST_NODES",
    "Segments",
    "WarpBatch",
    "batches",
    "cost_bytes",
    "of_block",
    "of_pairs",
    "tree_bytes",
]

Indices = NDArray[np.int64]

# Nodes (words of both documents) up to which segments are one batch.
_STEPS = np.array(
    [16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1_024, 1_536]
    + [2_048 << t for t in range(6)]
)
_WORDS = 2_048
MOST_NODES = 65_535  # are numbered in 16 bits


class Segments(NamedTuple):
    """Document ``anchor[s]`` against ``others[first[s] : first[s] + length[s]]``.

    Its distances are written from ``place[s]`` on.
    """

    anchor: NDArray[np.int32]
    others: NDArray[np.int32]
    first: Indices
    length: NDArray[np.int32]
    place: Indices


class WarpBatch(NamedTuple):
    """Segments of about one size, the longest first.

    ``nodes`` are the most words of two documents together, ``longest`` those of an
    anchor, ``cells`` the most pairs of words.
    """

    segments: Segments
    nodes: int
    longest: int
    cells: int


def of_block(
    lengths: Indices, rows: Indices, columns: Indices, most: int
) -> tuple[Segments, Indices]:
    """Cut all rows against all columns; also return the order of the columns.

    Rows are the anchors, and a segment has at most so many columns.
    """
    order = np.argsort(lengths[columns], kind="stable")
    starts = _cuts(lengths[columns[order]], np.zeros(1, dtype=np.int64), most)
    counts = np.diff(np.append(starts, len(columns)))
    segments = Segments(
        np.repeat(rows, len(starts)).astype(np.int32),
        columns[order].astype(np.int32),
        np.tile(starts, len(rows)),
        np.tile(counts, len(rows)).astype(np.int32),
        (len(columns) * np.arange(len(rows))[:, None] + starts).ravel(),
    )
    return segments, order


def of_pairs(
    lengths: Indices, i: Indices, j: Indices, most: int
) -> tuple[Segments, Indices]:
    """Cut single pairs; also return their order."""
    order = np.lexsort((lengths[j], i))
    anchors, others = i[order], j[order]
    new = np.append(True, anchors[1:] != anchors[:-1])
    starts = _cuts(lengths[others], np.flatnonzero(new), most)
    counts = np.diff(np.append(starts, len(i)))
    segments = Segments(
        anchors[starts].astype(np.int32),
        others.astype(np.int32),
        starts,
        counts.astype(np.int32),
        starts,
    )
    return segments, order


def _cuts(sizes: Indices, runs: Indices, most: int) -> Indices:
    """Cut runs of documents of these sizes; return where segments start.

    No segment has more than ``most`` documents, or many more than _WORDS words: one
    that takes long would keep all others waiting at the end.
    """
    counts = np.diff(np.append(runs, len(sizes)))
    before = np.cumsum(sizes) - sizes
    documents = np.arange(len(sizes)) - np.repeat(runs, counts)
    words = before - np.repeat(before[runs], counts)
    cut = np.zeros(len(sizes), dtype=bool)
    cut[runs] = True
    for within, size in ((documents, most), (words, _WORDS)):
        part = within // size
        cut[1:] |= part[1:] != part[:-1]
    return np.flatnonzero(cut)


def batches(lengths: Indices, segments: Segments) -> Iterator[WarpBatch]:
    """Yield the segments by size, the longest ones first."""
    if not len(segments.anchor):
        return
    own = lengths[segments.anchor]
    # Others ascend within a segment.
    its = lengths[segments.others[segments.first + segments.length - 1]]
    nodes = own + its
    step = np.searchsorted(_STEPS, nodes)
    for kind in np.unique(step)[::-1]:
        inside = np.flatnonzero(step == kind)
        inside = inside[np.argsort(-(own * its)[inside], kind="stable")]
        anchor, others, first, count, place = segments
        yield WarpBatch(
            Segments(
                anchor[inside], others, first[inside], count[inside], place[inside]
            ),
            int(nodes[inside].max()),
            int(own[inside].max()),
            int((own * its)[inside].max()),
        )


def tree_bytes(batch: WarpBatch) -> int:
    """Return what a warp needs beside costs: see ``Work`` in ``word_movers.cu``."""
    return _whole(28 * batch.nodes + 10 * batch.longest)


def cost_bytes(batch: WarpBatch) -> int:
    """Return what a warp needs for its costs."""
    return _whole(4 * batch.cells)


def _whole(size: int) -> int:
    """Round up, so that what lies behind is aligned."""
    return -(-size // 16) * 16
