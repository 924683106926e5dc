"""LogProgress: progress where there is no terminal, such as in a log."""

import threading
import time
from collections.abc import Callable

from fewpairs.progress.meter import Meter, Status

__all__ = ["LogProgress"]


class LogProgress(Meter):
    """A line every ten seconds, where there is no terminal to show a bar in.

    Parameters
    ----------
    write
        Called with each line, from a thread that goes on while others compute.
    unit, every
        What is counted; seconds between two lines, over all stages.
    """

    def __init__(
        self,
        write: Callable[[str], object],
        unit: str = "evaluations",
        *,
        every: float = 10.0,
    ) -> None:
        super().__init__()
        self.unit = unit
        self._write, self._every = write, every
        self._due = time.monotonic() + every
        self._ended: threading.Event | None = None
        self._writing = threading.Lock()

    def show(self, status: Status, *, new_stage: bool = False) -> None:
        """Begin and end with what is shown; the lines come by the clock."""
        if status.finished and self._ended is not None:
            with self._writing:  # no line comes after the end
                self._ended.set()
            self._ended = None
        elif new_stage and self._ended is None:
            self._ended = threading.Event()
            threading.Thread(
                target=self._tell,
                args=(self._ended,),
                name="fewpairs.progress",
                daemon=True,
            ).start()

    def _tell(self, ended: threading.Event) -> None:
        while not ended.wait(max(0.0, self._due - time.monotonic())):
            self._due = time.monotonic() + self._every
            with self._writing:
                if not ended.is_set():
                    self._write(self.status.in_words(self.unit))
