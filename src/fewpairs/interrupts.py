"""Interrupts: Ctrl-C waits while what has been paid for is put away.

Python raises ``KeyboardInterrupt`` between any two of its instructions, also between
the answer of a similarity and the line that would have kept it. Inside a `Shield` an
interrupt is noted, and raised only where nothing is in hand: inside `exposed`, which
stands around the calls of a similarity, and at the end of the outermost shield. One
that comes while another is waiting is raised at once: somebody insists.
"""

import contextlib
import signal
import threading
from types import FrameType, TracebackType
from typing import Self

__all__ = ["Shield", "exposed", "shut"]


class _Here(threading.local):
    """Of this thread: Python handles signals in the main one, which alone has any."""

    open = True
    pending = False


_here = _Here()


class Shield(contextlib.ContextDecorator):
    """Hold Ctrl-C back in a block or, as a decorator, in a function.

    Whoever handles the signal in a way of their own goes on doing so.
    """

    def _recreate_cm(self) -> "Shield":
        return Shield()  # one a call: a function may call itself

    def __enter__(self) -> Self:
        self._was, _here.open = _here.open, False
        self._outermost = (
            threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        )
        if self._outermost:
            _here.pending = False
            signal.signal(signal.SIGINT, _interrupt)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._outermost:
            self._was = True
            signal.signal(signal.SIGINT, signal.default_int_handler)
        _here.open = self._was
        if _here.open and _here.pending:
            _here.pending = False
            if not isinstance(error, KeyboardInterrupt):
                raise KeyboardInterrupt


class _Exposed:
    """Let Ctrl-C through in a block inside a shield; where there is none, do nothing.

    It closes at the end, and does not go back to how it was: the answer is in hand.
    """

    def __enter__(self) -> None:
        _here.open = True
        if _here.pending:
            _raise()

    def __exit__(self, *error: object) -> None:
        _here.open = False


exposed = _Exposed()


def shut() -> None:
    """Undo `exposed` from within: a similarity that knows better when it can stop."""
    _here.open = False


def _interrupt(number: int, frame: FrameType | None) -> None:
    del number, frame
    if _here.open or _here.pending:
        _raise()
    _here.pending = True


def _raise() -> None:
    # Closed first: what is done about this one is not to be interrupted by the next.
    _here.open = _here.pending = False
    raise KeyboardInterrupt
