"""Answer records: what a service has answered, by content, in the folder of a ledger.

Every call is a file below ``answers`` as soon as it is answered, named by what is in
it, so a kill loses nothing that has come. From time to time they become one file.
Nothing is ever changed there, and a call counts once, in however many files it is.
"""

import contextlib
import hashlib
import json
import threading
import uuid
from collections.abc import Iterable
from typing import Any

from fewpairs.errors import DamageError, StoreError
from fewpairs.ledger.chunk_store import ChunkStore
from fewpairs.similarity.paid_answers import PaidAnswers, PaidCall, Usage

__all__ = ["AnswerRecords"]

_KIND = "answers"
_LOOSE = 512  # calls in files of their own, before they become one


class AnswerRecords(PaidAnswers):
    """PaidAnswers that are written down, where the ledger is on disk.

    Parameters
    ----------
    store
        The ledger's; ``None``: in memory alone.

    Attributes
    ----------
    older
        Those of a ledger of fewer items, which this one grew from.
    """

    def __init__(self, store: ChunkStore | None) -> None:
        super().__init__()
        self._store = store
        self._seen: set[str] = set()  # files
        self._calls: dict[str, PaidCall] = {}
        self._loose: dict[str, str] = {}  # calls in files of their own
        self.older: PaidAnswers | None = None
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the lock, which belongs to this process."""
        return {**self.__dict__, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Have a lock of one's own."""
        self.__dict__.update(state, _lock=threading.Lock())

    def known(self, names: Iterable[str]) -> dict[str, float]:
        """Return the answers to these questions, as far as there are any."""
        names = list(names)
        found = {} if self.older is None else self.older.known(names)
        return {**found, **super().known(names)}

    def keep(self, call: PaidCall) -> None:
        """Write down what was answered, and enter it."""
        with self._lock:
            name = uuid.uuid4().hex
            self._enter(name, call)
            if self._store is not None:
                self._loose[name] = self._write({name: call})
        self.gather(least=_LOOSE)

    def load(self) -> None:
        """Read what is there and was not read before."""
        if self._store is None:
            return
        with self._lock:
            for file in self._store.files(_KIND):
                if file.endswith(".json") and file not in self._seen:
                    self._seen.add(file)
                    calls = self._read(file)
                    for name, call in calls.items():
                        self._enter(name, call)
                    if len(calls) == 1:
                        self._loose.update(dict.fromkeys(calls, file))

    def gather(self, *, least: int = 1) -> None:
        """Make one file of many; only who has the ledger to himself may."""
        if self._store is None:
            return
        # No room, or a disk that has gone: another time.
        with self._lock, contextlib.suppress(StoreError):
            if len(self._loose) <= least:
                return
            loose, self._loose = self._loose, {}
            self._write({name: self._calls[name] for name in loose})
            for file in loose.values():
                self._store.remove_file(file)

    def _enter(self, name: str, call: PaidCall) -> None:
        if name not in self._calls:
            self._calls[name] = call
            super().keep(call)

    def _write(self, calls: dict[str, PaidCall]) -> str:
        data = json.dumps(
            {name: [call.answers, list(call.usage)] for name, call in calls.items()}
        ).encode()
        digest = hashlib.blake2b(data, digest_size=16).hexdigest()
        file = f"{_KIND}/{digest}.json"
        if self._store is None:
            raise AssertionError(file)
        self._seen.add(file)
        with contextlib.suppress(StoreError):  # one who begins a run sweeps drafts away
            self._store.write_file(file, data)
            return file
        self._store.write_file(file, data)
        return file

    def _read(self, file: str) -> dict[str, PaidCall]:
        if self._store is None:
            return {}
        try:
            data = json.loads(self._store.read_file(file) or b"{}")
            return {
                name: PaidCall(
                    {str(question): float(x) for question, x in answers.items()},
                    Usage(*usage),
                )
                for name, (answers, usage) in data.items()
            }
        except (ValueError, TypeError, AttributeError) as error:
            msg = (
                f"{self._store.url}/{file}, which holds answers that were paid for, is "
                f"damaged ({type(error).__name__}: {error}). Remove it: what it held "
                "is paid for again when it is asked for."
            )
            raise DamageError(msg) from error
