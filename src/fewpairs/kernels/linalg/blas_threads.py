"""Work side by side: one BLAS thread in each of several Python threads."""

import contextlib
import functools
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

__all__ = [
    "Threads",
    "cores",
    "in_threads",
    "kept_threads",
    "single_threaded",
    "spread",
    "usual_threads",
]

T = TypeVar("T")


def in_threads(work: Callable[[T], None], tasks: Iterable[T]) -> None:
    """Call ``work`` for every task, on all cores, each with BLAS of one thread.

    For large tasks that do not depend on each other. Threads inside every product wait
    for each other, which costs much where other programs use the cores too; whole
    tasks do not. Without threadpoolctl, tasks run one by one on BLAS's own threads.
    """
    with single_threaded() as limited:
        spread(work, tasks, cores() if limited else 1)


def spread(work: Callable[[T], None], tasks: Iterable[T], threads: int) -> None:
    """Call ``work`` for every task, in so many threads; the first error is raised."""
    tasks = list(tasks)
    if threads == 1 or len(tasks) < 2:
        for task in tasks:
            work(task)
        return
    with ThreadPoolExecutor(min(threads, len(tasks))) as pool:
        for future in [pool.submit(work, task) for task in tasks]:
            future.result()


class Threads:
    """Threads that wait for tasks; see `kept_threads`."""

    def __init__(self, pool: ThreadPoolExecutor | None) -> None:
        self._pool = pool

    def each(self, work: Callable[[T], None], tasks: Iterable[T]) -> None:
        """Call ``work`` for every task and return when all are done."""
        if self._pool is None:
            for task in tasks:
                work(task)
            return
        for future in [self._pool.submit(work, task) for task in tasks]:
            future.result()


@contextlib.contextmanager
def kept_threads() -> Iterator[Threads]:
    """Keep the threads of `in_threads` for many rounds of short tasks.

    Finding and limiting the BLAS libraries takes longer than such a round does.
    """
    with single_threaded() as limited:
        if not limited:
            yield Threads(None)
            return
        with ThreadPoolExecutor(cores()) as pool:
            yield Threads(pool)


class _Limit:
    """One BLAS thread as long as anyone wants it.

    The number of BLAS threads belongs to the process. Were every caller to put back
    what it found, two that overlap would leave the limit of 1 behind for good.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = self._lifted = 0  # the second: those that do not count for now
        self._limiter: Any = None

    def enter(self, controller: Any) -> None:
        with self._lock:
            self._users += 1
            self._apply(controller)

    def leave(self, controller: Any) -> None:
        with self._lock:
            self._users -= 1
            self._apply(controller)

    def lift(self, controller: Any) -> int:
        with self._lock:
            number = self._users - self._lifted
            self._lifted += number
            self._apply(controller)
            return number

    def put_back(self, number: int, controller: Any) -> None:
        with self._lock:
            self._lifted -= number
            self._apply(controller)

    def _apply(self, controller: Any) -> None:
        if self._users > self._lifted and self._limiter is None:
            self._limiter = controller.limit(limits=1, user_api="blas")
        elif self._users <= self._lifted and self._limiter is not None:
            self._limiter.restore_original_limits()
            self._limiter = None


_LIMIT = _Limit()


@contextlib.contextmanager
def single_threaded() -> Iterator[bool]:
    """Limit BLAS to one thread; yields False where threadpoolctl is not installed."""
    controller = _controller()
    if controller is None:
        yield False
        return
    _LIMIT.enter(controller)
    try:
        yield True
    finally:
        _LIMIT.leave(controller)


@contextlib.contextmanager
def usual_threads() -> Iterator[None]:
    """Give BLAS its threads back for a while, as far as those outside limit it.

    A similarity is called in the middle of small products, and may have large ones.
    """
    controller = _controller()
    if controller is None:
        yield
        return
    number = _LIMIT.lift(controller)
    try:
        yield
    finally:
        _LIMIT.put_back(number, controller)


def _controller() -> Any:
    """Find the BLAS libraries of this process.

    Looking takes a millisecond, so it is done again only where modules were imported
    since: one may have brought a library of its own.
    """
    return _look(len(sys.modules))


@functools.lru_cache(maxsize=1)
def _look(_modules: int) -> Any:
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    return ThreadpoolController()


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
