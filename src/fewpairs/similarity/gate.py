"""A gate for calls of a service: at a rate, and no more than it can take."""

import asyncio
import contextlib
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from fewpairs.progress import EVALUATING
from fewpairs.similarity.pace import Pace
from fewpairs.similarity.service import CallsLeft

__all__ = ["LONGEST_PAUSE", "Gate", "Terms", "Ticket", "codes_of", "notes_of"]

LONGEST_PAUSE = 30.0  # seconds
_LESS = 0.85  # of the calls under way, after a refusal
_QUOTA = 10.0  # seconds of a pause that is a quota's: calls were too many, not at once
_LONGEST = 5.0  # seconds between calls that find out whether others are taken
_LATE = 0.05  # seconds that are made up for
_PATIENCE = 8, 32  # times slower near where it was refused; at most, if again
_SILENCE = 180.0  # seconds without any answer for which refusals are waited out
_LONGEST_SILENCE = 600.0  # seconds of it, where the service wants long pauses
_TOLD = 5.0  # seconds of it after which it is told


@dataclass(frozen=True)
class Terms:
    """How calls are made."""

    concurrency: int
    retries: int
    timeout: float | None
    pause: float
    rate: float | None = None
    repeats: int = 1
    start: int | None = None  # calls under way at first; None: all that may be


class Ticket(NamedTuple):
    """A call that was let through: its number, and how many were under way with it."""

    number: int
    inside: int


class Gate:
    """Lets calls through, one after another: no more, and no faster, than are taken.

    Of calls at a time: additive increase, multiplicative decrease, as networks share a
    line. A refusal leaves 85 % of the calls that may be under way, an answered round of
    them allows one more. Until the first refusal it allows twice as many a round; near
    the number that was refused last it is eight times slower, and twice as slow again
    whenever it is refused there again, so that little is lost to refusals.

    A refusal with no more calls under way than came through before is not of calls at a
    time but of calls per second or minute: then the `Pace` changes. Where nothing comes
    through at all, one call at a time finds out when that ends, and ``tell`` is told.
    """

    def __init__(self, terms: Terms, tell: Callable[[str], object] = len) -> None:
        self._tell, self._told = tell, False
        self._pace = Pace(terms.rate)
        self._pause = terms.pause
        self._most = float(terms.concurrency)
        self._allowed = min(self._most, float(terms.start or self._most))
        self._refused_at: float | None = None
        self._patience = _PATIENCE[0]
        self._inside = self._proven = 0
        self._next = 0.0
        self._again = 0  # refusals in a row
        self._waited_for = 0  # calls begun before the present pause
        self._heard = -math.inf  # when the last answer came
        self._turn = asyncio.Lock()
        self._changed = asyncio.Event()

    async def enter(self, is_over: Callable[[], bool]) -> Ticket:
        """Wait until a call may begin, or is not wanted; `leave` when it has ended."""
        loop = asyncio.get_running_loop()
        async with self._turn:
            waited = False
            while not is_over():
                full = self._inside >= max(1, int(self._allowed))
                if not full and self._next <= loop.time():
                    break
                waited |= not full
                self._changed.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout_at(None if full else self._next):
                        await self._changed.wait()
            now = loop.time()
            # A clock that wakes up late is no reason to fall behind.
            begun = max(self._next, now - _LATE) if waited else now
            self._next = begun + self._pace.gap(now)
            self._inside += 1
            return Ticket(self._pace.begin(now, waited=waited), self._inside)

    def leave(self) -> None:
        """Count a call that has ended."""
        self._inside -= 1
        self.look()

    def look(self) -> None:
        """Let whoever waits look whether it has to."""
        self._changed.set()

    def answered(self, ticket: Ticket, left: CallsLeft | None = None) -> None:
        """Allow a little more."""
        self._heard = now = asyncio.get_running_loop().time()
        self._again = 0
        if self._told:
            self._say(EVALUATING)
        self._proven = max(self._proven, ticket.inside)
        self._pace.answered(now)
        if left is not None:
            self._pace.told(left.calls, left.seconds, now)
        more = 1 / self._allowed
        if self._refused_at is None:
            more = 1.0
        elif abs(self._allowed - self._refused_at) <= 1:
            more /= self._patience
        self._allowed = min(self._most, self._allowed + more)

    def refused(self, error: BaseException, ticket: Ticket) -> bool:
        """Allow less, and nothing for a while, if the service wants it so.

        Once for a burst of refusals, not once for each: calls that were made before the
        last change say nothing of what came of it. Returns whether it was a refusal.
        """
        wanted = _wanted_pause(error)
        if wanted is None:
            return False
        now = asyncio.get_running_loop().time()
        pause = min(wanted, 10 * LONGEST_PAUSE)
        if not self._pace.is_old(ticket.number):
            if not self._pace.came_through(ticket.number):
                if ticket.number > self._waited_for:
                    pause = max(pause, self._backed_off())
                self._pace.blocked += max(0.0, now + pause - max(now, self._next))
            elif self._crowded(ticket) and wanted < _QUOTA:
                self._remember()
                less = min(_LESS * self._allowed, self._allowed - 1)
                self._allowed = max(1.0, less)
                self._pace.change(ticket.number, now)
                # Those before it were taken.
                self._proven = max(self._proven, ticket.inside - 1)
            else:
                pause = max(pause, self._backed_off())
                self._refused_at = None  # it was not that
                self._pace.slow_down(ticket.number, now, pause)
                self._pace.change(ticket.number, now)
            self._pace.refused()
        self._next = max(self._next, now + pause)
        return True

    def _crowded(self, ticket: Ticket) -> bool:
        """Tell whether it may be the calls under way that were too many."""
        surely = self._proven - max(1, self._proven // 16)  # ours, not the service's
        return not self._pace.limits and ticket.inside >= surely

    def _backed_off(self) -> float:
        """Return a pause that doubles with every refusal in a row."""
        doubled = self._pause * 2.0 ** min(self._again, 16)
        self._again += 1
        self._waited_for = self._pace.begun
        return min(_LONGEST, doubled) * random.uniform(0.5, 1.0)  # noqa: S311

    def _remember(self) -> None:
        """Note how many were refused."""
        before = self._refused_at
        self._refused_at = self._allowed
        again = before is not None and -1 <= self._allowed - before <= 1.5
        self._patience = min(_PATIENCE[again], 2 * self._patience)

    def gives_up(self, error: BaseException, since: float, *, tried: bool) -> bool:
        """Tell whether a call that was begun at ``since`` is not made again.

        Where the service refused it for a while, that is waited out as long as others
        are answered: it has a quota, and is no service that fails. Without any answer
        it is given up after minutes, and so it is at once where it wants to be left
        alone for longer. Of other errors ``tried`` decides.
        """
        wanted = _wanted_pause(error)
        if wanted is None:
            return tried
        silent = asyncio.get_running_loop().time() - max(self._heard, since)
        most = max(_SILENCE, min(3 * wanted, _LONGEST_SILENCE))
        if self._heard == -math.inf:
            most = _SILENCE
        if silent + wanted <= most and not (tried and self._heard == -math.inf):
            if silent >= _TOLD:
                long = f"for {silent:.0f} s, and {most:.0f} s at most"
                self._say(f"waiting {long}, for a service that says: {error!s:.60}")
            return False
        after = f" for {silent:.0f} s" if silent >= 1 else ""
        asks = f", and it wants to be left alone for {wanted:.0f} s" if wanted else ""
        error.add_note(f"It has answered no call{after}{asks}. Try again later.")
        return True

    def _say(self, what: str) -> None:
        self._told = what != EVALUATING
        self._tell(what)


def _wanted_pause(error: BaseException) -> float | None:
    """Return for how long a service wants to be left alone; ``None``: it is not that.

    Clients tell it in different ways: an attribute of the error, or of its response.
    """
    seconds = getattr(error, "retry_after", None)
    response = getattr(error, "response", None)
    if seconds is None:
        headers = getattr(response, "headers", None) or getattr(error, "headers", None)
        with contextlib.suppress(AttributeError, TypeError, ValueError):
            seconds = float(headers.get("retry-after"))  # type: ignore[union-attr]
    if isinstance(seconds, (int, float)) and math.isfinite(seconds) and seconds >= 0:
        return float(seconds)
    return 0.0 if {429, 503} & codes_of(error) else None


def notes_of(error: BaseException) -> str:
    """Return what was noted of an error, to follow a sentence."""
    return "".join(f" {note}" for note in getattr(error, "__notes__", []))


def codes_of(error: BaseException) -> set[int]:
    """Return the status codes that an error carries, itself or in its response."""
    names = ("status", "status_code", "code")
    response = getattr(error, "response", None)
    codes = [getattr(one, name, None) for one in (error, response) for name in names]
    return {code for code in codes if type(code) is int}
