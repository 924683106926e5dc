"""Pass records: how far a pass over all pairs has come, and what it has found."""

import io
import time
import zipfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.errors import StoreError
from fewpairs.ledger.chunk_store import ChunkStore

__all__ = ["PassRecords"]

_KIND = "passes"
_SHARE = 20  # of the time between two records, writing one takes at most one part


class PassRecords:
    """What passes over all pairs have found so far, by name; arrays alone.

    On disk a record replaces the one before as a whole, and its file carries checksums.

    Parameters
    ----------
    store
        Where a ledger is; ``None``: in memory.
    """

    def __init__(self, store: ChunkStore | None) -> None:
        self._store = store
        self._held: dict[str, dict[str, NDArray[Any]]] = {}  # where there is none
        self._taken, self._last = 0.0, time.monotonic()

    @property
    def due(self) -> bool:
        """Whether it is time for a record: writing them takes a part of the time."""
        if self._store is None:
            return False
        return time.monotonic() - self._last >= _SHARE * self._taken

    def read(self, name: str) -> dict[str, NDArray[Any]] | None:
        """Return what was written down; ``None``: nothing."""
        path = f"{_KIND}/{name}.npz"
        if self._store is None:
            return self._held.get(name)
        data = self._store.read_file(path)
        if data is None:
            return None
        try:
            return _loaded(data)
        except Exception as error:
            url = self._store.url
            msg = (
                f"{url}/{path}, which says how far a pass over all pairs has come, is "
                f"damaged ({type(error).__name__}: {error}). "
                f"fewpairs.Ledger({url!r}).repair() sets it aside; the pass then "
                "begins anew."
            )
            raise StoreError(msg) from error

    def write(self, name: str, arrays: dict[str, NDArray[Any]]) -> None:
        """Write down how far it has come."""
        if self._store is None:
            self._held[name] = {key: array.copy() for key, array in arrays.items()}
            return
        started = time.monotonic()
        out = io.BytesIO()
        np.savez(out, allow_pickle=False, **arrays)
        self._store.write_file(f"{_KIND}/{name}.npz", out.getvalue())
        self._last = time.monotonic()
        self._taken = self._last - started

    def repair(self) -> int:
        """Set damaged records aside; return how many they were."""
        broken = 0
        if self._store is None:
            return broken
        for path in self._store.files(_KIND):
            if not path.endswith(".npz"):
                continue
            try:
                _loaded(self._store.read_file(path) or b"")
            except Exception:  # noqa: BLE001 - whatever is wrong with it
                self._store.set_file_aside(path)
                broken += 1
        return broken


def _loaded(data: bytes) -> dict[str, NDArray[Any]]:
    with np.load(io.BytesIO(data), allow_pickle=False) as found:
        if not isinstance(found, np.lib.npyio.NpzFile):
            msg = "no .npz file"
            raise zipfile.BadZipFile(msg)
        return {key: found[key] for key in found.files}
