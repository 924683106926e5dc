"""A gate for calls of a service: at a rate, and no more than it can take."""

import asyncio
import contextlib
import math
from dataclasses import dataclass

__all__ = ["LONGEST_PAUSE", "Gate", "Terms", "codes_of"]

LONGEST_PAUSE = 30.0  # seconds
_LESS = 0.7, 0.9  # of the calls under way, after a refusal; after one of a quota
_QUOTA = 10.0  # seconds of a pause that is a quota's: calls were too many, not at once
_MINUTE = 60.0  # seconds after it in which a refusal is the quota's, too
_PATIENCE = 8, 32  # times slower near where it was refused; at most, if again
_SILENCE = 120.0  # seconds without any answer for which refusals are waited out


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


class Gate:
    """Lets calls through: at a rate, and no more than a service can take.

    Additive increase, multiplicative decrease, as networks share a line: a refusal
    leaves 70 % of the calls that may be under way, an answered round of them allows one
    more. Until the first refusal it allows twice as many a round; near the number that
    was refused last it is eight times slower, and twice as slow again whenever it is
    refused there again, so that little is lost to refusals. A pause of ten seconds or
    more is what a quota asks for: it is kept, and as many go on after it; shorter ones
    in the minute that follows say nothing of how many a service can take at a time.
    """

    def __init__(self, terms: Terms) -> None:
        self._gap = 0.0 if terms.rate is None else 1.0 / terms.rate
        self._most = float(terms.concurrency)
        self._allowed = min(self._most, float(terms.start or self._most))
        self._refused_at: float | None = None
        self._patience = _PATIENCE[0]
        self._inside = 0
        self._next = 0.0
        self._age = 0
        self._quota = -math.inf  # until when refusals are taken for a quota's
        self._heard = -math.inf  # when the last answer came
        self._changed = asyncio.Event()

    async def __aenter__(self) -> int:
        while self._inside >= max(1, int(self._allowed)):
            self._changed.clear()
            await self._changed.wait()
        self._inside += 1
        now = asyncio.get_running_loop().time()
        turn = max(now, self._next)
        self._next = turn + self._gap
        try:
            if turn > now:
                await asyncio.sleep(turn - now)
        except BaseException:
            self._leave()
            raise
        return self._age

    async def __aexit__(self, *error: object) -> None:
        self._leave()

    def _leave(self) -> None:
        self._inside -= 1
        self._changed.set()

    def answered(self) -> None:
        """Allow a little more."""
        self._heard = asyncio.get_running_loop().time()
        more = 1 / self._allowed
        if self._refused_at is None:
            more = 1.0
        elif abs(self._allowed - self._refused_at) <= 1:
            more /= self._patience
        self._allowed = min(self._most, self._allowed + more)

    def refused(self, error: BaseException, age: int) -> None:
        """Allow less, and nothing for a while, if the service wants it so.

        Once for a burst of refusals, not once for each: calls that were made before the
        last change say nothing of what came of it.
        """
        seconds = _wanted_pause(error)
        if seconds is None:
            return
        now = asyncio.get_running_loop().time()
        self._next = max(self._next, now + min(seconds, 10 * LONGEST_PAUSE))
        if seconds >= _QUOTA:
            self._quota = now + seconds + _MINUTE
        elif age == self._age:
            quota = now < self._quota
            self._remember(quota=quota)
            self._allowed = max(1.0, _LESS[quota] * self._allowed)
            self._age += 1

    def _remember(self, *, quota: bool) -> None:
        """Note how many were refused, unless it was a quota that refused them."""
        before = self._refused_at
        self._refused_at = -math.inf if quota else self._allowed
        again = before is not None and -1 <= self._allowed - before <= 1.5
        self._patience = min(_PATIENCE[again], 2 * self._patience)

    def waits_out(self, error: BaseException, since: float) -> bool:
        """Tell whether a call that was begun at ``since`` is made again, come what may.

        A service that refuses calls for a while, and answers others, has a quota, and
        is no service that fails.
        """
        seconds = _wanted_pause(error)
        if seconds is None or self._heard == -math.inf:
            return False
        silent = asyncio.get_running_loop().time() - max(self._heard, since)
        return silent <= max(_SILENCE, 3 * seconds)


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


def codes_of(error: BaseException) -> set[int]:
    """Return the status codes that an error carries, itself or in its response."""
    names = ("status", "status_code", "code")
    response = getattr(error, "response", None)
    codes = [getattr(one, name, None) for one in (error, response) for name in names]
    return {code for code in codes if type(code) is int}
