"""Cards: receipts and tables as small HTML, for notebooks, on light and dark ground."""

import re
from collections.abc import Iterable, Sequence

__all__ = ["card", "table_card"]

_LINE = re.compile(r"^ +(\S+(?: \S+)*?) {2,}(\S.*)$")
# The notebook's own colors: text inherits its color, lines are half transparent.
_STYLE = (
    "border:1px solid rgba(128,128,128,.35);border-radius:6px;padding:.6em .9em;"
    "display:inline-block;max-width:56em;font-size:.92em;line-height:1.45"
)
_CELL = "vertical-align:top;background:none;padding:.1em .8em .1em 0"
_MUTED = "opacity:.65;white-space:nowrap"


def card(receipt: str) -> str:
    r"""Return HTML of a receipt: its first line a title, the others name and words.

    >>> card("fewpairs: 3 × 3\n  worth       explains <all>").count("<tr>")
    1
    """
    title, *lines = receipt.splitlines() or [""]
    return _framed(title, [_row(line) for line in lines if line.strip()])


def table_card(
    title: str, names: Sequence[str], rows: Iterable[Sequence[str | float]]
) -> str:
    """Return HTML of a small table; numbers stand on the right.

    >>> table_card("what", ["threshold", "text"], [[0.25, "a < b"]]).count("<td")
    2
    """
    style = f"text-align:center;font-weight:400;{_MUTED};{_CELL}"
    head = "".join(f"<th style='{style}'>{_plain(name)}</th>" for name in names)
    body = ["".join(_value(value) for value in row) for row in rows]
    return _framed(title, [f"<tr>{cells}</tr>" for cells in (head, *body)])


def _framed(title: str, rows: list[str]) -> str:
    table = f"<table style='border-collapse:collapse;margin:0'>{''.join(rows)}</table>"
    head = f"<div style='font-weight:600'>{_plain(title)}</div>"
    return f"<div style='{_STYLE}'>{head}{table if rows else ''}</div>"


def _value(value: str | float) -> str:
    if isinstance(value, str):
        return f"<td style='text-align:left;{_CELL}'>{_plain(value)}</td>"
    number = f"{value:,.4g}" if isinstance(value, float) else f"{value:,}"
    return f"<td style='text-align:right;{_CELL}'>{number}</td>"


def _row(line: str) -> str:
    cell = f"text-align:left;{_CELL}"
    found = _LINE.match(line)
    if found is None:
        return f"<tr><td colspan='2' style='{cell}'>{_plain(line.strip())}</td></tr>"
    name, words = map(_plain, found.groups())
    muted = f"{cell};{_MUTED}"
    return f"<tr><td style='{muted}'>{name}</td><td style='{cell}'>{words}</td></tr>"


def _plain(text: str) -> str:
    import html  # with its table of entities, for those who look

    return html.escape(text).encode("utf-8", errors="replace").decode()
