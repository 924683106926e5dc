"""Run records: what is known of every run of a ledger."""

import contextlib
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from fewpairs.ledger.chunk_store import ChunkStore

__all__ = ["CurrentRun", "Record", "describe", "read_records"]

_EVERY = 0.25  # seconds between two entries of the same run


@dataclass
class Record:
    """One run: what it was asked for, has decided, and has paid.

    Attributes
    ----------
    key
        Tells runs apart: a hash of everything that the result depends on.
    asked
        Method, budget, seed and the evaluations expected, for people.
    decisions
        What the run decided by the clock. A run that goes on decides the same.
    evaluations, money
        What it paid.
    started, updated, finished
        When, in UTC; ``finished`` is empty until there is a result.
    """

    key: str
    asked: dict[str, Any]
    decisions: dict[str, Any] = field(default_factory=dict)
    evaluations: int = 0
    money: float = 0.0
    started: str = ""
    updated: str = ""
    finished: str = ""
    restarts: int = -1
    _written: float = field(default=0.0, repr=False)

    @classmethod
    def read(cls, key: str, facts: dict[str, Any]) -> "Record":
        """Return what was written down."""
        return cls(key, **facts)

    def facts(self) -> dict[str, Any]:
        """Return what is written down."""
        names = "asked decisions evaluations money started updated finished restarts"
        return {name: getattr(self, name) for name in names.split()}

    def begin(self) -> None:
        """Say that the run is under way, for the first time or again."""
        self.restarts += 1
        self.started = self.started or _now()
        self.finished = ""

    def add(self, evaluations: int, money: float) -> None:
        """Enter what was paid."""
        self.evaluations += evaluations
        self.money += money

    def finish(self) -> None:
        """Say that the run has come to its result."""
        self.finished = self.updated = _now()

    def due(self, *, force: bool) -> bool:
        """Tell whether it is time to write this down."""
        now = time.monotonic()
        if not force and now - self._written < _EVERY:
            return False
        self._written = now
        if not self.finished:
            self.updated = _now()
        return True


class CurrentRun:
    """The run that uses a ledger: what it decides and pays is written down."""

    def __init__(self, store: ChunkStore | None) -> None:
        self.record: Record | None = None
        self._store = store
        self._before = (0, 0.0)  # paid before it was known which run it is

    def begin(
        self, record: Record, charged: float = 0.0, others: Iterable[Record] = ()
    ) -> None:
        """Begin, or go on.

        ``charged``: what a service has charged, of all runs together. A process that
        was killed may not have counted its last calls: they are this run's.
        """
        record.begin()
        record.add(*self._before)
        record.add(0, max(0.0, charged - sum(one.money for one in others)))
        self.record, self._before = record, (0, 0.0)
        self.save(force=True)

    def add(self, evaluations: int, money: float) -> None:
        """Enter what was paid."""
        if self.record is not None:
            self.record.add(evaluations, money)
        else:  # the check of the symmetry comes first
            paid, spent = self._before
            self._before = paid + evaluations, spent + money

    def decide(self, name: str, choose: Callable[[], Any] | None) -> Any:
        """Return what was decided before, or decide now, if there is a choice."""
        if choose is None:
            return None if self.record is None else self.record.decisions.get(name)
        if self.record is None:
            return choose()
        if name not in self.record.decisions:
            self.record.decisions[name] = choose()
            self.save(force=True)
        return self.record.decisions[name]

    def finish(self) -> None:
        """Say that it has come to its result."""
        if self.record is not None:
            self.record.finish()
            self.save(force=True)

    def end(self) -> None:
        """Leave the ledger to another run."""
        with contextlib.suppress(OSError):  # a full disk has been told of
            self.save(force=True)
        self.record, self._before = None, (0, 0.0)

    def save(self, *, force: bool = False) -> None:
        """Write it down, now or from time to time."""
        record = self.record
        if self._store is not None and record is not None and record.due(force=force):
            self._store.write_run(record.key, record.facts())


def read_records(runs: dict[str, dict[str, Any]]) -> dict[str, Record]:
    """Return what was written down of every run, the first one first."""
    records = [Record.read(key, facts) for key, facts in runs.items()]
    records.sort(key=lambda run: run.started)
    return {run.key: run for run in records}


def describe(record: Record) -> str:
    """Return a run as a line for people."""
    asked = record.asked
    expected = asked.get("expected")
    paid = f"{record.evaluations:,} evaluations"
    if record.money:
        paid += f", {record.money:,.2f} money"
    if record.finished:
        state = f"finished {record.finished}"
    else:
        left = max(0, (expected or 0) - record.evaluations)
        state = f"last heard of {record.updated}, at most {left:,} left"
    again = f", started again {record.restarts}×" if record.restarts > 0 else ""
    what = ", ".join(f"{name} {asked[name]}" for name in asked if name != "expected")
    return f"  {what}: {paid}; started {record.started}, {state}{again}"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
