"""Laying: what is known of a matrix, written into arrays."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.matrix.lines import Axis, lay
from fewpairs.types import Indices

if TYPE_CHECKING:
    from fewpairs.matrix.entries import Entries

__all__ = ["fill_lines", "hide", "missing_in_lines", "overlay"]


def overlay(
    entries: "Entries", out: NDArray[Any], rows: Indices, columns: Indices
) -> None:
    """Write every known entry of the block ``rows`` × ``columns`` into ``out``."""
    table, values = entries.scattered_table()
    if table.nnz:
        part = table[rows][:, columns].tocoo()
        # The table holds positions counted from 1, so that a 0 stays an entry.
        out[part.row, part.col] = values[part.data - 1]
    _overlay_holes(entries, out, rows, columns)
    for lines in entries.columns:
        position = lines.position[columns]
        hit = np.flatnonzero(position >= 0)
        if hit.size:
            out[:, hit] = lines.values[np.ix_(position[hit], rows)].T
    for lines in entries.columns if entries.symmetric else entries.rows:
        position = lines.position[rows]
        hit = np.flatnonzero(position >= 0)
        if hit.size:
            out[hit] = lines.values[np.ix_(position[hit], columns)]
    if entries.diagonal is not None:
        out[rows[:, None] == columns[None, :]] = entries.diagonal
    if entries.sides is not None:
        entries.sides.blank_block(out, rows, columns)


def _overlay_holes(
    entries: "Entries", out: NDArray[Any], rows: Indices, columns: Indices
) -> None:
    down, across = entries.partial["columns"], entries.partial["rows"]
    for lines in down:
        lay(out, lines, columns, rows)
    for lines in down if entries.symmetric else across:
        lay(out.T, lines, rows, columns)


def hide(entries: "Entries", out: NDArray[Any], rows: Indices, first: int = 0) -> None:
    """Write −∞ into whole rows wherever an entry is known, and where is no pair.

    No pairs are the diagonal and, of two sets, whatever is within a side. ``first`` is
    the item that the first column of ``out`` stands for.
    """
    table, _ = entries.scattered_table()
    if table.nnz:
        part = table[rows].tocoo()
        there = part.col >= first
        out[part.row[there], part.col[there] - first] = -np.inf
    for lines in entries.columns:
        out[:, lines.indices[lines.indices >= first] - first] = -np.inf
    for lines in entries.columns if entries.symmetric else entries.rows:
        out[lines.position[rows] >= 0] = -np.inf
    own = np.flatnonzero(rows >= first)
    out[own, rows[own] - first] = -np.inf
    if entries.earlier is not None and entries.sides is not None:
        old = entries.is_old(first + np.arange(out.shape[1]))
        out[np.ix_(entries.is_old(rows), old)] = -np.inf
    elif first == 0:  # of one set that has grown
        out[rows < entries.old, : entries.old] = -np.inf
    if entries.sides is not None and first == 0:
        entries.sides.blank(out, rows, -np.inf)


def fill_lines(
    entries: "Entries", out: NDArray[Any], indices: Indices, axis: Axis
) -> None:
    """Write what is known of these lines into ``out``, of shape (k, n)."""
    across: Axis = "rows" if axis == "columns" else "columns"
    crossing = entries.line_indices(across)
    if len(crossing):
        out[:, crossing] = entries.lines(crossing, across)[:, indices].T
    line, where, values = entries.scattered_in_lines(indices, axis)
    out[line, where] = values
    if entries.partial["columns"] or entries.partial["rows"]:
        view = out.T if axis == "columns" else out
        everything = np.arange(entries.n)
        ends = (everything, indices) if axis == "columns" else (indices, everything)
        _overlay_holes(entries, view, *ends)
    if entries.diagonal is not None:
        out[np.arange(len(indices)), indices] = entries.diagonal
    if entries.sides is not None:
        entries.sides.blank(out, indices)


def missing_in_lines(
    entries: "Entries", indices: Indices, axis: Axis
) -> tuple[int, int]:
    """Return how many entries of these lines are unknown, and of the diagonal."""
    rest, line, where = entries.off_lines(indices, axis)
    missing = int(rest.sum()) * len(indices) - len(line)
    if entries.symmetric:
        W = np.full((len(indices), len(indices)), np.nan)
        overlay(entries, W, indices, indices)
        own = np.isnan(np.triu(W))
        on_diagonal = int(np.diagonal(own).sum())
        return missing + int(own.sum()) - on_diagonal, on_diagonal
    on_diagonal = int(rest[indices].sum())
    on_diagonal -= int((where == indices[line]).sum())
    return missing - on_diagonal, on_diagonal
