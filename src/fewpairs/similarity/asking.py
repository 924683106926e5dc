"""Asking: a service and the event loop in which it is called, for a scorer."""

import logging
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewpairs.interrupts import exposed
from fewpairs.similarity.event_loop import LoopThread, PendingPairs
from fewpairs.similarity.gate import Terms
from fewpairs.similarity.service import Allowed, Service

__all__ = ["Answered", "Asking"]

_log = logging.getLogger(__name__)


class Answered(NamedTuple):
    """What came of asking: NaN where there is no answer, and why.

    Attributes
    ----------
    values
        In the order of the pairs.
    stopped
        What ended it from outside, such as Ctrl-C.
    failed
        The first pair that failed for good, and why.
    spent
        Whether no other call fitted into what was allowed.
    """

    values: NDArray[np.float64]
    stopped: BaseException | None
    failed: tuple[int, BaseException] | None
    spent: bool


class Asking:
    """Asks a service from any thread, and counts what it charged to each of them.

    The event loop is begun by the first question and ends with this object.
    """

    def __init__(self, service: Service, terms: Terms) -> None:
        self._service, self._terms = service, terms
        self._lock = threading.Lock()
        self._thread: LoopThread | None = None
        self._own = threading.local()  # money charged, of each thread that asks
        self.note: Callable[[str], object] = len  # told what is waited for

    def _tell(self, what: str) -> None:
        try:
            self.note(what)
        except Exception:  # noqa: BLE001 - calls under way are paid for
            _log.exception("a watcher of the progress failed")

    def spent(self) -> float:
        """Return what the calls of this thread have cost since it last asked."""
        money, self._own.money = getattr(self._own, "money", 0.0), 0.0
        return float(money)

    def ask(
        self, pairs: Sequence[tuple[Any, Any]], allowed: Allowed | None = None
    ) -> Answered:
        """Ask for pairs; Ctrl-C begins nothing new, and again leaves what is asked."""
        with self._lock:
            if self._thread is None:
                # The loop must not keep this object, or neither of them would end.
                tell = weakref.WeakMethod(self._tell)
                self._thread = LoopThread(
                    self._terms, self._service, lambda what: _told(tell(), what)
                )
                weakref.finalize(self, self._thread.stop)
        batch = PendingPairs(pairs, self._service, allowed)
        done = self._thread.submit(batch)
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
                self._thread.look()
        self._own.money = getattr(self._own, "money", 0.0) + batch.money
        return Answered(batch.values.copy(), stopped, batch.failed, batch.spent)


def _told(tell: Callable[[str], None] | None, what: str) -> None:
    if tell is not None:
        tell(what)
