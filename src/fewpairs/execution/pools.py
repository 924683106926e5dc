"""Threads, processes, and any executor of concurrent.futures."""

import contextlib
import os
import signal
from collections.abc import Callable
from concurrent import futures
from typing import Any

import numpy as np

from fewpairs.errors import SimilarityError
from fewpairs.execution.calling import Outcome, Task
from fewpairs.execution.workers import PortableScorer, Workers, work
from fewpairs.interrupts import exposed
from fewpairs.kernels.linalg.blas_threads import cores

__all__ = ["PoolWorkers", "failed", "gpus", "processes", "threads"]

_TRIES = 3  # a task that has cost so many workers their lives is not tried again


class PoolWorkers(Workers):
    """Tasks go to whichever worker is free; those of a lost worker are done again.

    A worker that has not met the similarity says so, and is sent it with its task.

    Parameters
    ----------
    pool
        Any executor.
    portable
        What is scored.
    width
        How many tasks to have under way; ``None``: twice as many as workers.
    renew
        Makes another pool where one has broken; ``None``: it is not ours to mend.
    """

    def __init__(
        self,
        pool: futures.Executor,
        portable: PortableScorer,
        *,
        width: int | None = None,
        renew: Callable[[], futures.Executor] | None = None,
    ) -> None:
        self._pool = pool
        self._portable = portable
        self._renew = renew
        workers = getattr(pool, "_max_workers", None) or cores()
        self._width = 2 * int(workers) if width is None else width
        self._flying: dict[futures.Future[Any], _Flight] = {}
        self._portable.open()

    @property
    def width(self) -> int:
        """How many tasks to have under way."""
        return self._width

    def submit(self, task: Task) -> Any:
        """Begin a task."""
        flight = _Flight(task)
        self._send(flight, None)
        return flight

    def wait(self) -> list[tuple[Any, Outcome]]:
        """Return tasks that are done."""
        out: list[tuple[Any, Outcome]] = []
        while not out:
            with exposed:
                done, _ = futures.wait(
                    self._flying, return_when=futures.FIRST_COMPLETED
                )
            for future in done:
                flight = self._flying.pop(future)
                try:
                    outcome = future.result()
                except (futures.BrokenExecutor, futures.CancelledError) as error:
                    outcome = self._lost(flight, error)
                except Exception as error:  # noqa: BLE001 - also of the executor
                    outcome = failed(flight.task, f"{type(error).__name__}: {error}")
                else:
                    if outcome is None:
                        self._send(flight, self._portable.payload)
                if outcome is not None:
                    out.append((flight, outcome))
        return out

    def close(self) -> None:
        """End; a pool of one's own with it."""
        for future in self._flying:
            future.cancel()
        if self._renew is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
        self._portable.close()

    def _send(self, flight: "_Flight", payload: bytes | None) -> None:
        try:
            future = self._pool.submit(work, self._portable.key, flight.task, payload)
        except (futures.BrokenExecutor, OSError):
            # An OSError is one of a pool that breaks while it starts a worker: what it
            # would hand over has been closed.
            if self._renew is None:
                raise
            self._pool.shutdown(wait=False)
            self._pool = self._renew()
            future = self._pool.submit(work, self._portable.key, flight.task, payload)
        self._flying[future] = flight

    def _lost(self, flight: "_Flight", error: BaseException) -> Outcome | None:
        flight.tries += 1
        if self._renew is None or flight.tries >= _TRIES:
            return failed(
                flight.task,
                f"its worker died ({error}), {flight.tries} times. It may have run "
                "out of memory; use fewer workers or a smaller chunk",
            )
        self._send(flight, None)
        return None


class _Flight:
    """A task under way, and how often its worker was lost."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.tries = 0


def failed(task: Task, why: str) -> Outcome:
    """Return the outcome of a task that no worker could do."""
    shape = (len(task.a), len(task.b)) if task.block else (len(task.a),)
    error = SimilarityError(
        f"scoring items {task.a[0]} and {task.b[0]} (the first of {len(task.a):,} in "
        f"one call) failed in a worker: {why}. What was paid for before is in the "
        "error's .ledger; pass it as store= to go on."
    )
    return Outcome(np.full(shape, np.nan), 0, 0.0, error)


def threads(portable: PortableScorer, count: int | None) -> PoolWorkers:
    """Return a workers of threads, which share one bound scorer."""
    count = count or cores()

    def pool() -> futures.Executor:
        return futures.ThreadPoolExecutor(count)

    return PoolWorkers(pool(), portable, renew=pool)


def processes(
    portable: PortableScorer, count: int | None, devices: bool = False
) -> PoolWorkers:
    """Return a workers of processes; with ``devices``, each sees one GPU alone."""
    import multiprocessing

    count = count or cores()
    # Not forked: threads of BLAS and of a GPU do not survive it.
    context = multiprocessing.get_context("spawn")
    numbers = context.Value("i", 0)
    portable.payload  # noqa: B018 - refuse now what cannot travel

    def pool() -> futures.Executor:
        numbers.value = 0
        return futures.ProcessPoolExecutor(
            count,
            mp_context=context,
            initializer=_start,
            initargs=(numbers, count, _visible() if devices else []),
        )

    return PoolWorkers(pool(), portable, renew=pool)


def gpus(portable: PortableScorer, count: int | None) -> PoolWorkers:
    """Return one process per GPU; scorers fit their batches to its memory."""
    return processes(portable, count or max(1, len(_visible())), devices=True)


def _visible() -> list[str]:
    """Return the names of the GPUs that this process may use."""
    given = os.environ.get("CUDA_VISIBLE_DEVICES")
    if given is not None:
        return [name for name in given.split(",") if name]
    return [str(number) for number in range(_count_gpus())]


def _count_gpus() -> int:
    """Return how many GPUs torch sees, or CuPy where there is no torch."""
    with contextlib.suppress(ImportError):
        import torch

        return int(torch.cuda.device_count())
    with contextlib.suppress(ImportError):
        from fewpairs.kernels.wmd.word_movers_cuda import count_gpus

        return count_gpus()
    return 0


def _start(numbers: Any, count: int, devices: list[str]) -> None:
    """Set up a worker process."""
    # Ctrl-C reaches the whole group: whoever asked decides what is still finished.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with numbers.get_lock():
        number = numbers.value
        numbers.value += 1
    if devices:
        os.environ["CUDA_VISIBLE_DEVICES"] = devices[number % len(devices)]
    with contextlib.suppress(ImportError):
        from threadpoolctl import threadpool_limits

        threadpool_limits(max(1, cores() // count))
