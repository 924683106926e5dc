"""What is known of the values: how many, their moments, those far from the rest."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewpairs.kernels.linalg import scratch
from fewpairs.types import Indices

if TYPE_CHECKING:
    from fewpairs.matrix.entries import Entries

__all__ = ["FarEntries", "Moments", "count_moments", "far_line_entries", "pairs_known"]


class Moments(NamedTuple):
    """Number, sum and sum of squares of known off-diagonal entries, each once."""

    number: int
    total: float
    squares: float


def count_moments(entries: "Entries") -> Moments:
    """Return the moments of all known off-diagonal entries."""
    i, j, scattered = entries.uncovered()
    parts = [(scattered[i != j], 1.0), *_shared_by_lines(entries)]
    number = sum(weight * part.size for part, weight in parts)
    total = sum(weight * float(part.sum()) for part, weight in parts)
    with np.errstate(over="ignore", under="ignore"):
        squares = sum(weight * float(part @ part) for part, weight in parts)
    sides = entries.sides
    for lines in [*entries.columns, *entries.rows]:
        own = lines.values.size - len(lines.indices)
        number += own if sides is None else sides.along(lines.indices)
        total += float(lines.sums.sum())
        squares += float(lines.squares.sum())
    return Moments(round(number), total, squares)


def _shared_by_lines(entries: "Entries") -> list[tuple[NDArray[np.float64], float]]:
    """Return what a sum over all lines has too much, with weights that undo it.

    An entry where two lines cross is met twice.
    """
    parts: list[tuple[NDArray[np.float64], float]] = []
    across = entries.columns if entries.symmetric else entries.rows
    # Symmetric lines cross twice, at (p, q) and at (q, p), hence a half.
    weight = -0.5 if entries.symmetric else -1.0
    for lines in entries.columns:
        for other in across:
            crossing = lines.values[:, other.indices].astype(np.float64)
            off = lines.indices[:, None] != other.indices[None, :]
            if entries.sides is not None:
                off = ~entries.sides.within(lines.indices[:, None], other.indices)
            parts.append((crossing[off], weight))
    return parts


def pairs_known(entries: "Entries") -> int:
    """Return how many off-diagonal entries are known, at least, mirrors once.

    Of lines with holes, what lies on other lines is left out.
    """
    number = entries.moments().number
    for axis, blocks in entries.partial.items():
        for lines in blocks:
            rest, line, _ = entries.off_lines(lines.indices, axis)
            number -= len(line)
            for part in scratch.parts(entries.n, len(lines.indices)):
                found = ~np.isnan(lines.values[:, part])
                number += int(found[:, rest[part]].sum())
                scratch.drop(lines.values)
    return max(0, number)


class FarEntries(NamedTuple):
    """Entries of known lines that are far from a center: i, j and their values.

    And how many off-diagonal entries were looked at, and the sum of all their squared
    distances from the center.
    """

    i: Indices
    j: Indices
    values: NDArray[np.float64]
    looked_at: int
    squares: float


def far_line_entries(
    entries: "Entries", center: float, radius: float, most: int = 1 << 17
) -> FarEntries:
    """Return the entries of known lines that are farther than this from a center.

    Looks at a window of each line, every line's farther along than the one before,
    of about ``most`` entries together.
    """
    blocks = [*entries.columns, *entries.rows]
    lines = [values for block in blocks for values in block.values]
    if not lines:
        nothing = np.empty(0, dtype=np.int64)
        return FarEntries(nothing, nothing, np.empty(0), 0, 0.0)
    owner = np.concatenate([block.indices for block in blocks])
    width = min(entries.n, max(1, most // len(lines)))
    starts = np.arange(len(lines)) * entries.n // len(lines) % (entries.n - width + 1)
    windows = zip(lines, starts, strict=True)
    apart = np.array([v[a : a + width] for v, a in windows], dtype=np.float64)
    apart -= center
    inside = np.flatnonzero((starts <= owner) & (owner < starts + width))
    apart[inside, owner[inside] - starts[inside]] = 0.0  # the diagonal is no pair
    none = len(inside)
    if entries.sides is not None:
        along = starts[:, None] + np.arange(width)
        within = entries.sides.within(owner[:, None], along)
        apart[within], none = 0.0, int(within.sum())
    line, at = np.nonzero(np.abs(apart) > radius)
    own, along = owner[line], starts[line] + at
    is_column = line < sum(len(block.indices) for block in entries.columns)
    i, j = np.where(is_column, along, own), np.where(is_column, own, along)
    with np.errstate(over="ignore", under="ignore"):
        squares = float(np.einsum("kn,kn->", apart, apart))
    values = apart[line, at] + center
    return FarEntries(i, j, values, apart.size - none, squares)
