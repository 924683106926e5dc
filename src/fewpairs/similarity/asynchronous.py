"""An asynchronous function as a similarity: a service, an LLM judge, a paid scorer."""

import asyncio
import contextlib
import math
import random
import threading
import weakref
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.errors import InputError, SimilarityError
from fewpairs.interrupts import exposed, shut
from fewpairs.similarity.base import Interrupted, Scorer, Similarity, check_facts
from fewpairs.types import Indices

__all__ = ["from_async"]

_LONGEST_PAUSE = 30.0
# Mistakes in a program, which are there the next time too.
_MISTAKES = (TypeError, AttributeError, NameError, ImportError, SyntaxError)
_CHUNK = 8  # calls per concurrent call, in one chunk

Judge = Callable[[Any, Any], Awaitable[Any]]


def from_async(
    function: Judge,
    *,
    concurrency: int = 16,
    retries: int = 5,
    timeout: float | None = 60.0,
    pause: float = 0.25,
    rate: float | None = None,
    cost_per_call: float = 0.0,
    repeats: int = 1,
    symmetric: bool | None = None,
    diagonal: float | None = None,
    bounds: tuple[float, float] | None = None,
    chunk: int | None = None,
    name: str | None = None,
) -> Similarity:
    """Make a similarity of an asynchronous function, such as a call of a service.

    Calls run side by side. One that raises, takes too long or answers no finite number
    is made again after a pause that doubles every time, with some chance in it. Where
    the service says that it is asked too much (an error with the status 429 or 503, or
    with an attribute ``retry_after``: seconds in which no call is made), half as many
    calls are under way from then on, and more again as they succeed. What is answered
    is kept, also when another call fails for good or Ctrl-C is pressed: calls that are
    under way are then still waited for, until Ctrl-C is pressed again.

    Parameters
    ----------
    function
        ``async f(a, b) -> float``. All calls run in one event loop of their own, so a
        client that is made in the first call serves all of them.
    concurrency
        Calls under way at a time.
    retries
        How often a failed call is made again before it counts as an error. A mistake
        such as a ``TypeError`` counts at once.
    timeout
        Seconds that a call may take; ``None``: no limit.
    pause
        Seconds before a failed call is made again for the first time; then twice as
        many, four times as many and so on, up to half a minute.
    rate
        Calls that may be started in a second; ``None``: no limit.
    cost_per_call
        Money that an answered call costs, for the bill, the progress and the ledger.
        Attempts that failed are not in it.
    repeats
        Calls whose answers are averaged into one evaluation. They count as one, and
        cost as many as they are.
    symmetric
        Whether f(a, b) = f(b, a). If not, both orders are asked and averaged, at two
        evaluations a pair. ``None``: found out on a few pairs in both orders.
    diagonal, bounds
        f(a, a), where it is the same for every item; smallest and largest value.
    chunk
        Evaluations that are kept together: a kill loses at most one chunk. Eight per
        concurrent call by default.
    name
        How receipts call it, and a ledger knows it.

    Examples
    --------
    >>> import fewpairs as fp
    >>> async def judge(a, b):  # stands for a request over the network
    ...     return len(set(a) & set(b)) / len(set(a) | set(b))
    >>> similarity = fp.from_async(judge, symmetric=True, cost_per_call=0.001)
    >>> texts = [f"{a} {b}" for a in ("red", "green", "blue") for b in range(30)]
    >>> approx = fp.approximate(texts, similarity, budget=0.2)
    >>> approx.bill.money == 0.001 * approx.evaluations
    True
    """
    call = "fewpairs.from_async"
    if not callable(function):
        msg = f"{call}: got {function!r:.60}; pass a function, async f(a, b) -> float."
        raise InputError(msg)
    check_facts(call, diagonal, bounds)
    _check_number(call, "concurrency", concurrency, 1, whole=True)
    _check_number(call, "retries", retries, 0, whole=True)
    _check_number(call, "repeats", repeats, 1, whole=True)
    _check_number(call, "cost_per_call", cost_per_call, 0)
    for what, value in (("timeout", timeout), ("rate", rate), ("pause", pause)):
        if value is not None:
            _check_number(call, what, value, 0, above=True)
    if chunk is None:
        chunk = _CHUNK * concurrency
    _check_number(call, "chunk", chunk, 1, whole=True)
    terms = Terms(concurrency, retries, timeout, pause, rate, repeats)
    return _AsyncSimilarity(
        function, terms, chunk, cost_per_call, symmetric, diagonal, bounds, name
    )


def _check_number(
    call: str,
    what: str,
    value: Any,
    least: float,
    *,
    whole: bool = False,
    above: bool = False,
) -> None:
    kinds = (int, np.integer) if whole else (int, float, np.number)
    good = isinstance(value, kinds) and not isinstance(value, bool)
    if not good or not math.isfinite(value) or value < least or (above and value <= 0):
        kind = "a whole number" if whole else "a number"
        where = "above 0" if above else f"from {least} on"
        msg = f"{call}: {what} is {value!r:.60}; pass {kind} {where}."
        raise InputError(msg)


@dataclass(frozen=True)
class Terms:
    """How calls are made."""

    concurrency: int
    retries: int
    timeout: float | None
    pause: float
    rate: float | None
    repeats: int


@dataclass(frozen=True)
class _AsyncSimilarity(Similarity):
    function: Judge
    terms: Terms
    chunk: int
    cost: float
    symmetric: bool | None
    diagonal: float | None
    bounds: tuple[float, float] | None
    known_as: str | None = None

    @property
    def name(self) -> str:
        if self.known_as is not None:
            return self.known_as
        return getattr(self.function, "__name__", type(self.function).__name__)

    def identify(self) -> Iterable[Any]:
        """Return its name, so that a function can be mended."""
        known = self.function if self.known_as is None else self.known_as
        return (known, self.diagonal, self.terms.repeats)

    def bind(self, items: Sequence[Any]) -> Scorer:
        return _AsyncScorer(self, list(items))


class _AsyncScorer(Scorer):
    def __init__(self, similarity: _AsyncSimilarity, items: list[Any]) -> None:
        self.n = len(items)
        self.chunk = similarity.chunk
        self.price = similarity.cost * similarity.terms.repeats
        self._similarity = similarity
        self._items = items
        self._lock = threading.Lock()
        self._thread: _LoopThread | None = None

    def pairs(self, i: Indices, j: Indices) -> NDArray[Any]:
        shut()  # but while answers are waited for
        with self._lock:
            if self._thread is None:
                self._thread = _LoopThread(self._similarity.terms)
                weakref.finalize(self, self._thread.stop)
        items = self._items
        batch = _Batch([(items[a], items[b]) for a, b in zip(i, j, strict=True)])
        function, terms = self._similarity.function, self._similarity.terms
        done = self._thread.submit(batch.run(function, terms, self._thread.gate))
        stopped: BaseException | None = None
        while True:
            try:
                with exposed:
                    done.result()
                break
            except BaseException as error:  # noqa: BLE001 - keep what was paid for
                if done.done():
                    stopped = stopped or error
                    break
                if stopped is not None:  # Ctrl-C again
                    done.cancel()
                    break
                stopped = error
                batch.stop = True
        if stopped is None and batch.failed is not None:
            t, failure = batch.failed
            stopped = self._describe((int(i[t]), int(j[t])), failure)
        if stopped is not None:
            raise Interrupted(batch.values.copy(), stopped)
        return batch.values

    def _describe(self, pair: tuple[int, int], error: BaseException) -> BaseException:
        if not isinstance(error, Exception):
            return error
        a, b = (f"{self._items[t]!r:.40}" for t in pair)
        tries = (
            1 if isinstance(error, _MISTAKES) else self._similarity.terms.retries + 1
        )
        failed = SimilarityError(
            f"{self._similarity.name}(items[{pair[0]}], items[{pair[1]}]) raised "
            f"{type(error).__name__}: {error}, after {tries} "
            f"{'try' if tries == 1 else 'tries'}. The items: {a} and {b}. What was "
            "paid for before is in the error's .ledger; pass it as store= to go on.",
            pair=pair,
        )
        failed.__cause__ = error
        return failed


class _Batch:
    """Pairs that are being asked for, and their answers: NaN until they come."""

    def __init__(self, pairs: list[tuple[Any, Any]]) -> None:
        self.pairs = pairs
        self.values = np.full(len(pairs), np.nan)
        self.stop = False
        self.failed: tuple[int, BaseException] | None = None

    async def run(
        self,
        function: Judge,
        terms: Terms,
        gate: "_Gate",
    ) -> None:
        """Ask for all pairs, so many at a time; begin nothing new after an error."""
        waiting = iter(range(len(self.pairs)))
        at_once = min(terms.concurrency, len(self.pairs))
        async with asyncio.TaskGroup() as group:
            for _ in range(at_once):
                group.create_task(self._take_calls(waiting, function, terms, gate))

    async def _take_calls(
        self,
        waiting: Iterator[int],
        function: Judge,
        terms: Terms,
        gate: "_Gate",
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
            except asyncio.CancelledError:
                raise
            except _StoppedError:
                return
            except Exception as error:  # noqa: BLE001 - whatever a service raises
                if self.failed is None or t < self.failed[0]:
                    self.failed = t, error
                self.stop = True
                return

    async def _ask(
        self,
        t: int,
        function: Judge,
        terms: Terms,
        gate: "_Gate",
    ) -> float:
        for attempt in range(terms.retries + 1):
            async with gate as age:
                if self.stop and attempt:
                    raise _StoppedError
                try:
                    async with asyncio.timeout(terms.timeout):
                        answer = _number(await function(*self.pairs[t]))
                except Exception as error:
                    if isinstance(error, _MISTAKES) or attempt == terms.retries:
                        raise
                    gate.refused(error, age)
                else:
                    gate.answered()
                    return answer
            pause = min(_LONGEST_PAUSE, terms.pause * 2**attempt)
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311
        raise AssertionError  # a loop that returns or raises


class _StoppedError(Exception):
    """A call that would be made again is not, because all others have been stopped."""


def _number(value: Any) -> float:
    array = np.asarray(value)
    if array.shape != () or array.dtype.kind not in "biuf" or not np.isfinite(array):
        msg = f"the answer was {value!r:.60}; it must be one finite number"
        raise ValueError(msg)
    return float(array)


class _Gate:
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

    def refused(self, error: Exception, age: int) -> None:
        """Allow half as much, and nothing for a while, if the service wants it so.

        Once for a burst of refusals, not once for each: calls that were made before the
        last change say nothing of what came of it.
        """
        seconds = _wanted_pause(error)
        if seconds is None:
            return
        now = asyncio.get_running_loop().time()
        self._next = max(self._next, now + min(seconds, 10 * _LONGEST_PAUSE))
        if age == self._age:
            self._allowed = max(1.0, self._allowed / 2)
            self._age += 1


def _wanted_pause(error: Exception) -> float | None:
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
    names = ("status", "status_code", "code")
    codes = [getattr(one, name, None) for one in (error, response) for name in names]
    return 0.0 if {429, 503} & {code for code in codes if type(code) is int} else None


class _LoopThread:
    """An event loop in a thread of its own: also where another loop runs already."""

    def __init__(self, terms: Terms) -> None:
        self.gate = _Gate(terms)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._run, name="fewpairs.from_async", daemon=True
        )
        self._thread.start()

    def submit(self, work: Any) -> Any:
        """Begin a coroutine; returns a future of concurrent.futures."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def stop(self) -> None:
        """End the loop and its thread."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._loop.stop)
            if threading.current_thread() is not self._thread:
                self._thread.join(timeout=5)

    def _run(self) -> None:
        try:
            self._loop.run_forever()
        finally:
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()
