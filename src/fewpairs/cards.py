"""Cards: a receipt as a small HTML table, for notebooks, on light and dark ground."""

import re

__all__ = ["card"]

_LINE = re.compile(r"^ +(\S+(?: \S+)*?) {2,}(\S.*)$")
# The notebook's own colors: text inherits its color, lines are half transparent.
_STYLE = (
    "border:1px solid rgba(128,128,128,.35);border-radius:6px;padding:.6em .9em;"
    "display:inline-block;max-width:56em;font-size:.92em;line-height:1.45"
)


def card(receipt: str) -> str:
    r"""Return HTML of a receipt: its first line a title, the others name and words.

    >>> card("fewpairs: 3 × 3\n  worth       explains <all>").count("<tr>")
    1
    """
    title, *lines = receipt.splitlines() or [""]
    rows = "".join(_row(line) for line in lines if line.strip())
    table = f"<table style='border-collapse:collapse;margin:0'>{rows}</table>"
    head = f"<div style='font-weight:600'>{_plain(title)}</div>"
    return f"<div style='{_STYLE}'>{head}{table if rows else ''}</div>"


def _row(line: str) -> str:
    found = _LINE.match(line)
    cell = "text-align:left;vertical-align:top;background:none;padding:.1em .8em .1em 0"
    if found is None:
        return f"<tr><td colspan='2' style='{cell}'>{_plain(line.strip())}</td></tr>"
    name, words = map(_plain, found.groups())
    muted = f"{cell};opacity:.65;white-space:nowrap"
    return f"<tr><td style='{muted}'>{name}</td><td style='{cell}'>{words}</td></tr>"


def _plain(text: str) -> str:
    import html  # with its table of entities, for those who look

    return html.escape(text).encode("utf-8", errors="replace").decode()
