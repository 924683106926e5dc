"""NotebookProgress: a bar in a notebook, without widgets."""

import time
from collections.abc import Callable
from typing import Any

from fewpairs.progress.meter import Meter, Status

__all__ = ["NotebookProgress"]

_EVERY = 0.2  # seconds between two pictures of the bar


class NotebookProgress(Meter):
    """A bar in a notebook, drawn by the browser: nothing has to be installed for it.

    It stays under the cell when the run is over, in saved notebooks too.

    Parameters
    ----------
    display
        IPython's, or one like it.
    unit
        What is counted.
    """

    def __init__(self, display: Callable[..., Any], unit: str = "evaluations") -> None:
        super().__init__()
        self.unit = unit
        self._display, self._shown = display, None
        self._drawn = -_EVERY
        self._last = ""

    def show(self, status: Status, *, new_stage: bool = False) -> None:
        """Draw the bar: at every stage and note, and else a few times a second."""
        now = time.monotonic()
        told = new_stage or status.finished or status.what != self._last
        if not told and now - self._drawn < _EVERY:
            return
        self._drawn, self._last = now, status.what
        picture = _Picture(status, self.unit)
        if self._shown is None:
            self._shown = self._display(picture, display_id=True)
        else:
            self._shown.update(picture)


class _Picture:
    """A status as HTML, and as a line where there is none."""

    def __init__(self, status: Status, unit: str) -> None:
        self._status, self._words = status, status.in_words(unit)
        if status.finished:
            spent = f", {status.money:,.2f} spent" if status.money else ""
            self._words = f"{status.done:,} {unit}, {status.seconds:,.1f} s{spent}"

    def __repr__(self) -> str:
        return self._words

    def _repr_html_(self) -> str:
        from html import escape

        done, total = self._status.done, self._status.total
        at = f" value='{min(done, total)}' max='{max(1, total)}'" if total else ""
        bar = (
            "" if self._status.finished and not total else f"<progress{at}></progress>"
        )
        return f"<div>{bar} {escape(self._words)}</div>"
