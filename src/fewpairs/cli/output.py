"""What the command says: results on stdout, everything else on stderr."""

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from fewpairs.progress import LogProgress, Progress, RichProgress
from fewpairs.report.plain import plain, unturned

__all__ = ["Out", "doing", "progress_bar", "shown", "visible"]


def shown(text: str, most: int = 80) -> str:
    r"""Return a text in one line, without what could move a terminal's cursor.

    What turns the direction of writing is shown by its code.

    >>> shown("two\nlines and \x1b[31mred")
    'two lines and [31mred'
    >>> shown("invoice\u202efdp.exe")
    'invoice\\u202efdp.exe'
    """
    flat = unturned(" ".join(text.split()))
    flat = "".join(letter for letter in flat if letter.isprintable())
    return flat if len(flat) <= most else flat[: most - 1] + "…"


def visible(text: str) -> str:
    r"""Return a message with codes for what a terminal would obey and not show.

    >>> visible("no file \x1b[2Jx\u202e\ud800\nHelp")
    'no file \\x1b[2Jx\\u202e\\ud800\nHelp'
    """
    return "".join(
        letter if letter.isprintable() or letter in "\n\t" else ascii(letter)[1:-1]
        for letter in text
    )


class Out:
    """Where a command writes.

    Parameters
    ----------
    as_json
        One JSON document on stdout, and nothing else.
    """

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self.console = Console(highlight=False)
        self.notes = Console(stderr=True, highlight=False)
        self.lines = LogProgress(self.note)

    def say(self, text: str) -> None:
        """Write a result for people."""
        if not self.as_json:
            self.console.print(Text(visible(text)), soft_wrap=True)

    def note(self, text: str) -> None:
        """Write beside the results."""
        self.notes.print(Text(visible(text), style="dim"), soft_wrap=True)

    def wrote(self, what: str, path: Path, guarded: int) -> None:
        """Say what was written where, and what was changed for spreadsheets."""
        self.note(f"{what} written to {path}")
        if guarded:
            cells = "text that begins" if guarded == 1 else "texts that begin"
            self.note(
                f"note: {guarded:,} {cells} with = + - @ got an apostrophe, so that "
                "spreadsheets do not run them; --raw writes texts as they are"
            )

    def table(
        self,
        title: str,
        columns: Sequence[tuple[str, bool]],
        rows: Sequence[Sequence[str]],
    ) -> None:
        """Write a table; a column is its name and whether it holds numbers."""
        if self.as_json:
            return
        table = Table(
            title=Text(visible(title)), title_justify="left", header_style="bold"
        )
        for name, number in columns:
            table.add_column(
                Text(name),
                justify="right" if number else "left",
                overflow="ellipsis" if number else "fold",
                no_wrap=number,
            )
        for row in rows:
            table.add_row(*(Text(visible(cell)) for cell in row))
        self.console.print(table)

    def document(self, facts: Any) -> None:
        """Write the JSON document, where one is wanted."""
        if self.as_json:
            text = json.dumps(plain(facts), ensure_ascii=False, indent=2)
            sys.stdout.write(text + "\n")


def progress_bar(out: Out, unit: str = "evaluations") -> Progress:
    """Return a bar on stderr in a terminal, and a line now and then elsewhere."""
    if out.notes.is_terminal:
        return RichProgress(out.notes, unit=unit)
    out.lines.unit = unit
    return out.lines


@contextmanager
def doing(out: Out, what: str) -> Iterator[None]:
    """Show what is being done, where it may take a while; a bar goes with its end."""
    bar: Progress = out.lines
    if out.notes.is_terminal:
        bar = RichProgress(out.notes, transient=True)
    bar.start(what, None)
    try:
        yield
    finally:
        bar.finish()
