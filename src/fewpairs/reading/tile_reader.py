"""TileReader: tiles of all pairs, evaluated one after the other and handed over."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.execution.calling import Task
from fewpairs.matrix.cost import Cost
from fewpairs.matrix.tiles import KnownBands, Tile, TileGrid
from fewpairs.reading.account import Account
from fewpairs.reading.evaluator import Evaluator
from fewpairs.reading.run_entries import RunEntries

__all__ = ["TileReader"]


class TileReader:
    """Reads tiles of a symmetric matrix for an oracle; see ``Oracle.stream``."""

    def __init__(
        self,
        cost: Cost,
        entries: RunEntries,
        account: Account,
        evaluator: Evaluator,
        dtype: np.dtype[Any],
    ) -> None:
        self.grid = TileGrid(cost.n, evaluator.chunk)
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
        waiting = deque[tuple[Tile, NDArray[Any] | None]]()
        # The average of two values may reach what one of them does not.
        level = least if self._calls == 1 else None

        def tasks() -> Iterator[Task | None]:
            for tile in tiles:
                task, values = None, ready.get(tile)
                if values is None:
                    task, values = self._task(tile, bands, level)
                waiting.append((tile, values))
                yield task

        def put(_: int, found: NDArray[Any] | None) -> None:
            tile, values = waiting.popleft()
            if values is None:
                values = np.asarray(found)
            elif found is not None:
                values[np.isnan(values)] = found
            take(tile, values)

        return self._evaluator.stream(tasks(), put)

    def _task(
        self, tile: Tile, bands: KnownBands, least: float | None
    ) -> tuple[Task | None, NDArray[Any] | None]:
        """Return what is to be evaluated of a tile, and where what is known stands.

        NaN marks what is missing there; ``None`` where nothing is known.
        """
        rows, columns = tile.rows, tile.columns
        both, known = self._calls == 2, bands.meet(tile)
        self._account.charged += tile.pairs * self._calls
        if not tile.triangle and not known:
            self._account.afford(tile.pairs * self._calls)
            return Task(rows, columns, True, both, least), None
        values = np.full((len(rows), len(columns)), np.nan, dtype=self._dtype)
        if known:
            self._entries.known.overlay(values, rows, columns)
        if tile.triangle:
            values[np.tril_indices(len(values))] = -np.inf
        i, j = np.nonzero(np.isnan(values))
        self._account.afford(len(i) * self._calls)
        if not len(i):
            return None, values
        return Task(rows[i], columns[j], False, both), values
