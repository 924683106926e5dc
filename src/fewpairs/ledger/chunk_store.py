"""ChunkStore: the folder of a ledger, here or in an object store, as zarr arrays.

::

    zarr.json          what it is about: format, version, n, similarity, fingerprints
    columns/NAME       (k, n) arrays, NaN where a chunk is missing; rows/NAME likewise
    pairs/NAME         (2, m) arrays: keys i·n + j, and the bits of the values
    runs/NAME          one group a run; what it was asked for and decided
    lock               a group; its attributes say who writes

A chunk is written to another name and renamed (an object store puts it at once), and
carries a checksum: it is there as a whole, or not at all. Nothing else has to be
written for it to count, so a killed process leaves nothing to be mended.
"""

import contextlib
import errno
import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.errors import StoreError
from fewpairs.ledger.objects import objects_at

__all__ = ["Cell", "ChunkStore", "name_of"]

FORMAT = "fewpairs ledger"
VERSION = 1
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
        self._arrays: dict[str, Any] = {}

    # --- whose it is -------------------------------------------------------------

    def acquire(self) -> None:
        """Be the only one who writes, from here on."""
        with self._explained("opened"):
            self._objects.prepare()
            self._objects.lock.acquire()
            self._objects.sweep()

    def release(self) -> None:
        """Let others write."""
        self._objects.lock.release()

    # --- facts -------------------------------------------------------------------

    def header(self) -> dict[str, Any] | None:
        """Return what the chunk_store is about; ``None``: nothing yet."""
        with self._explained("read"):
            facts = self._facts("")
        if facts is None:
            return None
        if facts.get("format") != FORMAT:
            msg = (
                f"{self.url} holds zarr data of something else, no ledger of fewpairs. "
                "Pass another path."
            )
            raise StoreError(msg)
        if facts["version"] > VERSION:
            msg = (
                f"{self.url} was written by a newer fewpairs: its version is "
                f"{facts['version']}, this one reads up to {VERSION}. Upgrade fewpairs."
            )
            raise StoreError(msg)
        return facts

    def write_header(self, facts: dict[str, Any]) -> None:
        """Say what the chunk_store is about."""
        self._write_facts("", {"format": FORMAT, "version": VERSION, **facts})

    def runs(self) -> dict[str, dict[str, Any]]:
        """Return what is known of every run."""
        names = self.names("runs")
        with self._explained("read"):
            return {name: self._facts(f"runs/{name}") or {} for name in names}

    def write_run(self, name: str, facts: dict[str, Any]) -> None:
        """Write down what is known of a run."""
        self._write_facts(f"runs/{name}", facts)

    def _facts(self, path: str) -> dict[str, Any] | None:
        zarr = _zarr()
        with _quiet():
            try:
                group = zarr.open_group(self._objects.zarr_store(), path=path, mode="r")
            except (FileNotFoundError, zarr.errors.GroupNotFoundError):
                return None
            return dict(group.attrs)

    def _write_facts(self, path: str, facts: dict[str, Any]) -> None:
        with self._explained("written"), _quiet():
            # Metadata and attributes are one file, which is replaced as a whole.
            store = self._objects.zarr_store()
            if self._facts(path) is None:
                _zarr().create_group(store, path=path, attributes=facts)
            else:
                _zarr().open_group(store, path=path, mode="r+").attrs.put(facts)

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
            return array, dict(array.attrs)

    def cells(self, path: str) -> set[Cell]:
        """Return which chunks of an array are there."""
        with self._explained("read"):
            start = len(path) + 3
            found = [at[start:].split("/") for at in self._objects.names(f"{path}/c")]
        return {(int(a), int(b)) for a, b in found if a.isdigit() and b.isdigit()}

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

    # --- inside ------------------------------------------------------------------

    def _open(self, path: str) -> Any:
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


def name_of(*parts: Any) -> str:
    """Return the name of an array: a hash of what it holds."""
    digest = hashlib.blake2b(digest_size=12)
    for part in parts:
        data = part.tobytes() if isinstance(part, np.ndarray) else str(part).encode()
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


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
