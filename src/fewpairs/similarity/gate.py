"""A gate for calls of a service: at a rate, and no more than it can take."""

import asyncio
import contextlib
import math
from dataclasses import dataclass

__all__ = ["LONGEST_PAUSE", "Gate", "Terms", "codes_of"]

LONGEST_PAUSE = 30.0  # seconds


@dataclass(frozen=True)
class Terms:
    """How calls are made."""

    concurrency: int
    retries: int
    timeout: float | None
    pause: float
    rate: float | None
    repeats: int


class Gate:
    """Lets calls through: at a rate, and no more than a service can take.

    Additive increase, multiplicative decrease, as networks share a line: a refusal
    halves the calls that may be under way, an answered round of them allows one more.
    """

    def __init__(self, terms: Terms) -> None:
        self._gap = 0.0 if terms.rate is None else 1.0 / terms.rate
        self._most = float(terms.concurrency)
        self._allowed = self._most
        self._inside = 0
        self._next = 0.0
        self._age = 0
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
        self._allowed = min(self._most, self._allowed + 1 / self._allowed)

    def refused(self, error: BaseException, age: int) -> None:
        """Allow half as much, and nothing for a while, if the service wants it so.

        Once for a burst of refusals, not once for each: calls that were made before the
        last change say nothing of what came of it.
        """
        seconds = _wanted_pause(error)
        if seconds is None:
            return
        now = asyncio.get_running_loop().time()
        self._next = max(self._next, now + min(seconds, 10 * LONGEST_PAUSE))
        if age == self._age:
            self._allowed = max(1.0, self._allowed / 2)
            self._age += 1


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
