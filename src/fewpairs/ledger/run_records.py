"""Bookkeeping: what is known of every run of a ledger."""

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

__all__ = ["Record", "describe"]

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
