"""Parallel: tasks that do not depend on each other, a core each."""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import TypeVar

from threadpoolctl import threadpool_limits

__all__ = ["in_parallel"]

Task = TypeVar("Task")
Result = TypeVar("Result")


def in_parallel(
    work: Callable[[Task], Result], tasks: Iterable[Task]
) -> Iterator[Result]:
    """Yield what comes of every task, in order."""
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        yield from pool.map(partial(_alone, work), tasks)


def _alone(work: Callable[[Task], Result], task: Task) -> Result:
    with threadpool_limits(1):
        return work(task)
