"""Query memory: what has been paid for of new items, so that no one pays again."""

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.fingerprint import fingerprint
from fewpairs.ledger.ledger import Ledger
from fewpairs.ledger.query_records import QueryRecord, QueryRecords
from fewpairs.types import Indices

__all__ = ["QueryMemory", "Scores"]

Scores = tuple[Indices, NDArray[np.float64]]


class QueryMemory:
    """Similarities of new items to fitted ones, by the items' fingerprints.

    Where there is a ledger on disk they are kept there too.

    Parameters
    ----------
    ledger
        The ledger of the fit, if it had one.
    first
        Position of the first item that queries are compared with: of two sets, of the
        first right one. Positions are written down as counted from there, and stay
        what they are when left items are added.

    Attributes
    ----------
    lock
        Held by the thread that looks up, pays and remembers.
    """

    def __init__(self, ledger: Ledger | None, first: int = 0) -> None:
        self._first = first
        self.lock = threading.RLock()
        self._records = QueryRecords(ledger)
        self._known: dict[str, Scores] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the lock, which belongs to this process."""
        return {**self.__dict__, "lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Have a lock of one's own."""
        self.__dict__.update(state, lock=threading.RLock())

    def __len__(self) -> int:
        return len(self._known)

    def names(self, items: Sequence[Any]) -> list[str]:
        """Return the fingerprint of every item."""
        return [fingerprint([item]) for item in items]

    def known(self, name: str) -> Scores:
        """Return what is known of an item: positions, and similarities to them."""
        nothing = np.empty(0, dtype=np.int64), np.empty(0)
        at, values = self._known.get(name, nothing)
        return at + self._first, values

    def look(self) -> None:
        """Learn what other processes have written down."""
        with self.lock:
            for record in self._records.fresh():
                self._take(record)

    def remember(
        self, names: Sequence[str], rows: Indices, at: Indices, values: NDArray[Any]
    ) -> None:
        """Keep similarities: of the item ``names[rows[t]]`` to that at ``at[t]``."""
        if not len(rows):
            return
        named = np.array(names)[rows]
        record = QueryRecord(
            named, at - self._first, np.asarray(values, dtype=np.float64)
        )
        with self.lock:
            self._take(record)
            self._records.add(record)

    def _take(self, record: QueryRecord) -> None:
        order = np.argsort(record.names, kind="stable")
        names, starts = np.unique(record.names[order], return_index=True)
        for name, part in zip(names.tolist(), np.split(order, starts[1:]), strict=True):
            before, values = self.known(name)
            at = np.concatenate([before - self._first, record.positions[part]])
            both = np.concatenate([values, record.values[part]])
            at, first = np.unique(at, return_index=True)
            self._known[name] = at, both[first]
