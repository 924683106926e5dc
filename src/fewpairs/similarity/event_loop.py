"""Calls of a service, side by side in an event loop of their own."""

import asyncio
import math
import random
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from functools import partial
from itertools import count
from typing import Any

import numpy as np

from fewpairs.similarity.gate import LONGEST_PAUSE, Gate, Terms
from fewpairs.similarity.service import Allowed, Service

__all__ = ["MISTAKES", "LoopThread", "PendingPairs", "is_final"]

# Mistakes in a program, which are there the next time too.
MISTAKES = (TypeError, AttributeError, NameError, ImportError, SyntaxError)


def is_final(error: BaseException) -> bool:
    """Tell whether the same call would fail again."""
    return isinstance(error, MISTAKES) or bool(getattr(error, "final", False))


class PendingPairs:
    """Pairs that are being asked for, and their answers: NaN until they come.

    Attributes
    ----------
    values
        The answers, in the order of the pairs.
    money
        What the service has charged.
    stop
        Whether nothing new is begun.
    spent
        Whether it stopped because no other call fits into what is allowed.
    failed
        The first pair that failed for good, and why.
    """

    def __init__(
        self,
        pairs: Sequence[tuple[Any, Any]],
        service: Service,
        allowed: Allowed | None = None,
    ) -> None:
        self.pairs = pairs
        self.values = np.full(len(pairs), np.nan)
        self.money = 0.0
        self.stop = self.spent = False
        self.failed: tuple[int, BaseException] | None = None
        self._service = service
        self._allowed = allowed or Allowed()
        size = service.per_call
        numbers = range(len(pairs))
        self._waiting = deque(list(numbers[t : t + size]) for t in numbers[::size])
        self._under_way: list[float] = []  # what each of those calls may cost
        self._answered = asyncio.Event()
        self._longest = 0.0  # seconds that a call took

    async def run(self, terms: Terms, gate: Gate) -> None:
        """Ask for all pairs, so many at a time; begin nothing new after an error.

        When the time has come, calls under way are given up: they take longer than any
        before them, or wait for a service that wants to be left alone.
        """
        now = asyncio.get_running_loop().time()
        self._end = now + (math.inf if (s := self._allowed.seconds) is None else s)
        at_once = min(terms.concurrency, len(self._waiting))
        try:
            async with self._until_the_end() as ended, asyncio.TaskGroup() as group:
                self._group = group
                for _ in range(at_once):
                    group.create_task(self._take_calls(terms, gate))
        except TimeoutError:
            if not ended.expired():
                raise
            self.spent = self.stop = True

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

    async def _take_calls(self, terms: Terms, gate: Gate) -> None:
        while self._waiting and not self.stop:
            some = self._waiting.popleft()
            try:
                said = [
                    await self._ask(some, terms, gate) for _ in range(terms.repeats)
                ]
                for t, own in zip(some, zip(*said, strict=True), strict=True):
                    if None not in own:
                        self.values[t] = math.fsum(own) / len(own)
                    else:  # asked again by itself
                        self._waiting.append([t])
                        self._group.create_task(self._take_calls(terms, gate))
            except _StoppedError:
                return
            except BaseException as error:
                # Nothing must get past: SystemExit would stop the loop, and whoever
                # waits for it would wait forever.
                if _is_cancelled(error):
                    raise
                self.fail(some[0], error)
                gate.look()
                return

    async def _ask(
        self, some: list[int], terms: Terms, gate: Gate
    ) -> Sequence[float | None]:
        began = asyncio.get_running_loop().time()
        for attempt in count():
            ticket = await gate.enter(partial(self._is_over, attempt))
            try:
                if self._is_over(attempt):
                    raise _StoppedError
                answers = await self._attempt(some, terms.timeout)
            except (Exception, asyncio.CancelledError) as error:
                if isinstance(error, _StoppedError):
                    raise
                if is_final(error) or _is_cancelled(error):
                    raise
                if gate.gives_up(error, began, tried=attempt >= terms.retries):
                    raise
                if gate.refused(error, ticket):
                    continue  # the gate knows when
            else:
                gate.answered(ticket, self._service.calls_left)
                return answers
            finally:
                gate.leave()
            doubled = 2.0 ** min(attempt, terms.retries, 64)
            pause = min(LONGEST_PAUSE, terms.pause * doubled)
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311
        raise AssertionError  # a loop that returns or raises

    def _is_over(self, attempt: int) -> bool:
        """Tell whether a call is not made again."""
        return self.stop and attempt > 0

    async def _attempt(
        self, some: list[int], timeout: float | None
    ) -> Sequence[float | None]:
        """Make one call, if it fits; what is charged is entered at once."""
        pairs = [self.pairs[t] for t in some]
        most = self._service.most(pairs)
        await self._until_it_fits(most)
        started = asyncio.get_running_loop().time()
        self._under_way.append(most)
        try:
            async with asyncio.timeout(timeout):
                return await self._service.ask(pairs, self._pay)
        finally:
            self._under_way.remove(most)
            took = asyncio.get_running_loop().time() - started
            self._longest = max(self._longest, took)
            self._answered.set()

    def _pay(self, money: float) -> None:
        self.money += money

    async def _until_it_fits(self, most: float) -> None:
        """Wait for calls under way, which may cost less than they might; or stop."""
        money = self._allowed.money
        while money is not None:
            if self.money + math.fsum(self._under_way) + most <= money:
                break
            if not self._under_way:
                self._stop_spent()
            self._answered.clear()
            await self._answered.wait()
        if asyncio.get_running_loop().time() + self._longest > self._end:
            self._stop_spent()

    def _until_the_end(self) -> asyncio.Timeout:
        return asyncio.timeout_at(None if self._end == math.inf else self._end)

    def _stop_spent(self) -> None:
        self.spent = self.stop = True
        raise _StoppedError


def _is_cancelled(error: BaseException) -> bool:
    """Tell whether it is we who are cancelled, not something that the judge awaits."""
    task = asyncio.current_task()
    return (
        isinstance(error, asyncio.CancelledError)
        and task is not None
        and task.cancelling() > 0
    )


class _StoppedError(Exception):
    """A call is not made, because all others have been stopped."""


class LoopThread:
    """An event loop in a thread of its own: also where another loop runs already."""

    def __init__(
        self, terms: Terms, service: Service, tell: Callable[[str], object] = len
    ) -> None:
        self.gate = Gate(terms, tell)
        self._terms, self._service = terms, service
        self._batches: set[PendingPairs] = set()
        self._told: list[BaseException] = []
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(self._complain)
        self._thread = threading.Thread(
            target=self._run, name="fewpairs.from_async", daemon=True
        )
        self._thread.start()

    def submit(self, batch: PendingPairs) -> Future[None]:
        """Begin to ask for a batch; returns a future of concurrent.futures."""
        self._batches.add(batch)
        work: Coroutine[Any, Any, None] = batch.run(self._terms, self.gate)
        done = asyncio.run_coroutine_threadsafe(work, self._loop)
        done.add_done_callback(lambda _: self._batches.discard(batch))
        return done

    def look(self) -> None:
        """Let calls that wait for their turn see that nothing new is begun."""
        self._loop.call_soon_threadsafe(self.gate.look)

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
        self._loop.run_until_complete(self._service.close())
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()

    def _complain(
        self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]
    ) -> None:
        """Log what nobody has heard of, and nothing else."""
        if not any(context.get("exception") is error for error in self._told):
            loop.default_exception_handler(context)
