"""Ledger: what has been paid for, in memory or on disk."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.checks import (
    check_flag,
    check_function,
    check_instance,
    check_path,
    check_whole,
)
from fewpairs.errors import DamageError, InputError, StoreError
from fewpairs.ledger.answer_records import AnswerRecords
from fewpairs.ledger.chunk_store import ChunkStore
from fewpairs.ledger.entry_store import BatchWriter, EntryStore, LineWriter
from fewpairs.ledger.pass_records import PassRecords
from fewpairs.ledger.run_records import CurrentRun, Record, describe, read_records
from fewpairs.ledger.served import Served
from fewpairs.ledger.subject import FingerprintOnce, Identity, Sample, Subject, unknown
from fewpairs.ledger.transforming import applied_to, open_as
from fewpairs.matrix.earlier import know
from fewpairs.matrix.entries import Entries
from fewpairs.matrix.grid import Chunks
from fewpairs.matrix.lines import Axis
from fewpairs.matrix.moments import pairs_known
from fewpairs.similarity.base import Similarity
from fewpairs.types import Indices

__all__ = ["Ledger"]

_IN_MEMORY = 1 << 28  # bytes of an array; larger ones of a ledger on disk stay there


class Ledger:
    """Every evaluation that has been paid for.

    Pass one ledger as ``store=`` to several calls and no entry is evaluated twice.
    It belongs to one set of items and one similarity from the first call on, and
    refuses another. On disk it survives whatever happens to the process: chunks are
    written as they are finished, and a run that is started again evaluates what is
    missing and ends in the same result, to the bit. ``print`` it to see what has been
    paid for, when, and how much is left.

    One run at a time: a thread that comes with a ledger that another one uses waits for
    it. Two ledgers of one folder are two writers: the second is refused
    (:class:`~fewpairs.errors.StoreError`), as another process is.

    Parameters
    ----------
    path
        A folder, or any URL that fsspec knows; ``None``: in memory.
    memory
        Bytes that an array of a ledger on disk may take in memory. Larger ones, the
        landmarks' columns and the factors made of them, stay on disk.
    trust
        Take what it holds for any similarity's that has the right fingerprint. By
        default, a run evaluates a few of its entries again, see `Similarity`.

    Attributes
    ----------
    lock, passes, answers
        Held by the thread that uses it; how far passes over all pairs have come; what a
        service has answered, by content.
    waiting
        Pairs answered before it was known whether the similarity is symmetric, where
        the run ended there, and of which items; in memory alone.

    Examples
    --------
    >>> import numpy as np, fewpairs as fp
    >>> K = np.random.default_rng(0).standard_normal((60, 60))
    >>> ledger = fp.Ledger()
    >>> first = fp.approximate(None, K @ K.T, budget=0.5, store=ledger)
    >>> again = fp.approximate(None, K @ K.T, budget=0.5, store=ledger)
    >>> first.evaluations > 0, again.evaluations
    (True, 0)
    """

    def __init__(
        self,
        path: str | PathLike[str] | None = None,
        *,
        memory: int = _IN_MEMORY,
        trust: bool = False,
    ) -> None:
        self.served, self.evaluations = Served(), 0
        self.entries: Entries | None = None
        self.records: dict[str, Record] = {}
        self._subject: Subject | None = None
        self._identify: Callable[[], Identity] = unknown
        call = "fewpairs.Ledger"
        self.trust = check_flag(call, "trust", trust)
        self.memory = memory = check_whole(call, "memory", memory)
        where = None if path is None else check_path(call, "path", path)
        self._chunk_store = store = None if where is None else ChunkStore(where)
        self._entry_store = None if store is None else EntryStore(store, memory)
        self._run, self.passes = CurrentRun(store), PassRecords(store)
        self.answers = AnswerRecords(store)
        self._within, self.lock = False, threading.RLock()
        self.smaller: Ledger | None = None  # from before items were added
        self.parts: dict[str, Ledger] = {}  # of priors that are paid for
        self._damage: DamageError | None = None
        self.waiting: tuple[Identity, dict[tuple[int, int], float]] | None = None
        if self._chunk_store is not None:
            try:
                self._look()
            except DamageError as error:  # it can still be repaired, or forgotten
                self._damage = error

    def __getstate__(self) -> dict[str, Any]:
        """Leave out who uses it: that is told among threads, which do not travel."""
        return {**self.__dict__, "lock": None, "_within": False, "served": Served()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Have a lock of one's own."""
        self.__dict__.update(state, lock=threading.RLock())

    @property
    def symmetric(self) -> bool | None:
        """Whether the similarity is symmetric, as found by the first call."""
        return None if self._subject is None else self._subject.symmetric

    @property
    def averages(self) -> bool:
        """Whether an entry is the average of both orders of a pair."""
        return self._subject is not None and self._subject.symmetrized

    @property
    def path(self) -> str | None:
        """Where it is; ``None``: in memory."""
        return None if self._chunk_store is None else self._chunk_store.url

    @property
    def durable(self) -> bool:
        """Whether it is on disk."""
        return self._chunk_store is not None

    # --- a run -------------------------------------------------------------------

    @contextlib.contextmanager
    def session(self, *, load: bool = True) -> Iterator["Ledger"]:
        """Be the only writer, with everything that others have written before.

        Within another session it is that one; other threads wait until it ends.
        """
        with self.lock:
            if self._within:
                yield self
                return
            if self._chunk_store is not None:
                self._chunk_store.acquire()
            self._within = True
            try:
                if load and self._chunk_store is not None:
                    self.load()
                    with contextlib.suppress(StoreError):  # no room: another time
                        self._chunk_store.complete()
                yield self
            finally:
                self.answers.gather()
                self._run.end()
                self._within = False
                if self._chunk_store is not None:
                    self._chunk_store.release()

    def open(
        self,
        n: int,
        *,
        similarity: str,
        symmetric: bool,
        symmetrized: bool,
        diagonal: float | None,
        identity: Callable[[], Identity] | None = None,
        sample: Sample | None = None,
        split: int | None = None,
    ) -> Entries:
        """Return the entries of this matrix; refuse another one.

        ``sample`` are pairs that showed the symmetry of a new one: kept with it. In
        memory, fingerprints are taken when a second run comes: most never do.
        """
        subject = Subject(n, similarity, symmetric, symmetrized, split)
        identify = identity or unknown
        if self.entries is None:
            self._subject, self._identify = subject, FingerprintOnce(identify)
            if self._chunk_store is not None:
                header = subject.header(diagonal, self._identify(), sample)
                self._chunk_store.write_header(header)
            self.entries = subject.entries(diagonal, sample)
        elif subject != self._subject or self._identify() != identify():
            msg = (
                f"fewpairs.Ledger: this ledger holds evaluations of {self._subject}, "
                f"and was given {subject}, other items or another similarity. Use "
                "another ledger for them."
            )
            raise InputError(msg)
        if self.smaller is not None:
            know(self.entries, self.smaller.load())
            self.answers.older = self.smaller.answers
        return self.entries

    def start(self, key: str, facts: dict[str, Any]) -> Record:
        """Begin a run, or go on with it where it was begun before."""
        record = self.records.setdefault(key, Record(key, facts))
        self._run.begin(record, self.answers.usage.money, self.records.values())
        return record

    def finish(self) -> None:
        """End the run, which has come to its result."""
        self._run.finish()

    def decide(self, name: str, choose: Callable[[], Any] | None) -> Any:
        """Return what this run decided before, or decide now and write it down.

        For whatever depends on the clock: a run that goes on must not come to another
        result. ``choose`` returns what JSON can hold; ``None`` decides nothing.
        """
        return self._run.decide(name, choose)

    def count(self, evaluations: int, money: float = 0.0) -> None:
        """Enter evaluations that were made."""
        self.evaluations += evaluations
        if self._within:
            self._run.add(evaluations, money)

    # --- what is written -----------------------------------------------------------

    def lines(
        self,
        indices: Indices,
        axis: Axis,
        dtype: np.dtype[Any],
        chunks: Chunks,
        *,
        blank: bool = False,
    ) -> LineWriter:
        """Return where lines are filled in and kept, chunk by chunk.

        They are NaN for now; with ``blank`` they are anything, and all is evaluated.
        """
        entries = self._opened()
        if self._entry_store is None:
            return LineWriter.in_memory((len(indices), entries.n), dtype, blank=blank)
        writer = self._entry_store.lines(
            indices, axis, entries.n, dtype, chunks, blank=blank
        )
        return replace(writer, told=self._run.save)

    def keep_lines(
        self,
        indices: Indices,
        axis: Axis,
        writer: LineWriter,
        chunks: Chunks,
        *,
        whole: bool,
    ) -> None:
        """Enter lines that are filled in, or as far as they are."""
        entries = self._opened()
        entries.drop_partial(indices, axis)
        if whole:
            entries.add_lines(indices, writer.values, axis)
            writer.close()
        else:
            writer.void(chunks)
            entries.add_partial(indices, writer.values, axis)

    def batch(self, i: Indices, j: Indices, chunk: int, chunks: int) -> BatchWriter:
        """Return where the chunks of a request for pairs are kept."""
        entries = self._opened()
        if self._entry_store is None:
            return BatchWriter()
        writer = self._entry_store.batch(entries, i, j, chunk, chunks)
        return replace(writer, told=self._run.save)

    def rescue(self, i: Indices, j: Indices, values: NDArray[Any]) -> None:
        """Keep pairs of a chunk that was not finished."""
        entries = self._opened()
        entries.add_pairs(i, j, values)
        if self._entry_store is not None and len(i):
            self._entry_store.batch(entries, i, j, len(i), 1).keep(0, i, j, values)

    def load(self) -> Entries | None:
        """Read everything that is there, also where it cannot be written to."""
        with self.lock:
            self._look()
            self.answers.load()
            if self.entries is not None and self._entry_store is not None:
                self._entry_store.load(self.entries)
                # A process that was killed may not have counted its last chunks.
                known = (2 if self.averages else 1) * pairs_known(self.entries)
                self.evaluations = max(self.evaluations, known)
            return self.entries

    def repair(self) -> int:
        """Mend what can be mended, set the rest aside, and return how much it was.

        Files that say what chunks are have a copy, from which they are restored. Chunks
        that are damaged are kept below another name, and paid for again.
        """
        if self._chunk_store is None or self._entry_store is None:
            return 0
        with self.lock:
            with self._chunk_store.locked():
                broken = self._chunk_store.mend() + self._entry_store.repair()
                broken += self.passes.repair()
            self._damage = None
            self._look()
        return broken

    def forget(self) -> None:
        """Forget everything, on disk too, and be as new, for any items."""
        with self.lock:
            if self._within:
                msg = f"Ledger.forget: a run is using {self!r}. Wait for it to end."
                raise StoreError(msg)
            if self._chunk_store is not None:
                with self._chunk_store.locked():
                    self._chunk_store.forget()
                self._entry_store = EntryStore(self._chunk_store, self.memory)
            self.entries = self._subject = self._damage = None
            self.evaluations, self.records, self.parts = 0, {}, {}
            self._identify, self.served = unknown, Served()
            self.answers = AnswerRecords(self._chunk_store)

    def transformed(
        self,
        function: Callable[[Any], Any],
        similarity: Similarity,
        path: str | PathLike[str] | None = None,
    ) -> "Ledger":
        """Return a ledger of another similarity that is a function of this one's.

        ``function`` maps arrays of known values to those of ``similarity``; nothing is
        evaluated. exp(−γ·distance) of another γ, for one, is a power:
        ``ledger.transformed(lambda K: K**3, wmd.with_gamma(3 * wmd.gamma))``.
        """
        call = "Ledger.transformed"
        check_function(call, "function", function, cure="a function of an array")
        check_instance(call, "similarity", similarity, Similarity, "a Similarity")
        out = Ledger(path)
        with self.session(), out.session():
            if self.entries is None or self._subject is None:
                return out
            if out.entries is not None:
                msg = f"Ledger.transformed: {path} holds a ledger; pass a new path."
                raise InputError(msg)
            entries = applied_to(self.entries, function)
            open_as(out, self._subject, similarity, self._identify, entries.diagonal)
            out._take(entries, self.evaluations, f"from {self._subject}")
        return out

    def _take(self, entries: Entries, evaluations: int, source: str) -> None:
        """Have entries of another ledger, and write them down."""
        self.entries, self.evaluations = entries, evaluations
        if self._entry_store is not None:
            record = Record("transformed", {"method": source})
            record.add(evaluations, 0.0)
            self.records["transformed"] = self._run.record = record
            self._entry_store.store(entries)

    def __repr__(self) -> str:
        where = "" if self.path is None else f" in {self.path}"
        if self._damage is not None:
            return f"Ledger(damaged{where}: {self._damage})"
        if self._subject is None:
            return f"Ledger(nothing paid for yet{where})"
        name, n = self._subject.similarity, self._subject.n
        paid = f"{self.evaluations:,} evaluations of {name}"
        return f"Ledger({paid}, {n:,} items{where})"

    def __str__(self) -> str:
        return "\n".join([repr(self), *map(describe, self.records.values())])

    def _opened(self) -> Entries:
        if self.entries is None:
            raise InputError("fewpairs.Ledger: no matrix yet; call open() first.")
        return self.entries

    def _look(self) -> None:
        """Learn what the chunk_store is about, and which runs there have been."""
        store = self._chunk_store
        if store is None or (header := store.header()) is None:
            return
        if self.entries is None:
            self._subject, sample = Subject.of(header)
            first, second = header["identity"]
            self._identify = lambda: (first, second)
            self.entries = self._subject.entries(header["diagonal"], sample)
        self.records = read_records(store.runs())
        self.evaluations = sum(one.evaluations for one in self.records.values())
