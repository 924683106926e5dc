"""EntryStore: lines and pairs in a chunk_store, chunk by chunk."""

from collections.abc import Callable
from dataclasses import dataclass, field
from tempfile import gettempdir
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.errors import StoreError
from fewpairs.kernels.linalg import scratch
from fewpairs.ledger.chunk_store import Cell, ChunkStore, name_of
from fewpairs.matrix.entries import Entries
from fewpairs.matrix.grid import Chunks, chunks_of_lines
from fewpairs.matrix.lines import Axis
from fewpairs.types import Indices

__all__ = ["BatchWriter", "EntryStore", "LineWriter"]

_AXES: tuple[Axis, Axis] = ("columns", "rows")
_STORED = 1 << 18  # entries per chunk, where nothing else says how many


def _nothing() -> None:
    """Be told, and do nothing."""


@dataclass(frozen=True)
class LineWriter:
    """Lines that are being filled in.

    Attributes
    ----------
    values
        (k, n) array, NaN where an entry is missing.
    blank
        Whether it is anything where an entry is missing: all chunks are to be written.
    written
        Chunks that are on disk.
    whole
        Chunks that are whole, on disk or not.
    """

    values: NDArray[Any]
    write: Callable[[Cell, NDArray[Any]], None] | None = None
    written: set[Cell] = field(default_factory=set)
    whole: set[Cell] = field(default_factory=set)
    blank: bool = False
    told: Callable[[], None] = _nothing
    close: Callable[[], None] = _nothing

    @classmethod
    def in_memory(
        cls, shape: tuple[int, int], dtype: np.dtype[Any], *, blank: bool
    ) -> "LineWriter":
        """Return where lines are filled in that are kept in memory alone."""
        values = np.empty(shape, dtype=dtype)
        if not blank:
            values.fill(np.nan)
        return cls(values, blank=blank)

    def keep(self, chunks: Chunks, lines: slice, entries: slice) -> None:
        """Keep a chunk that is whole."""
        cell = chunks.cell(lines, entries)
        self.whole.add(cell)
        if self.write is not None and cell not in self.written:
            self.write(cell, self.values[lines, entries].T)
            self.written.add(cell)
            self.told()

    def void(self, chunks: Chunks) -> None:
        """Put NaN where nothing is whole, after an error.

        What was evaluated of a chunk that failed is among the pairs.
        """
        if self.blank:
            for lines, entries in chunks.cells(*self.values.shape):
                if chunks.cell(lines, entries) not in self.whole:
                    self.values[lines, entries] = np.nan
                    scratch.drop(self.values)


@dataclass(frozen=True)
class BatchWriter:
    """Scattered pairs that are being evaluated, in chunks."""

    write: Callable[[int, Indices, Indices, NDArray[Any]], None] | None = None
    written: set[int] = field(default_factory=set)
    told: Callable[[], None] = _nothing

    def keep(self, number: int, i: Indices, j: Indices, values: NDArray[Any]) -> None:
        """Keep a chunk that is whole."""
        if self.write is not None and number not in self.written:
            self.write(number, i, j, values)
            self.written.add(number)
            self.told()


class EntryStore:
    """The arrays of a chunk_store as lines and pairs of a matrix.

    Parameters
    ----------
    chunk_store
        Where chunks are.
    memory
        Bytes that an array may take in memory; larger ones stay on disk.
    """

    def __init__(self, chunk_store: ChunkStore, memory: int) -> None:
        self._chunk_store = chunk_store
        self._memory = memory
        # Chunks that are in the chunk_store and in memory, by array.
        self._seen: dict[str, set[Cell]] = {}
        # Lines with holes, by array: they are gone on with.
        self._open: dict[str, NDArray[Any]] = {}

    # --- reading -----------------------------------------------------------------

    def load(self, entries: Entries) -> None:
        """Add what the chunk_store has and ``entries`` has not."""
        for axis in _AXES:
            for name in self._chunk_store.names(axis):
                self._load_lines(entries, axis, f"{axis}/{name}")
        for name in self._chunk_store.names("pairs"):
            path = f"pairs/{name}"
            fresh = sorted(self._fresh(path))
            parts = [self._chunk_store.read(path, cell) for cell in fresh]
            self._seen.setdefault(path, set()).update(fresh)
            if parts:
                keys, bits = np.concatenate(parts, axis=1)
                real = keys >= 0
                i, j = np.divmod(keys[real], entries.n)
                entries.add_pairs(i, j, bits.view(np.float64)[real])

    def _load_lines(self, entries: Entries, axis: Axis, path: str) -> None:
        fresh = self._fresh(path)
        if not fresh:
            return
        array, facts = self._chunk_store.facts_of(path)
        indices = np.array(facts["indices"], dtype=np.int64)
        chunks = Chunks(*array.chunks)
        n, k = array.shape
        values = self._open.get(path)
        if values is None:
            values = self._empty(k, n, array.dtype, blank=False)
            entries.add_partial(indices, values, axis)
            self._open[path] = values
        cells = {chunks.cell(*both): both for both in chunks.cells(k, n)}
        fresh &= cells.keys()
        for cell in sorted(fresh):
            values[cells[cell]] = self._chunk_store.read(path, cell).T
            scratch.drop(values)
        seen = self._seen.setdefault(path, set())
        seen |= fresh
        if len(seen) == len(cells):
            entries.drop_partial(indices, axis)
            entries.add_lines(indices, values, axis)
            del self._open[path]

    def repair(self) -> int:
        """Set aside every chunk that cannot be read; return how many there were."""
        damaged = 0
        for kind in (*_AXES, "pairs"):
            for name in self._chunk_store.names(kind):
                path = f"{kind}/{name}"
                for cell in self._chunk_store.cells(path):
                    try:
                        self._chunk_store.read(path, cell)
                    except StoreError:
                        self._chunk_store.set_aside(path, cell)
                        damaged += 1
        return damaged

    def _fresh(self, path: str) -> set[Cell]:
        return self._chunk_store.cells(path) - self._seen.get(path, set())

    # --- writing -----------------------------------------------------------------

    def lines(
        self,
        indices: Indices,
        axis: Axis,
        n: int,
        dtype: Any,
        chunks: Chunks,
        *,
        blank: bool = False,
    ) -> LineWriter:
        """Return a writer of lines; one that was begun before is gone on with."""
        dtype = np.dtype(dtype)
        path = f"{axis}/{name_of(indices, n, dtype.str, *chunks)}"
        shape = (n, len(indices))
        values = self._open.get(path)
        blank = blank and values is None
        if values is None:
            values = self._empty(len(indices), n, dtype, blank=blank)
            self._open[path] = values

        def write(cell: Cell, part: NDArray[Any]) -> None:
            facts = {"indices": indices.tolist()}
            self._chunk_store.create(path, shape, chunks, dtype, facts)
            self._chunk_store.write(path, cell, part)

        def close() -> None:
            self._open.pop(path, None)

        seen = self._seen.setdefault(path, set())
        return LineWriter(values, write, seen, blank=blank, close=close)

    def batch(
        self, entries: Entries, i: Indices, j: Indices, chunk: int, chunks: int
    ) -> BatchWriter:
        """Return a writer of pairs, in so many chunks of at most ``chunk`` each."""
        path = f"pairs/{name_of(entries.keys(i, j), chunk, chunks)}"
        seen = self._seen.setdefault(path, set())

        def write(number: int, i: Indices, j: Indices, values: NDArray[Any]) -> None:
            self._chunk_store.create(
                path, (2, chunk * chunks), (2, chunk), np.int64, {}
            )
            part = np.full((2, chunk), -1, dtype=np.int64)
            part[0, : len(i)] = entries.keys(i, j)
            part[1, : len(i)] = np.asarray(values, dtype=np.float64).view(np.int64)
            self._chunk_store.write(path, (0, number), part)
            seen.add((0, number))

        return BatchWriter(write, {number for _, number in seen})

    def store(self, entries: Entries) -> None:
        """Write all that ``entries`` know into an empty chunk_store."""
        sides = zip(_AXES, (entries.columns, entries.rows), strict=True)
        for axis, blocks in sides:
            for block in [*blocks, *entries.partial[axis]]:
                k, n = block.values.shape
                chunks = chunks_of_lines(k, n, _STORED)
                writer = self.lines(block.indices, axis, n, block.values.dtype, chunks)
                for lines, along in chunks.cells(k, n):
                    part = block.values[lines, along]
                    writer.values[lines, along] = part
                    if not np.isnan(part).any():
                        writer.keep(chunks, lines, along)
        keys, values = entries.scattered()
        if len(keys):
            i, j = np.divmod(keys, entries.n)
            self.batch(entries, i, j, len(i), 1).keep(0, i, j, values)

    def _empty(
        self, lines: int, n: int, dtype: np.dtype[Any], *, blank: bool
    ) -> NDArray[Any]:
        if lines * n * dtype.itemsize <= self._memory:
            out = np.empty((lines, n), dtype=dtype)
        else:
            here = self._chunk_store.folder
            folder = gettempdir() if here is None else str(here)
            out = scratch.lines_on_disk(lines, n, dtype, folder)
        if not blank:
            for part in scratch.parts(n, lines, dtype.itemsize):
                out[:, part] = np.nan
                scratch.drop(out)
        return out
