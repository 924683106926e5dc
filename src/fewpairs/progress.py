"""Progress: how far a long run is, for whoever wants to see it."""

from typing import TYPE_CHECKING, Protocol

from fewpairs.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Progress", "RichProgress", "Silence", "as_progress"]


class Progress(Protocol):
    """What a run tells about itself. Implement it to show progress elsewhere."""

    def start(self, what: str, total: int | None) -> None:
        """Begin a stage of ``total`` evaluations, or one of none (``None``).

        A stage ends where the next one begins.
        """

    def advance(self, evaluations: int) -> None:
        """Say that so many more evaluations are done."""

    def note(self, what: str) -> None:
        """Say what is being done now; optional."""

    def finish(self) -> None:
        """End the run, also after an error."""


class Silence:
    """Shows nothing."""

    def start(self, what: str, total: int | None) -> None:
        """Ignore it."""

    def advance(self, evaluations: int) -> None:
        """Ignore it."""

    def note(self, what: str) -> None:
        """Ignore it."""

    def finish(self) -> None:
        """Ignore it."""


class RichProgress:
    """A bar in the terminal or notebook: what is done, rate, time left."""

    def __init__(
        self, console: "Console | None" = None, unit: str = "evaluations"
    ) -> None:
        from rich import progress as bars

        self._bars = bars.Progress(
            bars.TextColumn("{task.description}"),
            bars.BarColumn(),
            bars.TextColumn("{task.fields[done]}"),
            bars.TimeElapsedColumn(),
            bars.TextColumn("left"),
            bars.TimeRemainingColumn(),
            console=console,
        )
        self._task: bars.TaskID | None = None
        self._done = 0
        self._unit = unit

    def start(self, what: str, total: int | None) -> None:
        """Show a new bar."""
        self._end_stage()
        self._bars.start()
        done = "" if total is None else f"0 {self._unit}"
        self._task = self._bars.add_task(what, total=total, done=done)

    def advance(self, evaluations: int) -> None:
        """Move the bar."""
        if self._task is not None:
            self._done += evaluations
            done = f"{self._done:,} {self._unit}"
            self._bars.update(self._task, advance=evaluations, done=done)

    def note(self, what: str) -> None:
        """Change the words beside the bar."""
        if self._task is not None:
            self._bars.update(self._task, description=what)

    def finish(self) -> None:
        """Leave the bar as it stands."""
        self._bars.stop()

    def _end_stage(self) -> None:
        """Fill a bar that had no total; a stage of evaluations stays as it is."""
        if self._task is not None and self._bars.tasks[self._task].total is None:
            self._bars.update(self._task, total=1, completed=1)
        self._task, self._done = None, 0


def as_progress(
    progress: bool | Progress, call: str, unit: str = "evaluations"
) -> Progress:
    """Return what shows progress: a bar, nothing, or the caller's own."""
    if isinstance(progress, bool):
        return RichProgress(unit=unit) if progress else Silence()
    if not all(hasattr(progress, name) for name in ("start", "advance", "finish")):
        msg = (
            f"{call}: progress is {progress!r:.60}; pass True, False or an object with "
            "start, advance and finish."
        )
        raise InputError(msg)
    return progress
