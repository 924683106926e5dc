"""Choosing: what ``progress=`` of a call means."""

import sys
from typing import Any

from fewpairs.errors import InputError
from fewpairs.progress.bar import RichProgress
from fewpairs.progress.log import LogProgress
from fewpairs.progress.meter import Callback, Progress, Silence
from fewpairs.progress.notebook import NotebookProgress

__all__ = ["as_progress"]


def as_progress(progress: Any, call: str, unit: str = "evaluations") -> Progress:
    """Return what shows progress: a bar or lines, nothing, or the caller's own."""
    if isinstance(progress, bool):
        return _shown(unit) if progress else Silence()
    if all(hasattr(progress, name) for name in ("start", "advance", "finish")):
        watcher: Progress = progress
        return watcher
    if callable(progress) and not isinstance(progress, type):
        return Callback(progress)
    msg = (
        f"{call}: progress is {progress!r:.60}; pass True, False, a function of a "
        "Status, or an object with start, advance and finish."
    )
    raise InputError(msg)


def _shown(unit: str) -> Progress:
    """Return a bar in a terminal or notebook, else a line now and then on stderr.

    A bar that cannot move would be written once, when all is done.
    """
    from rich.console import Console

    console = Console()
    if console.is_jupyter:
        from IPython.display import display

        return NotebookProgress(display, unit)
    if console.is_terminal:
        return RichProgress(console, unit)
    return LogProgress(_write_line, unit)


def _write_line(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
