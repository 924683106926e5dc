"""Matrix products side by side: one BLAS thread in each of several Python threads."""

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

__all__ = ["Lanes", "in_lanes", "lanes"]

T = TypeVar("T")


def in_lanes(work: Callable[[T], None], tasks: Iterable[T]) -> None:
    """Call ``work`` for every task, on all cores, each with BLAS of one thread.

    For large tasks that do not depend on each other. Threads inside every product wait
    for each other, which costs much where other programs use the cores too; whole
    tasks do not. Without threadpoolctl, tasks run one by one on BLAS's own threads.
    """
    with lanes() as side_by_side:
        side_by_side.each(work, tasks)


class Lanes:
    """Threads that wait for tasks; see `lanes`."""

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
def lanes() -> Iterator[Lanes]:
    """Keep the threads of `in_lanes` for many rounds of short tasks.

    Finding and limiting the BLAS libraries takes longer than such a round does.
    """
    with _single_threaded() as limited:
        if not limited:
            yield Lanes(None)
            return
        with ThreadPoolExecutor(_cores()) as pool:
            yield Lanes(pool)


@contextlib.contextmanager
def _single_threaded() -> Iterator[bool]:
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        yield False
        return
    with threadpool_limits(limits=1, user_api="blas"):
        yield True


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
