"""Matrix products side by side: one BLAS thread in each of several Python threads."""

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

__all__ = ["in_lanes"]

T = TypeVar("T")


def in_lanes(work: Callable[[T], None], tasks: Iterable[T]) -> None:
    """Call ``work`` for every task, on all cores, each with BLAS of one thread.

    For large tasks that do not depend on each other. Threads inside every product wait
    for each other, which costs much where other programs use the cores too; whole
    tasks do not. Without threadpoolctl, tasks run one by one on BLAS's own threads.
    """
    with _single_threaded() as limited:
        if not limited:
            for task in tasks:
                work(task)
            return
        with ThreadPoolExecutor(_cores()) as pool:
            for future in [pool.submit(work, task) for task in tasks]:
                future.result()


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
