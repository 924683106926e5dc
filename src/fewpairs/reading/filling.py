"""Filling: requests cut into chunks, evaluated, and kept in a ledger one by one."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.kernels.linalg import scratch
from fewpairs.ledger.entry_store import LineWriter
from fewpairs.ledger.ledger import Ledger
from fewpairs.matrix.entries import Entries
from fewpairs.matrix.grid import (
    Chunks,
    Piece,
    block_pieces,
    line_pieces,
    pair_pieces,
    principal_pieces,
)
from fewpairs.matrix.lines import Axis
from fewpairs.reading.evaluator import Evaluator
from fewpairs.types import Indices

__all__ = ["Filler"]


class Filler:
    """Fills in arrays whose missing entries are NaN; every whole chunk is kept.

    All methods return ``None`` or an error, and leave NaN where nothing was evaluated.
    ``unread`` is what a run has not read: the grid follows from it. What is NaN may be
    less, where the ledger knows more: only that is paid for.
    """

    def __init__(
        self, evaluator: Evaluator, ledger: Ledger, *, symmetric: bool
    ) -> None:
        self._evaluator = evaluator
        self._evaluator.rescue = ledger.rescue
        self._ledger = ledger
        self._symmetric = symmetric
        self._blocks = evaluator.blocks

    @property
    def _chunk(self) -> int:
        return self._evaluator.chunk

    def pairs(
        self, values: NDArray[Any], i: Indices, j: Indices
    ) -> BaseException | None:
        """Fill in scattered entries."""
        return self._fill(values, i, j, list(pair_pieces(len(i), self._chunk)))

    def block(
        self,
        V: NDArray[Any],
        rows: Indices,
        columns: Indices,
        unread: NDArray[np.bool_],
    ) -> BaseException | None:
        """Fill in a block."""
        pieces = block_pieces(unread, self._chunk, blocks=self._blocks)
        return self._fill(V, rows, columns, list(pieces))

    def principal(
        self, W: NDArray[Any], indices: Indices, unread: NDArray[np.bool_]
    ) -> BaseException | None:
        """Fill in a principal block; of a symmetric one, evaluate one triangle."""
        if not self._symmetric:
            return self.block(W, indices, indices, unread)
        pieces = principal_pieces(unread, self._chunk, blocks=self._blocks)
        error = self._fill(W, indices, indices, list(pieces))
        lower = np.tril_indices(len(indices), -1)
        W[lower] = W.T[lower]
        return error

    def lines(
        self,
        writer: LineWriter,
        chunks: Chunks,
        indices: Indices,
        axis: Axis,
        *,
        read: Entries,
        known: Entries,
    ) -> BaseException | None:
        """Fill in whole lines: where they cross each other, then everything else.

        ``read`` is what the run has read, and ``known`` what the ledger knows.
        """
        out = writer.values
        W = np.empty((0, 0))
        error = None
        if self._symmetric and read.sides is None:
            W, mine = np.full((2, len(indices), len(indices)), np.nan)
            known.overlay(W, indices, indices)
            read.overlay(mine, indices, indices)
            error = self.principal(W, indices, np.isnan(mine))
            out[:, indices] = W
        if error is None:
            with self._ledger.session(load=False):
                error = self._off_crossings(writer, chunks, indices, axis, read)
        if error is not None:
            a, b = np.nonzero(np.triu(np.isfinite(W)))
            known.add_pairs(indices[a], indices[b], W[a, b])
        return error

    def _off_crossings(
        self,
        writer: LineWriter,
        chunks: Chunks,
        indices: Indices,
        axis: Axis,
        read: Entries,
    ) -> BaseException | None:
        out = writer.values
        rest, *single = read.off_lines(indices, axis)
        cells = list(chunks.cells(*out.shape))
        pieces = line_pieces(cells, rest, *single, blocks=self._blocks)

        def keep(number: int, _: Piece, __: bool) -> None:
            writer.keep(chunks, *cells[number])
            scratch.drop(out)

        everything = np.arange(read.n)
        fill, blank = self._evaluator.fill, writer.blank
        if axis == "columns":
            return fill(out.T, everything, indices, pieces, keep, blank=blank)
        turned = (Piece(p.columns, p.rows, p.block) for p in pieces)
        return fill(out, indices, everything, turned, keep, blank=blank)

    def _fill(
        self, V: NDArray[Any], rows: Indices, columns: Indices, pieces: list[Piece]
    ) -> BaseException | None:
        """Fill in scattered entries, and keep them chunk by chunk."""
        if not self._ledger.durable or not pieces:
            return self._evaluator.fill(V, rows, columns, pieces)
        ends = [_ends(piece, rows, columns) for piece in pieces]
        longest = max(len(i) for i, _ in ends)
        i, j = (np.concatenate(side) for side in zip(*ends, strict=True))
        batch = self._ledger.batch(i, j, longest, len(pieces))

        def keep(number: int, piece: Piece, paid: bool) -> None:
            if paid:  # what was known before is somewhere else in the ledger
                batch.keep(number, *ends[number], _values(V, piece))

        with self._ledger.session(load=False):
            return self._evaluator.fill(V, rows, columns, pieces, keep)


def _values(V: NDArray[Any], piece: Piece) -> NDArray[Any]:
    if V.ndim == 1:
        return np.asarray(V[piece.rows])
    if piece.block:
        return np.asarray(V[np.ix_(piece.rows, piece.columns)].ravel())
    return np.asarray(V[piece.rows, piece.columns])


def _ends(piece: Piece, rows: Indices, columns: Indices) -> tuple[Indices, Indices]:
    """Return the items of every entry of a piece."""
    i, j = rows[piece.rows], columns[piece.columns]
    if piece.block:
        return np.repeat(i, len(j)), np.tile(j, len(i))
    return i, j
