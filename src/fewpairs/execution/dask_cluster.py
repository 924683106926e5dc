"""Dask: workers on this machine or on many."""

import contextlib
import math
import time
from typing import Any

from fewpairs.errors import InputError, MissingExtraError
from fewpairs.execution.calling import Outcome, Task
from fewpairs.execution.pools import failed
from fewpairs.execution.workers import PortableScorer, Workers, work
from fewpairs.interrupts import exposed

__all__ = ["DaskWorkers", "connect"]

_TRIES = 3
_COUNT_EVERY = 1.0  # seconds: asking the scheduler takes a while


class DaskWorkers(Workers):
    """Tasks go to a Dask scheduler, which does those of a lost worker again.

    Parameters
    ----------
    client
        A ``dask.distributed.Client``.
    portable
        What is scored. It is sent to every worker once; a worker that comes later
        gets it from another.
    own
        Whether the client ends with the workers.
    """

    def __init__(self, client: Any, portable: PortableScorer, *, own: bool) -> None:
        self._client = client
        self._portable = portable
        self._own = own
        self._flying: dict[Any, _SentTask] = {}
        self._width, self._counted = 2, -math.inf
        self._payload = self._scatter()

    @property
    def width(self) -> int:
        """Two tasks a thread of the cluster; workers may come and go."""
        if time.monotonic() - self._counted > _COUNT_EVERY:
            self._counted = time.monotonic()
            with contextlib.suppress(Exception):  # a scheduler that is busy: as before
                self._width = max(2, 2 * int(sum(self._client.nthreads().values())))
        return self._width

    def submit(self, task: Task) -> Any:
        """Begin a task."""
        sent = _SentTask(task)
        self._send(sent)
        return sent

    def wait(self) -> list[tuple[Any, Outcome]]:
        """Return tasks that are done."""
        import distributed

        out: list[tuple[Any, Outcome]] = []
        while not out:
            # A cancelled one raises: it is looked at below.
            with contextlib.suppress(Exception), exposed:
                distributed.wait(list(self._flying), return_when="FIRST_COMPLETED")
            for future in [f for f in self._flying if f.status != "pending"]:
                sent = self._flying.pop(future)
                outcome = self._outcome(future, sent)
                if outcome is None:
                    self._send(sent)
                else:
                    out.append((sent, outcome))
        return out

    def close(self) -> None:
        """End; a client of one's own with it."""
        for future in self._flying:
            future.cancel()
        self._payload.release()
        if self._own:
            self._client.close()

    def _scatter(self) -> Any:
        payload = self._portable.payload
        try:
            return self._client.scatter(payload, broadcast=True, hash=False)
        except Exception as error:  # whatever is wrong with a cluster
            msg = (
                "fewpairs.approximate: the Dask cluster takes no data "
                f"({type(error).__name__}: {error}). Does it have workers?"
            )
            raise InputError(msg) from error

    def _send(self, sent: "_SentTask") -> None:
        try:
            future = self._submit(sent)
        except Exception:  # noqa: BLE001 - the payload may be gone with its holders
            self._payload = self._scatter()
            future = self._submit(sent)
        self._flying[future] = sent

    def _submit(self, sent: "_SentTask") -> Any:
        return self._client.submit(
            work, self._portable.key, sent.task, self._payload, pure=False
        )

    def _outcome(self, future: Any, sent: "_SentTask") -> Outcome | None:
        """Return what came of a task; ``None``: it is to be done again."""
        if future.status == "finished":
            try:
                outcome: Outcome = future.result()
            except Exception as error:  # noqa: BLE001 - gone with its worker
                return self._lost(sent, error)
            return outcome
        failure = future.exception() if future.status == "error" else None
        return self._lost(sent, failure or RuntimeError(future.status))

    def _lost(self, sent: "_SentTask", error: BaseException) -> Outcome | None:
        sent.tries += 1
        if sent.tries >= _TRIES:
            return failed(sent.task, f"{type(error).__name__}: {error}")
        if self._payload.status != "finished":  # it went with its last holder
            self._payload = self._scatter()
        return None


class _SentTask:
    """A task under way, and how often it was lost."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.tries = 0


def connect(address: str) -> Any:
    """Return a client of the scheduler at an address."""
    try:
        from distributed import Client
    except ImportError as error:
        msg = (
            "fewpairs.approximate: a Dask address as executor= needs Dask: "
            "pip install 'fewpairs[dask]'."
        )
        raise MissingExtraError(msg) from error
    try:
        return Client(address, set_as_default=False)
    except (OSError, ValueError) as error:
        msg = (
            f"fewpairs.approximate: no Dask scheduler answers at {address!r} "
            f"({error}). Start one, or use executor='processes'."
        )
        raise InputError(msg) from error
