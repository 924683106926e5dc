"""TileReader: tiles of all pairs, evaluated one after the other and handed over."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from fewpairs.execution.calling import Task
from fewpairs.matrix.cost import Cost
from fewpairs.matrix.grid import Piece
from fewpairs.matrix.tiles import KnownBands, Tile, TileGrid
from fewpairs.reading.account import Account
from fewpairs.reading.evaluator import Evaluator
from fewpairs.reading.run_entries import RunEntries
from fewpairs.types import Indices

__all__ = ["Proof", "TileReader"]

_FEW = 0.5  # share of a tile that may reach what is wanted, and is read by itself
_SMALL = 64  # rows of a tile that is read as single pairs, if anything is known


class Proof(Protocol):
    """Says which pairs cannot be as similar as is wanted, as a scorer can."""

    def may_reach(
        self, rows: Indices, columns: Indices, least: float
    ) -> NDArray[np.bool_]:
        """Tell which pairs of a block may reach ``least``."""
        ...


class TileReader:
    """Reads tiles of a symmetric matrix for an oracle; see ``Oracle.stream``.

    Parameters
    ----------
    cost, entries, account, evaluator, dtype
        As the oracle's.
    proof
        Its ``may_reach`` says which pairs need not be read; ``None``: all are.
    """

    def __init__(
        self,
        cost: Cost,
        entries: RunEntries,
        account: Account,
        evaluator: Evaluator,
        dtype: np.dtype[Any],
        *,
        proof: Proof | None = None,
    ) -> None:
        self.proof = proof
        self.grid = TileGrid(cost.n, evaluator.chunk, cost.split)
        self._calls = cost.calls
        self._entries, self._account = entries, account
        self._evaluator, self._dtype = evaluator, dtype

    def stream(
        self,
        tiles: Iterable[Tile],
        take: Callable[[Tile, NDArray[Any]], None],
        least: float | None,
        ready: Mapping[Tile, NDArray[Any]],
    ) -> BaseException | None:
        """Hand over every tile in turn; return what went wrong."""
        bands = KnownBands(self._entries.known, self.grid.side)
        waiting = deque[_Part]()
        # The average of two values may reach what one of them does not.
        level = least if self._calls == 1 else None

        def tasks() -> Iterator[Task | None]:
            for tile in tiles:
                if tile in ready:
                    waiting.append(_Part(tile, ready[tile], None, True))
                    yield None
                    continue
                for part, task in self._parts(tile, bands, level):
                    waiting.append(part)
                    yield task

        def put(_: int, found: NDArray[Any] | None) -> None:
            tile, values, at, last = waiting.popleft()
            if values is None:
                values = np.asarray(found)
            elif at is not None:
                values[at] = found
            if last:
                take(tile, values)

        return self._evaluator.stream(tasks(), put)

    def _parts(
        self, tile: Tile, bands: KnownBands, least: float | None
    ) -> Iterator[tuple["_Part", Task | None]]:
        """Return what is to be evaluated of a tile, in one call or several."""
        rows, columns = tile.rows, tile.columns
        both, known = self._calls == 2, bands.meet(tile)
        possible = self._possible(tile, least)
        if not tile.triangle and not known and possible is None:
            self._account.charged += tile.pairs * self._calls
            self._account.afford(tile.pairs * self._calls)
            task = Task(rows, columns, True, both, least)
            yield _Part(tile, None, None, True), task
            return
        values = np.full((len(rows), len(columns)), np.nan, dtype=self._dtype)
        if known:
            self._entries.known.overlay(values, rows, columns)
        if tile.triangle:
            values[np.tril_indices(len(values))] = -np.inf
        missing = np.isnan(values)
        excluded = 0
        if possible is not None:
            proven = missing & ~possible
            values[proven], missing[proven] = -np.inf, False
            excluded = int(proven.sum())
        self._account.charged += (tile.pairs - excluded) * self._calls
        self._account.afford(int(missing.sum()) * self._calls)
        pieces = list(_pieces(missing, blocks=self._evaluator.blocks))
        if not pieces:
            yield _Part(tile, values, None, True), None
        for number, (r, c, block) in enumerate(pieces, start=1):
            at = np.ix_(r, c) if block else (r, c)
            task = Task(rows[r], columns[c], block, both, least if block else None)
            yield _Part(tile, values, at, number == len(pieces)), task

    def _possible(self, tile: Tile, least: float | None) -> NDArray[np.bool_] | None:
        """Return the pairs that may reach ``least``; ``None``: too many, read all."""
        if self.proof is None or least is None:
            return None
        possible = self.proof.may_reach(tile.rows, tile.columns, least)
        return None if possible.mean() > _FEW else possible


class _Part(NamedTuple):
    """A call: where its values go, and whether it is the last one of a tile."""

    tile: Tile
    values: NDArray[Any] | None
    at: Any
    last: bool


def _pieces(missing: NDArray[np.bool_], *, blocks: bool) -> Iterator[Piece]:
    """Cut what is missing into two blocks, as large as may be, and single pairs.

    Lines that are known as a whole are left out; then all columns of the rows of which
    nothing is known, and all other rows of the columns of which nothing is known.
    """
    rows = np.flatnonzero(missing.any(axis=1))
    columns = np.flatnonzero(missing.any(axis=0))
    if blocks and missing.shape[0] > _SMALL:
        blank = missing[np.ix_(rows, columns)].all(axis=1)
        if blank.any():
            yield Piece(rows[blank], columns, block=True)
        rows = rows[~blank]
        blank = missing[np.ix_(rows, columns)].all(axis=0) & bool(len(rows))
        if blank.any():
            yield Piece(rows, columns[blank], block=True)
        columns = columns[~blank]
    i, j = np.nonzero(missing[np.ix_(rows, columns)])
    if len(i):
        yield Piece(rows[i], columns[j], block=False)
