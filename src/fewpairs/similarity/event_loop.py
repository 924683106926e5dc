"""Calls of an asynchronous function, side by side in an event loop of their own."""

import asyncio
import math
import random
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future
from typing import Any

import numpy as np

from fewpairs.similarity.gate import LONGEST_PAUSE, Gate, Terms, codes_of

__all__ = ["MISTAKES", "Judge", "LoopThread", "PendingPairs"]

Judge = Callable[[Any, Any], Awaitable[Any]]

# Mistakes in a program, which are there the next time too.
MISTAKES = (TypeError, AttributeError, NameError, ImportError, SyntaxError)
# What reading an answer raises that is not what was asked for: the answer has come.
_UNREADABLE = (ValueError, LookupError, TypeError)


class PendingPairs:
    """Pairs that are being asked for, and their answers: NaN until they come.

    Attributes
    ----------
    values
        The answers, in the order of the pairs.
    billed
        Calls that the service has charged for.
    stop
        Whether nothing new is begun.
    failed
        The first pair that failed for good, and why.
    """

    def __init__(self, pairs: list[tuple[Any, Any]]) -> None:
        self.pairs = pairs
        self.values = np.full(len(pairs), np.nan)
        self.billed = 0
        self.stop = False
        self.failed: tuple[int, BaseException] | None = None

    async def run(
        self,
        function: Judge,
        terms: Terms,
        gate: Gate,
    ) -> None:
        """Ask for all pairs, so many at a time; begin nothing new after an error."""
        waiting = iter(range(len(self.pairs)))
        at_once = min(terms.concurrency, len(self.pairs))
        async with asyncio.TaskGroup() as group:
            for _ in range(at_once):
                group.create_task(self._take_calls(waiting, function, terms, gate))

    def fail(self, t: int, error: BaseException) -> None:
        """End it; of several errors, what ends a program counts, then the first."""
        while isinstance(error, BaseExceptionGroup) and not isinstance(
            error, Exception
        ):  # of tasks of the judge's own: one of them wants to end the program
            error = next(e for e in error.exceptions if not isinstance(e, Exception))
        before = self.failed
        ends, ended = (
            one is not None and not isinstance(one, (Exception, asyncio.CancelledError))
            for one in (error, before and before[1])
        )
        if before is None or ends > ended or (ends == ended and t < before[0]):
            self.failed = t, error
        self.stop = True

    async def _take_calls(
        self,
        waiting: Iterator[int],
        function: Judge,
        terms: Terms,
        gate: Gate,
    ) -> None:
        for t in waiting:
            if self.stop:
                return
            try:
                answers = [
                    await self._ask(t, function, terms, gate)
                    for _ in range(terms.repeats)
                ]
                self.values[t] = math.fsum(answers) / len(answers)
            except _StoppedError:
                return
            except BaseException as error:
                # Nothing must get past: SystemExit would stop the loop, and whoever
                # waits for it would wait forever.
                if _is_cancelled(error):
                    raise
                self.fail(t, error)
                return

    async def _ask(
        self,
        t: int,
        function: Judge,
        terms: Terms,
        gate: Gate,
    ) -> float:
        for attempt in range(terms.retries + 1):
            async with gate as age:
                if self.stop and attempt:
                    raise _StoppedError
                try:
                    answer = await self._attempt(t, function, terms.timeout)
                except (Exception, asyncio.CancelledError) as error:
                    last = isinstance(error, MISTAKES) or attempt == terms.retries
                    if last or _is_cancelled(error):
                        raise
                    gate.refused(error, age)
                else:
                    gate.answered()
                    return answer
            pause = min(LONGEST_PAUSE, terms.pause * 2**attempt)
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311
        raise AssertionError  # a loop that returns or raises

    async def _attempt(self, t: int, function: Judge, timeout: float | None) -> float:
        """Make one call; whatever is answered has been charged for."""
        try:
            async with asyncio.timeout(timeout):
                answer = await function(*self.pairs[t])
        except Exception as error:
            self.billed += _was_billed(error)
            raise
        self.billed += 1
        return _number(answer)


def _is_cancelled(error: BaseException) -> bool:
    """Tell whether it is we who are cancelled, not something that the judge awaits."""
    task = asyncio.current_task()
    return (
        isinstance(error, asyncio.CancelledError)
        and task is not None
        and task.cancelling() > 0
    )


def _was_billed(error: Exception) -> bool:
    """Tell whether a service has charged for a call that raised.

    Its error may say so. If not, an answer that could not be read has been charged
    for; a refusal, a broken connection and a call that took too long have not.
    """
    said = getattr(error, "billed", None)
    if said is not None:
        return bool(said)
    return isinstance(error, _UNREADABLE) and not any(c >= 400 for c in codes_of(error))


class _StoppedError(Exception):
    """A call that would be made again is not, because all others have been stopped."""


def _number(value: Any) -> float:
    array = np.asarray(value)
    if array.shape != () or array.dtype.kind not in "biuf" or not np.isfinite(array):
        msg = f"the answer was {value!r:.60}; it must be one finite number"
        raise ValueError(msg)
    return float(array)


class LoopThread:
    """An event loop in a thread of its own: also where another loop runs already."""

    def __init__(self, terms: Terms) -> None:
        self.gate = Gate(terms)
        self._terms = terms
        self._batches: set[PendingPairs] = set()
        self._told: list[BaseException] = []
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(self._complain)
        self._thread = threading.Thread(
            target=self._run, name="fewpairs.from_async", daemon=True
        )
        self._thread.start()

    def submit(self, batch: PendingPairs, function: Judge) -> Future[None]:
        """Begin to ask for a batch; returns a future of concurrent.futures."""
        self._batches.add(batch)
        work = batch.run(function, self._terms, self.gate)
        done = asyncio.run_coroutine_threadsafe(work, self._loop)
        done.add_done_callback(lambda _: self._batches.discard(batch))
        return done

    def stop(self) -> None:
        """End the loop and its thread."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._loop.stop)
            if threading.current_thread() is not self._thread:
                self._thread.join(timeout=5)

    def _run(self) -> None:
        while True:
            try:
                self._loop.run_forever()
                break
            except BaseException as error:  # noqa: BLE001 - goes to who waits
                # SystemExit or KeyboardInterrupt of a task that the judge has begun. It
                # ends the run, not the loop: calls under way are still answered.
                self._told.append(error)
                for batch in list(self._batches):
                    batch.fail(0, error)
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()

    def _complain(
        self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]
    ) -> None:
        """Log what nobody has heard of, and nothing else."""
        if not any(context.get("exception") is error for error in self._told):
            loop.default_exception_handler(context)
