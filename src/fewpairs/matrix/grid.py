"""Grid: how a request is cut into chunks that are evaluated, and kept, as a whole.

The grid depends on what a run asks for and has read itself, on the scorer's chunk, and
on nothing else: not on what a ledger knows, nor on how many workers there are. So a run
that was killed, or one on a cluster, makes the same calls as any other, and comes to
the same result to the bit.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewpairs.types import Indices

__all__ = [
    "Chunks",
    "Piece",
    "block_pieces",
    "chunks_of_lines",
    "line_pieces",
    "pair_pieces",
    "principal_pieces",
]

# Below this size a triangle of the matrix is read as single pairs; above it is cut
# into a square block and two smaller triangles, so that scorers see whole blocks.
_SMALL_TRIANGLE = 48


class Piece(NamedTuple):
    """Places in an array: all rows with all columns, or element by element."""

    rows: Indices
    columns: Indices
    block: bool


def pair_pieces(count: int, chunk: int) -> Iterator[Piece]:
    """Cut a list of pairs."""
    for start in range(0, count, chunk):
        part = np.arange(start, min(start + chunk, count))
        yield Piece(part, part, block=False)


def block_pieces(
    missing: NDArray[np.bool_], chunk: int, *, blocks: bool
) -> Iterator[Piece]:
    """Cut a block: whole rows where nothing of it is known, else single pairs."""
    if not (blocks and missing.all()):
        yield from _scattered(missing, chunk)
        return
    height, width = missing.shape
    wide = max(1, min(width, chunk))
    step = max(1, chunk // wide)
    for left in range(0, width, wide):
        columns = np.arange(left, min(left + wide, width))
        for start in range(0, height, step):
            rows = np.arange(start, min(start + step, height))
            yield Piece(rows, columns, block=True)


def principal_pieces(
    missing: NDArray[np.bool_], chunk: int, *, blocks: bool
) -> Iterator[Piece]:
    """Cut the upper triangle of a symmetric block."""
    k = len(missing)
    if k <= _SMALL_TRIANGLE:
        yield from _scattered(np.triu(missing), chunk)
        return
    half = k // 2
    for piece in block_pieces(missing[:half, half:], chunk, blocks=blocks):
        yield piece._replace(columns=piece.columns + half)
    yield from principal_pieces(missing[:half, :half], chunk, blocks=blocks)
    for piece in principal_pieces(missing[half:, half:], chunk, blocks=blocks):
        yield piece._replace(rows=piece.rows + half, columns=piece.columns + half)


def line_pieces(
    cells: list[tuple[slice, slice]],
    rest: NDArray[np.bool_],
    line: Indices,
    where: Indices,
    *,
    blocks: bool,
) -> Iterator[Piece]:
    """Return what of every chunk of some lines a run has not read: entries, lines.

    A block where nothing but whole lines that cross it has been read; where single
    entries have, single pairs.

    Parameters
    ----------
    cells
        Slices of lines and of their entries.
    rest
        Entries that lie on no line that was read.
    line, where
        Those of them that were read nevertheless: which line, where on it.
    blocks
        Whether the scorer has blocks of its own.
    """
    order = np.argsort(where, kind="stable")
    line, where = line[order], where[order]
    for lines, along in cells:
        a, b = np.searchsorted(where, (along.start, along.stop))
        inside = (lines.start <= line[a:b]) & (line[a:b] < lines.stop)
        chosen = np.arange(lines.start, lines.stop)
        if blocks and not inside.any():
            entries = along.start + np.flatnonzero(rest[along])
            yield Piece(entries, chosen, block=True)
            continue
        unread = np.zeros((along.stop - along.start, len(chosen)), dtype=bool)
        unread[rest[along]] = True
        unread[where[a:b][inside] - along.start, line[a:b][inside] - lines.start] = (
            False
        )
        r, c = np.nonzero(unread)
        yield Piece(r + along.start, c + lines.start, block=False)


def _scattered(missing: NDArray[np.bool_], chunk: int) -> Iterator[Piece]:
    rows, columns = np.nonzero(missing)
    for start in range(0, len(rows), chunk):
        part = slice(start, start + chunk)
        yield Piece(rows[part], columns[part], block=False)


class Chunks(NamedTuple):
    """A regular grid over k lines of n entries: so many entries of so many lines."""

    entries: int
    lines: int

    def cells(self, k: int, n: int) -> Iterator[tuple[slice, slice]]:
        """Return every chunk as slices of lines and of entries."""
        for line in range(0, k, self.lines):
            for start in range(0, n, self.entries):
                yield (
                    slice(line, min(line + self.lines, k)),
                    slice(start, min(start + self.entries, n)),
                )

    def cell(self, lines: slice, entries: slice) -> tuple[int, int]:
        """Return which chunk this is, counted along entries and lines."""
        return entries.start // self.entries, lines.start // self.lines


def chunks_of_lines(k: int, n: int, chunk: int) -> Chunks:
    """Return a grid of about ``chunk`` entries: all lines together where they fit.

    A scorer then sees a block of many items against all landmarks, which is a matrix
    product where one landmark at a time would read every item k times.
    """
    lines = max(1, min(k, chunk))
    return Chunks(max(1, min(n, chunk // lines)), lines)
