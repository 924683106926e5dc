"""An asynchronous function as a similarity: a service, an LLM judge, a paid scorer."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.checks import check_flag, check_number, check_whole, refuse
from fewpairs.errors import SimilarityError, SpentError
from fewpairs.interrupts import shut
from fewpairs.similarity.asking import Asking
from fewpairs.similarity.base import Interrupted, Scorer, Similarity
from fewpairs.similarity.event_loop import is_final
from fewpairs.similarity.facts import check_facts
from fewpairs.similarity.function_state import state_of
from fewpairs.similarity.gate import Terms, codes_of, notes_of
from fewpairs.similarity.items import as_items
from fewpairs.similarity.service import Allowed, Pay, Service
from fewpairs.types import Indices

__all__ = ["from_async"]

AsyncFunction = Callable[[Any, Any], Awaitable[Any]]

# What reading an answer raises that is not what was asked for: the answer has come.
_UNREADABLE = (ValueError, LookupError, TypeError)

_LANES = 100_000  # calls under way that an event loop can hold
_REPEATS = 10_000
_CHUNK = 8  # calls per concurrent call, in one chunk


def from_async(
    function: AsyncFunction,
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
    deterministic: bool | None = None,
) -> Similarity:
    """Make a similarity of an asynchronous function, such as a call of a service.

    Calls run side by side. One that raises, takes too long or answers no finite number
    is made again after a pause that doubles every time, with some chance in it. Where
    the service says that it is asked too much (an error with the status 429 or 503, or
    with an attribute ``retry_after``: seconds in which no call is made), fewer calls
    are under way from then on, or fewer are begun in a second, and more again as they
    succeed. What is answered is kept, also when another call fails for good or Ctrl-C
    is pressed: calls that are under way are then still waited for, until Ctrl-C is
    pressed again.

    Parameters
    ----------
    function
        ``async f(a, b) -> float``. All calls run in one event loop of their own, so a
        client that is made in the first call serves all of them.
    concurrency
        Calls under way at a time.
    retries
        How often a failed call is made again before it counts as an error. A mistake
        such as a ``TypeError`` counts at once. A service that says 429 or 503, and
        answers other calls, is asked as often as it takes; after three minutes without
        any answer it is given up (ten, where it asks for long pauses).
    timeout
        Seconds that a call may take; ``None``: no limit.
    pause
        Seconds before a failed call is made again for the first time; then twice as
        many, four times as many and so on, up to half a minute.
    rate
        Calls that may be started in a second; ``None``: no limit.
    cost_per_call
        Money that an answered call costs, for the bill, the progress and the ledger:
        also one whose answer was no use (no number, or a ``ValueError``,
        ``LookupError`` or ``TypeError`` while it was read) and was asked for again. A
        refusal (an error with a status of 400 or more), a broken connection and a call
        that took too long cost nothing. An error with an attribute ``billed`` (True or
        False) knows better.
    repeats
        Calls whose answers are averaged into one evaluation. They count as one, and
        cost as many as they are.
    symmetric
        Whether f(a, b) = f(b, a). If not, both orders are asked and averaged, at two
        evaluations per pair. ``None``: found out on a few pairs in both orders.
    diagonal, bounds
        f(a, a), where it is the same for every item; smallest and largest value.
    chunk
        Evaluations that are kept together: a kill loses at most one chunk. Eight per
        concurrent call by default.
    name
        How receipts call it, and a ledger knows it.
    deterministic
        Whether the same two items get the same value every time. A store's values are
        then compared with a few fresh ones before they are used. ``None``: unless
        there are ``repeats``.

    Examples
    --------
    >>> import fewpairs as fp
    >>> async def judge(a, b):  # stands for a request over the network
    ...     return len(set(a) & set(b)) / len(set(a) | set(b))
    >>> similarity = fp.from_async(judge, symmetric=True, cost_per_call=0.001)
    >>> texts = [f"{a} {b}" for a in ("red", "green", "blue") for b in range(30)]
    >>> approx = fp.approximate(texts, similarity, budget=0.2)
    >>> round(approx.bill.money, 6) == round(0.001 * approx.evaluations, 6)
    True
    """
    call = "fewpairs.from_async"
    if not callable(function) or isinstance(function, type):
        cure = "a function, async f(a, b) -> float"
        raise refuse(call, "function", function, cure)
    check_facts(call, symmetric=symmetric, diagonal=diagonal, bounds=bounds, name=name)
    bounds = None if bounds is None else (bounds[0], bounds[1])
    concurrency = check_whole(call, "concurrency", concurrency, least=1, most=_LANES)
    retries = check_whole(call, "retries", retries)
    repeats = check_whole(call, "repeats", repeats, least=1, most=_REPEATS)
    check_number(call, "cost_per_call", cost_per_call, least=0)
    check_number(call, "timeout", timeout, above=0, none=True)
    check_number(call, "pause", pause, above=0)
    check_number(call, "rate", rate, above=0, none=True)
    check_flag(call, "deterministic", deterministic, none=True)
    if chunk is None:
        chunk = _CHUNK * concurrency
    chunk = check_whole(call, "chunk", chunk, least=1)
    terms = Terms(concurrency, retries, timeout, pause, rate, repeats)
    return _AsyncSimilarity(
        function,
        terms,
        chunk,
        cost_per_call,
        symmetric,
        diagonal,
        bounds,
        name,
        repeats == 1 if deterministic is None else deterministic,
    )


@dataclass(frozen=True, repr=False)
class _AsyncSimilarity(Similarity):
    function: AsyncFunction
    terms: Terms
    chunk: int
    cost: float
    symmetric: bool | None
    diagonal: float | None
    bounds: tuple[float, float] | None
    known_as: str | None = None
    deterministic: bool = True

    @property
    def name(self) -> str:
        if self.known_as is not None:
            return self.known_as
        return getattr(self.function, "__name__", type(self.function).__name__)

    def standing(self) -> tuple[list[Any], str]:
        return [self.function], state_of(self.function)

    def identify(self) -> Iterable[Any]:
        """Return its name, so that a function can be mended."""
        known = self.function if self.known_as is None else self.known_as
        return (known, self.diagonal, self.terms.repeats)

    def bind(self, items: Sequence[Any]) -> Scorer:
        return _AsyncScorer(self, list(as_items(items, "fewpairs.from_async")))


class _AsyncScorer(Scorer):
    backend = "asyncio"

    def __init__(self, similarity: _AsyncSimilarity, items: list[Any]) -> None:
        self.n = len(items)
        self.chunk = similarity.chunk
        self.price = similarity.cost * similarity.terms.repeats
        self._similarity = similarity
        self._items = items
        service = _OneCall(similarity.function, similarity.cost)
        self._asking = Asking(service, similarity.terms)

    def watch(self, note: Callable[[str], object]) -> None:
        self._asking.note = note

    def spent(self) -> float:
        return self._asking.spent()

    def pairs(self, i: Indices, j: Indices) -> NDArray[Any]:
        return self.pairs_within(i, j, Allowed())

    def pairs_within(self, i: Indices, j: Indices, allowed: Allowed) -> NDArray[Any]:
        shut()  # but while answers are waited for
        items = self._items
        asked = [(items[a], items[b]) for a, b in zip(i, j, strict=True)]
        values, stopped, failed, spent = self._asking.ask(asked, allowed)
        if stopped is None and failed is not None:
            t, failure = failed
            stopped = self._describe((int(i[t]), int(j[t])), failure)
        if stopped is None and spent:
            stopped = SpentError()
        if stopped is not None:
            raise Interrupted(values, stopped)
        return values

    def _describe(self, pair: tuple[int, int], error: BaseException) -> BaseException:
        if not isinstance(error, (Exception, asyncio.CancelledError)):
            return error
        a, b = (f"{self._items[t]!r:.40}" for t in pair)
        tries = 1 if is_final(error) else self._similarity.terms.retries + 1
        failed = SimilarityError(
            f"{self._similarity.name}(items[{pair[0]}], items[{pair[1]}]) raised "
            f"{type(error).__name__}: {error}, after {tries} "
            f"{'try' if tries == 1 else 'tries'}.{notes_of(error)} "
            f"The items: {a} and {b}. What was paid for before is in the error's "
            ".ledger; pass it as store= to go on.",
            pair=pair,
        )
        failed.__cause__ = error
        return failed


class _OneCall(Service):
    """A function that is asked for one pair per call, at a fixed price."""

    def __init__(self, function: AsyncFunction, cost: float) -> None:
        self._function, self._cost = function, cost

    def most(self, pairs: Sequence[tuple[Any, Any]]) -> float:
        return self._cost * len(pairs)

    async def ask(
        self, pairs: Sequence[tuple[Any, Any]], pay: Pay
    ) -> Sequence[float | None]:
        """Make the call; whatever is answered has been charged for."""
        ((a, b),) = pairs
        try:
            answer = await self._function(a, b)
        except Exception as error:
            pay(self._cost * _was_billed(error))
            raise
        pay(self._cost)
        return [_number(answer)]


def _was_billed(error: Exception) -> bool:
    """Tell whether a service has charged for a call that raised.

    Its error may say so. If not, an answer that could not be read has been charged
    for; a refusal, a broken connection and a call that took too long have not.
    """
    said = getattr(error, "billed", None)
    if said is not None:
        return bool(said)
    return isinstance(error, _UNREADABLE) and not any(c >= 400 for c in codes_of(error))


def _number(value: Any) -> float:
    array = np.asarray(value)
    if array.shape != () or array.dtype.kind not in "biuf" or not np.isfinite(array):
        msg = f"the answer was {value!r:.60}; it must be one finite number"
        raise ValueError(msg)
    return float(array)
