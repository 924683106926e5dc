"""Markdown as GitHub shows it, made into what Sphinx understands when a page is read.

Pages of the root of the repository (`--8<-- "CHANGELOG.md"`), links from there, and
figures whose images have a light and a dark version. Formulas of docstrings, and arrays
of signatures, too.
"""

import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]
_FIGURE = re.compile(r"<figure markdown[^>]*>\n(.*?)\n</figure>", re.S)
_CAPTION = re.compile(r"<figcaption>(.*?)</figcaption>", re.S)
# NDArray[…] as autodoc writes it, names with ~ and their modules.
_ARRAY = re.compile(
    r"(~?[\w.]*ndarray)\[tuple\[~?[\w.]*Any, \.\.\.\], ~?[\w.]*dtype\[~?[\w.]+\]\]"
)


def _included(found: re.Match[str]) -> str:
    text = (ROOT / found.group(1)).read_text(encoding="utf-8")
    return text.replace("](docs/", "](")


def _figure(found: re.Match[str]) -> str:
    inside = "\n".join(line.strip() for line in found.group(1).splitlines())
    inside = _CAPTION.sub(r"\n\1", inside)
    return f"::::{{container}} figure\n{inside}\n::::"


def plain(text: str) -> str:
    """Return the page as Sphinx reads it."""
    text = re.sub(r'^--8<-- "(.+)"$', _included, text, flags=re.M)
    text = _FIGURE.sub(_figure, text)
    return re.sub(r"#only-(light|dark)\)", r"){.only-\1}", text)


def _escape_bars(_app: Sphinx, *about: Any) -> None:
    """Let |W| of a formula stand: reStructuredText takes it for a substitution."""
    lines: list[str] = about[-1]
    in_text = re.compile(r"(``.*?``|`.*?`)|\|(?=\S)|(?<=\S)\|")
    for t, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            lines[t] = in_text.sub(lambda found: found[1] or r"\|", line)


def _shorter(_app: Sphinx, *about: Any) -> tuple[str, str] | None:
    """Let arrays be arrays: of which shape and numbers, docstrings say."""
    signature, returned = about[-2:]
    if not signature:
        return None
    return _ARRAY.sub(r"\1", signature), _ARRAY.sub(r"\1", returned or "")


def _read(_app: Sphinx, _page: str, source: list[str]) -> None:
    source[0] = plain(source[0])


def setup(app: Sphinx) -> dict[str, bool]:
    """Enter the change of sources."""
    app.connect("source-read", _read)
    app.connect("autodoc-process-signature", _shorter)
    app.connect("autodoc-process-docstring", _escape_bars, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
