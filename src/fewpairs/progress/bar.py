"""Bar: progress in a terminal."""

from datetime import timedelta
from typing import TYPE_CHECKING

from fewpairs.progress.meter import Meter, Status

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["RichProgress"]


class RichProgress(Meter):
    """A bar in the terminal: evaluations, rate, time left, money."""

    def __init__(
        self,
        console: "Console | None" = None,
        unit: str = "evaluations",
        *,
        transient: bool = False,
    ) -> None:
        super().__init__()
        self._unit = unit
        from rich import progress as bars
        from rich.text import Text

        meter = self

        class TimeLeft(bars.ProgressColumn):
            """Goes on between evaluations, and says nothing where nobody knows."""

            def render(self, task: bars.Task) -> Text:
                left = None if task.finished else meter.status.still_left
                return Text("" if left is None else f"left {_clock(left)}")

        self._bars = bars.Progress(
            bars.TextColumn("{task.description}"),
            bars.BarColumn(),
            bars.TextColumn("{task.fields[done]}"),
            bars.TimeElapsedColumn(),
            TimeLeft(),
            console=console,
            transient=transient,
        )
        self._task: bars.TaskID | None = None

    def show(self, status: Status, *, new_stage: bool = False) -> None:
        """Move the bar; a new stage gets a new one."""
        if new_stage:
            self._end_stage()
            self._bars.start()
            self._task = self._bars.add_task(
                status.what, total=status.total, done=self._words(status)
            )
        elif status.finished:
            self._bars.stop()
        elif self._task is not None:
            self._bars.update(
                self._task,
                completed=status.done,
                description=status.what,
                done=self._words(status),
            )

    def _words(self, status: Status) -> str:
        if status.total is None:
            return ""
        words = f"{status.done:,} {self._unit}"
        if status.done and status.seconds > 0.1:
            words += f", {status.rate:,.3g}/s"
        return f"{words}, {status.money:,.2f} spent" if status.money else words

    def _end_stage(self) -> None:
        """Fill a bar that had no total; a stage of evaluations stays as it is."""
        if self._task is not None and self._bars.tasks[self._task].total is None:
            self._bars.update(self._task, total=1, completed=1)
        self._task = None


def _clock(seconds: float) -> str:
    """Return a time as clocks show it.

    >>> _clock(3_725.4)
    '1:02:05'
    """
    return str(timedelta(seconds=round(seconds)))
