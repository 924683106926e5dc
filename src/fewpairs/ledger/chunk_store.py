"""ChunkStore: the folder of a ledger, here or in an object store, as zarr arrays.

::

    zarr.json          what it is about: format, version, n, similarity, fingerprints
    columns/NAME       (k, n) arrays, NaN where a chunk is missing; rows/NAME likewise
    pairs/NAME         (2, m) arrays: keys i·n + j, and the bits of the values
    runs/NAME          one group a run; what it was asked for and decided
    passes/NAME.npz    what a pass over all pairs has found so far
    queries/NAME.npz   what searches have paid for, of items that are not among these
    added/NAME         a ledger of more items: these, and those that were added
    copies             of every zarr.json, see `metadata`
    damaged            what `mend` could not mend
    lock               a group; its attributes say who writes

A chunk is written to another name and renamed (an object store puts it at once), and
carries a checksum: it is there as a whole, or not at all. Nothing else has to be
written for it to count, so a killed process leaves nothing to be mended. What has been
damaged otherwise is told of, and mended as far as it can be.
"""

import contextlib
import errno
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.errors import DamageError, StoreError
from fewpairs.ledger.metadata import CHECKSUM, KINDS, Metadata, name_of
from fewpairs.ledger.objects import objects_at

__all__ = ["Cell", "ChunkStore", "name_of"]

_BESIDE = ("passes", "queries", "answers", "added", "prior", "damaged")
FORMAT = "fewpairs ledger"
VERSION = 2
# Which chunk of an array, counted along both axes.
Cell = tuple[int, int]


class ChunkStore:
    """Arrays in chunks, and facts, under one path or fsspec URL.

    Parameters
    ----------
    url
        A folder, or any URL that fsspec knows.
    """

    def __init__(self, url: str) -> None:
        self._objects = objects_at(url)
        self.url = self._objects.url
        self.folder = self._objects.folder
        self._metadata = Metadata(self._objects)
        self._arrays: dict[str, Any] = {}

    # --- whose it is -------------------------------------------------------------

    def acquire(self) -> None:
        """Become the only writer, from here on."""
        with self._explained("opened"):
            self._objects.prepare()
            self._objects.lock.acquire()
            self._objects.sweep()

    def release(self) -> None:
        """Let others write."""
        self._objects.lock.release()

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Be the only writer inside a block."""
        self.acquire()
        try:
            yield
        finally:
            self.release()

    # --- facts -------------------------------------------------------------------

    def header(self) -> dict[str, Any] | None:
        """Return what the chunk_store is about; ``None``: nothing yet."""
        with self._explained("read"):
            self._refuse_newer(self._metadata.version())
            facts = self._facts("")
            left = facts is None and [k for k in KINDS if self._objects.names(k)]
        if left:
            msg = (
                f"{self.url}/zarr.json is missing, and with it what the {left[0]} of "
                f"this ledger are. fewpairs.Ledger({self.url!r}).repair() restores it "
                "from its copy."
            )
            raise DamageError(msg)
        if facts is None:
            return None
        if facts.get("format") != FORMAT or not isinstance(facts.get("version"), int):
            msg = (
                f"{self.url} holds zarr data of something else, no ledger of fewpairs. "
                "Pass another path."
            )
            raise StoreError(msg)
        return facts

    def _refuse_newer(self, version: Any) -> None:
        if isinstance(version, int) and version > VERSION:
            msg = (
                f"{self.url} was written by a newer fewpairs: its version is "
                f"{version}, this one reads up to {VERSION}. Upgrade fewpairs."
            )
            raise StoreError(msg)

    def write_header(self, facts: dict[str, Any]) -> None:
        """Say what the chunk_store is about."""
        self._write_facts("", {"format": FORMAT, "version": VERSION, **facts})

    def runs(self) -> dict[str, dict[str, Any]]:
        """Return what is known of every run."""
        names = self.names("runs")
        with self._explained("read"):
            found = {name: self._facts(f"runs/{name}") for name in names}
        return {name: facts for name, facts in found.items() if facts is not None}

    def write_run(self, name: str, facts: dict[str, Any]) -> None:
        """Write down what is known of a run."""
        self._write_facts(f"runs/{name}", facts)

    def _facts(self, path: str) -> dict[str, Any] | None:
        return self._metadata.group(path)

    def _write_facts(self, path: str, facts: dict[str, Any]) -> None:
        with self._explained("written"):
            # Metadata and attributes are one file, which is replaced as a whole.
            self._metadata.write_group(path, facts)

    # --- what can be mended --------------------------------------------------------

    def complete(self) -> None:
        """See to it that everything that says what chunks are has a copy."""
        with self._explained("written"):
            self._metadata.complete()

    def mend(self) -> int:
        """Mend what says what chunks are; return how many files were damaged."""
        self._arrays.clear()
        with self._explained("written"):
            return self._metadata.mend()

    def forget(self) -> None:
        """Remove everything but the lock; what says whose it was goes last."""
        self._arrays.clear()
        with self._explained("written"):
            for name in (*KINDS, *_BESIDE, "copies", "zarr.json"):
                self._objects.remove(name)

    # --- arrays ------------------------------------------------------------------

    def names(self, kind: str) -> list[str]:
        """Return the names of all arrays, or groups, of a kind."""
        with self._explained("read"):
            found = [path.split("/") for path in self._objects.names(kind)]
            return sorted({parts[1] for parts in found if len(parts) > 2})

    def create(
        self,
        path: str,
        shape: tuple[int, int],
        chunks: tuple[int, int],
        dtype: Any,
        attributes: dict[str, Any],
    ) -> None:
        """Make an array, if it is not there; every chunk of it is missing."""
        if path in self._arrays:
            return
        from zarr.codecs import Crc32cCodec

        with self._explained("written"), _quiet():
            if not self._objects.exists(f"{path}/zarr.json"):
                self._arrays[path] = _zarr().create_array(
                    self._objects.zarr_store(),
                    name=path,
                    shape=shape,
                    chunks=chunks,
                    dtype=dtype,
                    fill_value=np.nan if np.dtype(dtype).kind == "f" else -1,
                    compressors=[Crc32cCodec()],
                    filters=None,
                    attributes=attributes,
                    config={"write_empty_chunks": True},
                )
                self._metadata.seal_array(path)
            else:
                self._arrays[path] = self._open(path)

    def write(self, path: str, cell: Cell, values: NDArray[Any]) -> None:
        """Write one chunk: all of it, or nothing."""
        array = self._arrays[path]
        with self._explained("written"):
            array[_region(cell, array)] = values

    def facts_of(self, path: str) -> tuple[Any, dict[str, Any]]:
        """Return shape, chunks and type of an array, and its attributes."""
        with self._explained("read"):
            if path not in self._arrays:
                self._arrays[path] = self._open(path)
            array = self._arrays[path]
            return array, {k: v for k, v in array.attrs.items() if k != CHECKSUM}

    def cells(self, path: str) -> set[Cell]:
        """Return which chunks of an array are there."""
        with self._explained("read"):
            start = len(path) + 3
            found = [at[start:].split("/") for at in self._objects.names(f"{path}/c")]
        return {
            (int(parts[0]), int(parts[1]))
            for parts in found
            if len(parts) == 2 and all(part.isdecimal() for part in parts)
        }

    def read(self, path: str, cell: Cell) -> NDArray[Any]:
        """Read one chunk."""
        array, _ = self.facts_of(path)
        try:
            return np.asarray(array[_region(cell, array)])
        except Exception as error:
            where = f"{self.url}/{path}/c/{cell[0]}/{cell[1]}"
            msg = (
                f"the chunk {where} is damaged ({type(error).__name__}: {error}); "
                f"everything else is readable. fewpairs.Ledger({self.url!r}).repair() "
                "sets damaged chunks aside, and the next run pays for them again."
            )
            raise StoreError(msg) from error

    def set_aside(self, path: str, cell: Cell) -> None:
        """Take a damaged chunk out of its array; it is kept beside it."""
        name = f"{path}/c/{cell[0]}/{cell[1]}"
        with self._explained("written"):
            self._objects.rename(name, f"{name}.damaged")

    # --- passes over all pairs -----------------------------------------------------

    def read_file(self, name: str) -> bytes | None:
        """Return the content of a separate file, or ``None`` if it does not exist."""
        with self._explained("read"):
            return self._objects.read(name)

    def write_file(self, name: str, data: bytes) -> None:
        """Write a file of its own: all of it, or nothing."""
        with self._explained("written"):
            self._objects.write(name, data)

    def files(self, kind: str) -> list[str]:
        """Return the names of all files of a kind."""
        with self._explained("read"):
            return sorted(self._objects.names(kind))

    def remove_file(self, name: str) -> None:
        """Remove a file of its own."""
        with self._explained("written"):
            self._objects.remove(name)

    def set_file_aside(self, name: str) -> None:
        """Give a damaged file another name."""
        with self._explained("written"):
            self._objects.rename(name, f"{name}.damaged")

    # --- inside ------------------------------------------------------------------

    def _open(self, path: str) -> Any:
        self._metadata.check_array(path)
        with _quiet():
            array = _zarr().open_array(self._objects.zarr_store(), path=path, mode="r+")
            return array.with_config({"write_empty_chunks": True})

    @contextlib.contextmanager
    def _explained(self, what: str) -> Iterator[None]:
        """Say what an error of the system means here."""
        try:
            yield
        except StoreError:
            raise
        except OSError as error:
            msg = f"the ledger {self.url} cannot be {what}: {_meaning(error)}"
            raise StoreError(msg) from error


def _region(cell: Cell, array: Any) -> tuple[slice, slice]:
    first, second = (
        slice(at * size, min((at + 1) * size, length))
        for at, size, length in zip(cell, array.chunks, array.shape, strict=True)
    )
    return first, second


def _meaning(error: OSError) -> str:
    kept = "What was paid for before stays readable"
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return f"the disk is full ({error}). {kept}; make room and go on."
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return (
            f"it is read-only here ({error}). {kept}; pass a path that can be "
            "written to, or copy the folder to one."
        )
    return f"{error}. {kept}."


def _zarr() -> Any:
    import zarr

    return zarr


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Leave out what zarr says about file systems that are not asynchronous."""
    import warnings

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="zarr")
        warnings.filterwarnings("ignore", message=".*asynchronous.*")
        yield
