"""Tiles: all pairs of items, each once, lower positions first."""

from collections.abc import Iterator
from math import isqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewpairs.matrix.entries import Entries
from fewpairs.types import Indices

__all__ = ["KnownBands", "Tile", "TileGrid", "count_excluded"]

# A triangle of this size is read as single pairs; a larger one is cut into a square
# and two smaller triangles, so that scorers see whole blocks.
_TRIANGLE = 64


class Tile(NamedTuple):
    """All pairs of two ranges of items; of one range with itself, those with i < j."""

    top: int
    bottom: int
    left: int
    right: int

    @property
    def triangle(self) -> bool:
        """Whether it is one range with itself."""
        return self.top == self.left

    @property
    def pairs(self) -> int:
        """How many pairs it has."""
        height = self.bottom - self.top
        if self.triangle:
            return height * (height - 1) // 2
        return height * (self.right - self.left)

    @property
    def rows(self) -> Indices:
        """Items of the rows."""
        return np.arange(self.top, self.bottom)

    @property
    def columns(self) -> Indices:
        """Items of the columns."""
        return np.arange(self.left, self.right)


def count_excluded(tile: Tile, values: NDArray[Any]) -> int:
    """Return how many pairs of a tile were not read, being out of reach: −∞.

    >>> count_excluded(Tile(0, 1, 1, 3), np.array([[0.5, -np.inf]]))
    1
    """
    no_pairs = len(values) * (len(values) + 1) // 2 if tile.triangle else 0
    return int(np.isneginf(values).sum()) - no_pairs


class TileGrid:
    """The pairs i < j of n items, in tiles of at most ``chunk`` pairs.

    Tiles come band by band, from the left to the right. So every item meets the others
    in the order of their positions, and a list of its best that prefers what comes
    first prefers lower positions.

    Parameters
    ----------
    n
        Number of items.
    chunk
        Pairs of a tile, at most.
    split
        Of two sets, the position of the first right item: tiles are then of left items
        with right ones.

    Examples
    --------
    >>> from fewpairs.matrix.tiles import TileGrid
    >>> grid = TileGrid(5, 4)
    >>> [tuple(tile) for tile in grid][:4]
    [(0, 2, 0, 2), (0, 2, 2, 4), (0, 2, 4, 5), (2, 4, 2, 4)]
    >>> sum(tile.pairs for tile in grid)
    10
    """

    def __init__(self, n: int, chunk: int, split: int | None = None) -> None:
        self.n, self.split = n, split
        # A few bands at least: a sample of tiles is then a part of them.
        self.side = max(1, min(isqrt(max(1, chunk)), max(_TRIANGLE, -(-n // 4)), n))

    def __iter__(self) -> Iterator[Tile]:
        """Return all tiles that have a pair."""
        if self.split is not None:
            for top in range(0, self.split, self.side):
                yield from self._across(top, self.split)
            return
        for top in range(0, self.n, self.side):
            bottom = min(top + self.side, self.n)
            yield from _triangle(top, bottom)
            for left in range(bottom, self.n, self.side):
                yield Tile(top, bottom, left, min(left + self.side, self.n))

    def _across(self, top: int, split: int) -> Iterator[Tile]:
        """Return the tiles of a band of left items."""
        bottom = min(top + self.side, split)
        for left in range(split, self.n, self.side):
            yield Tile(top, bottom, left, min(left + self.side, self.n))

    def crossing(self, top: int) -> list[Tile]:
        """Return the tiles of the band from ``top`` on that lie along the diagonal.

        Two sets have none.
        """
        if self.split is not None:
            return []
        return list(_triangle(top, min(top + self.side, self.n)))

    def sample(self, size: int, rng: np.random.Generator) -> list[Tile]:
        """Draw distinct whole squares; fewer where there are fewer.

        Of two sets, any tiles, the largest of them last.
        """
        if self.split is not None:
            every = list(self)
            chosen = rng.permutation(len(every))[:size]
            return sorted((every[t] for t in chosen), key=lambda tile: tile.pairs)
        whole = self.n // self.side
        size = min(size, whole * (whole - 1) // 2)
        found: dict[tuple[int, int], Tile] = {}
        while len(found) < size:
            a, b = sorted(int(t) * self.side for t in rng.integers(whole, size=2))
            if a < b:
                found[a, b] = Tile(a, a + self.side, b, b + self.side)
        return list(found.values())


class KnownBands:
    """Which tiles hold entries that are known, so that the others are not looked at."""

    def __init__(self, known: Entries, side: int) -> None:
        n = known.n
        self._side = side
        self._lines: NDArray[np.bool_] = np.zeros(-(-n // side), dtype=bool)
        blocks = [*known.columns, *known.rows]
        for lines in [*blocks, *known.partial["columns"], *known.partial["rows"]]:
            self._lines[lines.indices // side] = True
        i, j = known.ends(known.scattered()[0])
        self._pairs = set(zip((i // side).tolist(), (j // side).tolist(), strict=True))

    def meet(self, tile: Tile) -> bool:
        """Tell whether anything in a tile may be known."""
        row, column = tile.top // self._side, tile.left // self._side
        return bool(
            self._lines[row] or self._lines[column] or (row, column) in self._pairs
        )


def _triangle(start: int, stop: int) -> Iterator[Tile]:
    size = stop - start
    if size < 2:
        return
    if size <= _TRIANGLE:
        yield Tile(start, stop, start, stop)
        return
    half = start + size // 2
    yield from _triangle(start, half)
    yield Tile(start, half, half, stop)
    yield from _triangle(half, stop)
