"""Workers: they call the scorer, here or elsewhere, one at a time or many."""

import os
import pickle
import threading
import uuid
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fewpairs.errors import InputError, SimilarityError
from fewpairs.execution.calling import Outcome, Task, call
from fewpairs.similarity.base import Scorer, Similarity

__all__ = ["PortableScorer", "Serial", "Workers", "work"]

# Scorers of this process, by process and run: a forked child binds its own, because
# locks, threads and devices of a bound scorer do not survive a fork.
_BOUND: dict[tuple[int, str], tuple[Scorer, Similarity]] = {}
_BINDING = threading.Lock()
_KEPT = 4


class PortableScorer:
    """What is to be scored: a similarity bound here, and how to bind it elsewhere.

    The recipe and the items travel once to each worker, which binds them once.
    """

    def __init__(
        self, scorer: Scorer, similarity: Similarity, items: Sequence[Any] | None
    ) -> None:
        self.scorer = scorer
        self.name = similarity.name
        self.key = uuid.uuid4().hex
        self.similarity = similarity
        self._items = items

    @cached_property
    def payload(self) -> bytes:
        """The recipe and its items, to travel."""
        items = range(self.scorer.n) if self._items is None else self._items
        try:
            return _dumps((self.similarity, items))
        except Exception as error:  # whatever does not want to be pickled
            msg = (
                f"fewpairs.approximate: {self.name} or its items cannot be sent to "
                f"other processes ({type(error).__name__}: {error}). Define the "
                "function at the top of a module, use executor='threads', or "
                "pip install 'fewpairs[dask]', whose cloudpickle takes lambdas too."
            )
            raise InputError(msg) from error

    def open(self) -> None:
        """Let threads of this process find the scorer that is bound already."""
        _BOUND[os.getpid(), self.key] = self.scorer, self.similarity

    def close(self) -> None:
        """Forget it."""
        _BOUND.pop((os.getpid(), self.key), None)


def _dumps(thing: Any) -> bytes:
    try:
        import cloudpickle
    except ImportError:
        return pickle.dumps(thing, protocol=5)
    return bytes(cloudpickle.dumps(thing, protocol=5))


def work(key: str, task: Task, payload: bytes | None = None) -> Outcome | None:
    """Do a task in a worker; ``None``: nothing is bound here, and no payload came."""
    place = os.getpid(), key
    with _BINDING:
        if place not in _BOUND:
            if payload is None:
                return None
            # What the caller of approximate() itself has just packed.
            recipe, items = pickle.loads(payload)  # noqa: S301
            scorer = recipe.bind(items)
            scorer.prepare(lambda _: None)
            while len(_BOUND) >= _KEPT:  # workers outlive runs
                del _BOUND[next(iter(_BOUND))]
            _BOUND[place] = scorer, recipe
        scorer, recipe = _BOUND[place]
    outcome = call(scorer, recipe.name, task, recipe.bounds)
    if outcome.error is None:
        return outcome
    return outcome._replace(error=_portable(outcome.error))


def _portable(error: BaseException) -> BaseException:
    """Return an error that can travel: one that cannot would cost what was paid for."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - our own, of just now
    except Exception:  # noqa: BLE001 - whatever does not want to be pickled
        words = str(error)
        for kind in (KeyboardInterrupt, SystemExit, GeneratorExit):
            if isinstance(error, kind):
                return kind(words)
        return SimilarityError(words or type(error).__name__)
    return error


class Workers(ABC):
    """Does tasks. Only whoever called ``submit`` calls ``wait``, from one thread."""

    @property
    @abstractmethod
    def width(self) -> int:
        """How many tasks to have under way."""

    @abstractmethod
    def submit(self, task: Task) -> Any:
        """Begin a task; returns what stands for it."""

    @abstractmethod
    def wait(self) -> list[tuple[Any, Outcome]]:
        """Return tasks that are done, at least one, with what came of them."""

    def close(self) -> None:  # noqa: B027 - optional
        """End."""


@dataclass(frozen=True, eq=False)
class _Ticket:
    task: Task


class Serial(Workers):
    """Does one task at a time, here."""

    width = 1

    def __init__(self, portable: PortableScorer) -> None:
        self._portable = portable
        self._waiting: list[_Ticket] = []

    def submit(self, task: Task) -> Any:
        """Take a task; it is done when it is waited for."""
        self._waiting.append(_Ticket(task))
        return self._waiting[-1]

    def wait(self) -> list[tuple[Any, Outcome]]:
        """Do the task."""
        ticket = self._waiting.pop(0)
        scorer, recipe = self._portable.scorer, self._portable.similarity
        return [(ticket, call(scorer, recipe.name, ticket.task, recipe.bounds))]
