"""Evaluator: fills in missing entries, chunk by chunk, by whoever does the calls."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewpairs.errors import SpentError
from fewpairs.execution import Workers
from fewpairs.execution.calling import Outcome, Task
from fewpairs.matrix.grid import Piece
from fewpairs.matrix.limits import Limits
from fewpairs.similarity.base import Scorer, cut
from fewpairs.types import Indices

__all__ = ["Evaluator"]

# Told of a chunk that is whole: its number, where it is, whether it was paid for now.
Keep = Callable[[int, Piece, bool], None]
# Told of a task that is done: its number and values; ``None`` where there was none.
Take = Callable[[int, NDArray[Any] | None], None]
# Told of what was paid for of a chunk that failed: items, items, values.
Rescue = Callable[[Indices, Indices, NDArray[Any]], None]


class Evaluator:
    """Fills arrays whose missing entries are NaN, chunk by chunk.

    What fails is returned, not raised, so that its caller can first keep what has
    been paid for: ``fill`` returns ``None`` or an error, and leaves NaN where nothing
    was evaluated.

    Parameters
    ----------
    workers
        Those who call the similarity.
    scorer
        Its facts: how many pairs make a chunk, whether it has blocks of its own.
    report
        Told of every finished call: how many evaluations it was, and their cost.

    Attributes
    ----------
    rescue
        Told of what was paid for of a chunk that failed.
    averages
        Whether an entry is ½(s(a, b) + s(b, a)), at two evaluations.
    seconds
        Time spent inside the similarity, all workers together.
    limits
        Of money and time; ``None``: there are none.
    """

    def __init__(
        self, workers: Workers, scorer: Scorer, report: Callable[[int, float], None]
    ) -> None:
        self.averages = False
        self.seconds = 0.0
        self._chunk = int(scorer.chunk)
        # Where blocks are no faster than pairs, pairs lose less on an error.
        self.blocks = scorer.has_blocks
        self._workers = workers
        self._report = report
        self.limits: Limits | None = None
        # Of a scorer that does not stop by itself: what one costs.
        self._price = None if scorer.stops else float(scorer.price)
        self.rescue: Rescue | None = None

    @property
    def chunk(self) -> int:
        """Evaluations of one call: fewer where it cannot be stopped, and has to be."""
        if self.limits is None or self.limits.chunk is None or self._price is None:
            return self._chunk
        return min(self._chunk, self.limits.chunk)

    @property
    def width(self) -> int:
        """How many calls may be under way at a time."""
        return self._workers.width

    def score(self, a: Indices, b: Indices, *, both: bool = False) -> Outcome:
        """Call the similarity once, for pairs in the order that is given, or both."""
        task = self._within(Task(a, b, block=False, both=both), 1)
        if task is None:
            return Outcome(np.full(len(a), np.nan), 0, error=SpentError())
        with self._waiting():
            self._workers.submit(task)
            ((_, outcome),) = self._workers.wait()
        self._book(outcome, task)
        return outcome

    def _waiting(self) -> AbstractContextManager[None]:
        return nullcontext() if self.limits is None else self.limits.waiting()

    def _within(self, task: Task, workers: int) -> Task | None:
        """Return a task that knows what it may take; ``None``: it does not fit."""
        if self.limits is None:
            return task
        size = len(task.a) * (len(task.b) if task.block else 1) * (1 + task.both)
        price = self._price
        if task.block and price is None:  # only pairs can stop
            price = 0.0
        allowed = self.limits.allow(size, workers, price)
        return None if allowed is None else task._replace(allowed=allowed)

    def fill(
        self,
        V: NDArray[Any],
        rows: Indices,
        columns: Indices,
        pieces: Iterable[Piece],
        keep: Keep | None = None,
        *,
        blank: bool = False,
    ) -> BaseException | None:
        """Evaluate what is NaN in these pieces of V; tell ``keep`` of each whole one.

        Row r of V is item ``rows[r]``, and column c item ``columns[c]``; a V of one
        dimension is a list of pairs. A piece of which nothing is missing is kept too.
        With ``blank``, all pieces are missing, and V is not looked at.
        """
        jobs = self._jobs(V, rows, columns, pieces, blank=blank)
        under_way = _UnderWay(jobs)
        while True:
            try:
                with self._waiting():
                    going_on = self._step(V, under_way, keep)
                if not going_on:
                    return under_way.error
            except BaseException as stop:  # noqa: BLE001 - keep what was paid for
                # Ctrl-C: what is under way is still waited for, unless it comes again.
                again = under_way.error is not None
                if again or not isinstance(stop, KeyboardInterrupt):
                    return under_way.error or stop
                under_way.error = stop

    def stream(self, tasks: Iterable[Task | None], take: Take) -> BaseException | None:
        """Do tasks; ``take`` is told their number and values, in their order.

        ``None`` among the tasks stands for one of which nothing is to be done. Nothing
        is kept here: of what was paid for behind an error, ``rescue`` is told.
        """
        now = _InOrder(enumerate(tasks), take)
        while True:
            try:
                with self._waiting():
                    going_on = self._advance(now)
                if not going_on:
                    break
            except BaseException as stop:  # noqa: BLE001 - keep what was paid for
                again = now.error is not None
                now.error = now.error or stop
                if again or not isinstance(stop, KeyboardInterrupt):
                    break
        for task, outcome in now.done.values():
            if task is not None and outcome is not None:
                self._save(outcome, task)
        return now.error

    def _advance(self, now: "_InOrder") -> bool:
        """Begin what can be begun, and hand over what is done; tell whether all is."""
        width = self._workers.width
        while now.error is None and len(now.flying) < width and now.few(4 * width):
            number, task = next(now.waiting, (-1, None))
            if number < 0:
                break
            if task is None:
                now.finish(number, None, None)
            else:
                fitting = self._within(task, width - len(now.flying))
                if fitting is None:
                    now.error = SpentError()
                    break
                now.flying[self._workers.submit(fitting)] = number, fitting
        if not now.flying:
            return False
        for handle, outcome in self._workers.wait():
            number, task = now.flying.pop(handle)
            self._book(outcome, task)
            now.finish(number, task, outcome)
        return True

    def _step(self, V: NDArray[Any], now: "_UnderWay", keep: Keep | None) -> bool:
        """Begin what can be begun, and enter what is done; tell whether all is done."""
        while now.error is None and len(now.flying) < self._workers.width:
            job = next(now.waiting, None)
            if job is None:
                break
            if job.task is None:
                _tell(keep, job)
            else:
                free = self._workers.width - len(now.flying)
                task = self._within(job.task, free)
                if task is None:
                    now.fail(job.number, SpentError())
                    break
                now.flying[self._workers.submit(task)] = job._replace(task=task)
        if not now.flying:
            return False
        for handle, outcome in self._workers.wait():
            job = now.flying.pop(handle)
            self._book(outcome, job.task)
            _put(V, job, outcome.values)
            if outcome.error is None:
                _tell(keep, job)
            else:
                if job.task is not None:
                    self._save(outcome, job.task)
                now.fail(job.number, outcome.error)
        return True

    def _jobs(
        self,
        V: NDArray[Any],
        rows: Indices,
        columns: Indices,
        pieces: Iterable[Piece],
        *,
        blank: bool,
    ) -> Iterator["_Job"]:
        for number, piece in enumerate(pieces):
            r, c, block = piece
            nothing = not (len(r) and len(c))
            missing = None if blank or nothing else np.isnan(_get(V, piece))
            if nothing or (missing is not None and not missing.any()):
                yield _Job(number, piece, piece, None)
                continue
            if missing is not None and not missing.all():
                # The ledger knows more than the run: pay for the rest alone.
                inside = np.nonzero(missing)
                r, c, block = r[inside[0]], c[inside[-1]], False
            task = Task(rows[r], columns[c], block, self.averages)
            yield _Job(number, piece, Piece(r, c, block), task)

    def _save(self, outcome: Outcome, task: Task) -> None:
        """Hand over what was paid for of a chunk that is not kept otherwise."""
        good = np.isfinite(outcome.values)
        if task.least is not None and task.block:
            good &= outcome.values >= task.least  # what is below is no value
        done = np.nonzero(good)
        if self.rescue is not None and len(done[0]):
            a, b = task.a[done[0]], task.b[done[-1]]
            self.rescue(a, b, outcome.values[done])

    def _book(self, outcome: Outcome, task: Task | None) -> None:
        if self.limits is not None and task is not None and task.allowed is not None:
            self.limits.has_come(task.allowed)
        self.seconds += outcome.seconds
        self._report(outcome.evaluations, outcome.money)


class _Job(NamedTuple):
    number: int
    piece: Piece
    part: Piece  # what of it is evaluated
    task: Task | None


class _InOrder:
    """Tasks that wait, that are being done, and that are done before their turn."""

    def __init__(self, waiting: Iterator[tuple[int, Task | None]], take: Take) -> None:
        self.waiting = waiting
        self.flying: dict[Any, tuple[int, Task]] = {}
        self.done: dict[int, tuple[Task | None, Outcome | None]] = {}
        self.error: BaseException | None = None
        self._next = 0
        self._take = take

    def few(self, most: int) -> bool:
        """Tell whether not too many are done before their turn."""
        return len(self.done) < most

    def finish(self, number: int, task: Task | None, outcome: Outcome | None) -> None:
        """Hand over what has its turn; stop where something failed."""
        self.done[number] = task, outcome
        while self._next in self.done:
            _, outcome = self.done[self._next]
            if outcome is not None and outcome.error is not None:
                self.error = self.error or outcome.error
                return
            self._take(self._next, None if outcome is None else outcome.values)
            del self.done[self._next]
            self._next += 1


class _UnderWay:
    """Chunks that wait, chunks that are being evaluated, and what went wrong."""

    def __init__(self, waiting: Iterator[_Job]) -> None:
        self.waiting = waiting
        self.flying: dict[Any, _Job] = {}
        self.error: BaseException | None = None
        self._number = -1

    def fail(self, number: int, error: BaseException) -> None:
        """Keep the error of the earliest chunk: the same for any workers."""
        if self.error is None or number < self._number:
            self.error, self._number = error, number


def _get(V: NDArray[Any], piece: Piece) -> NDArray[Any]:
    if V.ndim == 1:
        return np.asarray(V[piece.rows])
    if piece.block:
        return np.asarray(V[cut(piece.rows)][:, cut(piece.columns)])
    return np.asarray(V[piece.rows, piece.columns])


def _put(V: NDArray[Any], job: _Job, values: NDArray[Any]) -> None:
    rows, columns, block = job.part
    if V.ndim == 1:
        V[rows] = values
    elif not block:
        V[rows, columns] = values
    else:
        r, c = cut(rows), cut(columns)
        if isinstance(r, slice) or isinstance(c, slice):
            V[r, c] = values
        else:
            V[np.ix_(rows, columns)] = values


def _tell(keep: Keep | None, job: _Job) -> None:
    if keep is not None:
        keep(job.number, job.piece, job.task is not None)
