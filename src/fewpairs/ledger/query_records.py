"""Query records: what searches have paid for, of items that are not among the fitted.

On disk every search adds a file below ``queries``, named by what is in it. Nothing is
ever changed there, so any number of processes may add and read, without a lock.
"""

import contextlib
import hashlib
import io
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewpairs.errors import StoreError
from fewpairs.ledger.chunk_store import ChunkStore
from fewpairs.ledger.ledger import Ledger
from fewpairs.types import Indices

__all__ = ["QueryRecord", "QueryRecords"]

_KIND = "queries"


class QueryRecord(NamedTuple):
    """Similarities of queries to fitted items.

    ``names[t]`` is the fingerprint of the query whose similarity to the item at
    ``positions[t]`` is ``values[t]``.
    """

    names: NDArray[np.str_]
    positions: Indices
    values: NDArray[np.float64]


class QueryRecords:
    """Reads and adds records, in the folder of a ledger and of those it grew from.

    Parameters
    ----------
    ledger
        Where they are; in memory alone there are none.
    """

    def __init__(self, ledger: Ledger | None) -> None:
        self._stores: list[ChunkStore] = []
        while ledger is not None:
            if ledger.path is not None:
                self._stores.append(ChunkStore(ledger.path))
            ledger = ledger.smaller
        self._seen: set[tuple[str, str]] = set()

    def fresh(self) -> list[QueryRecord]:
        """Return the records that were not read before."""
        found = []
        for store in self._stores:
            for name in store.files(_KIND):
                if name.endswith(".npz") and (store.url, name) not in self._seen:
                    self._seen.add((store.url, name))
                    found.append(_loaded(store, name))
        return found

    def add(self, record: QueryRecord) -> None:
        """Write a record down."""
        if not self._stores:
            return
        out = io.BytesIO()
        np.savez(out, allow_pickle=False, **record._asdict())
        data = out.getvalue()
        store = self._stores[0]
        name = f"{_KIND}/{hashlib.blake2b(data, digest_size=16).hexdigest()}.npz"
        with contextlib.suppress(StoreError):  # one who begins a run sweeps drafts away
            store.write_file(name, data)
            self._seen.add((store.url, name))
            return
        store.write_file(name, data)
        self._seen.add((store.url, name))


def _loaded(store: ChunkStore, name: str) -> QueryRecord:
    try:
        data = io.BytesIO(store.read_file(name) or b"")
        with np.load(data, allow_pickle=False) as arrays:
            return QueryRecord(*(arrays[part] for part in QueryRecord._fields))
    except StoreError:
        raise
    except Exception as error:
        msg = (
            f"{store.url}/{name}, which holds what a search has paid for, is damaged "
            f"({type(error).__name__}: {error}). Remove it: what it held is paid for "
            "again when it is asked for."
        )
        raise StoreError(msg) from error
