"""Progress: how far a long run is, for whoever wants to see it."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

__all__ = [
    "EVALUATING",
    "Callback",
    "Meter",
    "Progress",
    "Silence",
    "Status",
]


EVALUATING = "evaluating"  # what is being done while the similarity is called


class Progress(Protocol):
    """What a run tells about itself. Implement it to show progress elsewhere."""

    def start(self, what: str, total: int | None) -> None:
        """Begin a stage of ``total`` evaluations, or one of none (``None``).

        A stage ends where the next one begins.
        """

    def advance(self, evaluations: int) -> None:
        """Say that so many more evaluations are done."""

    def spend(self, money: float) -> None:
        """Say that so much more money is spent; optional."""

    def note(self, what: str) -> None:
        """Say what is being done now; optional."""

    def finish(self) -> None:
        """End the run, also after an error."""


class Silence:
    """Shows nothing."""

    def start(self, what: str, total: int | None) -> None:
        """Ignore it."""

    def advance(self, evaluations: int) -> None:
        """Ignore it."""

    def spend(self, money: float) -> None:
        """Ignore it."""

    def note(self, what: str) -> None:
        """Ignore it."""

    def finish(self) -> None:
        """Ignore it."""


@dataclass(frozen=True)
class Status:
    """How far a run is.

    Attributes
    ----------
    what
        What is being done.
    done, total
        Evaluations made in this stage, and expected; ``None``: a stage of none.
    seconds
        Time since the stage began.
    money
        Spent so far, where evaluations cost money.
    finished
        Whether the run has ended.
    since
        Seconds since the last evaluations were made, or since what is done changed.
    computing
        Whether no evaluations are made now: nobody knows how long that takes.

    Examples
    --------
    >>> status = Status("evaluating", done=500, total=2_000, seconds=10.0, money=0.25)
    >>> status.rate, status.left
    (50.0, 30.0)
    >>> print(status)
    evaluating: 500 of 2,000 evaluations, 50/s, 30 s left, 0.25 spent
    >>> from dataclasses import replace
    >>> print(replace(status, what="finding candidates", computing=True, since=40.0))
    finding candidates for 40 s: 500 of 2,000 evaluations, 0.25 spent
    """

    what: str
    done: int
    total: int | None
    seconds: float
    money: float = 0.0
    finished: bool = False
    since: float = 0.0
    computing: bool = False

    @property
    def rate(self) -> float:
        """Evaluations a second."""
        return self.done / self.seconds if self.seconds > 0 else 0.0

    @property
    def left(self) -> float | None:
        """Seconds left at this rate; ``None``: nobody knows yet."""
        if self.total is None or not self.done:
            return None
        return max(0, self.total - self.done) / self.rate if self.rate else None

    @property
    def still_left(self) -> float | None:
        """Seconds left, counted down between evaluations; ``None``: nobody knows."""
        if self.computing or self.left is None or self.since > self.left:
            return None
        return self.left - self.since

    def __str__(self) -> str:
        return self.in_words()

    def in_words(self, unit: str = "evaluations") -> str:
        """Return it as a line."""
        idle = self.computing or self.total is None
        what = (
            f"{self.what} for {self.since:,.0f} s" if idle and self.since else self.what
        )
        if self.total is None:
            return what
        parts = [f"{self.done:,} of {self.total:,} {unit}"]
        if not self.computing:
            parts.append(f"{self.rate:,.3g}/s")
            if self.still_left is not None:
                parts.append(f"{self.still_left:,.0f} s left")
        if self.money:
            parts.append(f"{self.money:,.2f} spent")
        return f"{what}: {', '.join(parts)}"


class Meter(ABC):
    """Keeps count for those who show it: evaluations, rate, time left, money."""

    def __init__(self) -> None:
        self._what = ""
        self._total: int | None = None
        self._done = 0
        self._money = 0.0
        self._began = self._changed = time.monotonic()
        self._finished = False
        self._computing = False

    @property
    def status(self) -> Status:
        """How far the run is."""
        now = time.monotonic()
        return Status(
            self._what,
            self._done,
            self._total,
            now - self._began,
            self._money,
            self._finished,
            now - self._changed,
            self._computing,
        )

    @abstractmethod
    def show(self, status: Status, *, new_stage: bool = False) -> None:
        """Show how far it is."""

    def start(self, what: str, total: int | None) -> None:
        """Begin a stage."""
        self._what, self._total, self._done = what, total, 0
        self._began = self._changed = time.monotonic()
        self._finished = self._computing = False
        self.show(self.status, new_stage=True)

    def advance(self, evaluations: int) -> None:
        """Count evaluations."""
        self._done += evaluations
        self._changed = time.monotonic()
        self.show(self.status)

    def spend(self, money: float) -> None:
        """Count money; it is shown with the evaluations that it was spent on."""
        self._money += money

    def note(self, what: str) -> None:
        """Change what is being done: evaluating, or computing of some kind."""
        if what == self._what:
            return
        self._what, self._computing = what, what != EVALUATING
        self._changed = time.monotonic()
        self.show(self.status)

    def finish(self) -> None:
        """End."""
        self._finished = True
        self.show(self.status)


class Callback(Meter):
    """Calls a function with a :class:`Status` whenever something has happened."""

    def __init__(self, function: Callable[[Status], object]) -> None:
        super().__init__()
        self._function = function

    def show(self, status: Status, *, new_stage: bool = False) -> None:  # noqa: ARG002
        """Call it."""
        self._function(status)
