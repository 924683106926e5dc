"""What the command says: results on stdout, everything else on stderr."""

import json
import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fewpairs.progress import Progress, RichProgress, Silence

__all__ = ["Out", "progress_bar", "shown"]


def shown(text: str, most: int = 80) -> str:
    r"""Return a text in one line, without what could move a terminal's cursor.

    >>> shown("two\nlines and \x1b[31mred")
    'two lines and [31mred'
    """
    flat = " ".join(text.split())
    flat = "".join(letter for letter in flat if letter.isprintable())
    return flat if len(flat) <= most else flat[: most - 1] + "…"


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

    def say(self, text: str) -> None:
        """Write a result for people."""
        if not self.as_json:
            self.console.print(Text(text), soft_wrap=True)

    def note(self, text: str) -> None:
        """Write beside the results."""
        self.notes.print(Text(text, style="dim"), soft_wrap=True)

    def table(
        self,
        title: str,
        columns: Sequence[tuple[str, bool]],
        rows: Sequence[Sequence[str]],
    ) -> None:
        """Write a table; a column is its name and whether it holds numbers."""
        if self.as_json:
            return
        table = Table(title=Text(title), title_justify="left", header_style="bold")
        for name, number in columns:
            table.add_column(
                Text(name),
                justify="right" if number else "left",
                overflow="ellipsis" if number else "fold",
                no_wrap=number,
            )
        for row in rows:
            table.add_row(*(Text(cell) for cell in row))
        self.console.print(table)

    def document(self, facts: Any) -> None:
        """Write the JSON document, where one is wanted."""
        if self.as_json:
            text = json.dumps(plain(facts), ensure_ascii=False, indent=2)
            sys.stdout.write(text + "\n")


def plain(value: Any) -> Any:
    """Return what JSON can hold: lists, and null for what is not finite."""
    if isinstance(value, dict):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def progress_bar(out: Out, unit: str = "evaluations") -> Progress:
    """Return a bar on stderr in a terminal, and silence elsewhere."""
    return RichProgress(out.notes, unit=unit) if out.notes.is_terminal else Silence()
