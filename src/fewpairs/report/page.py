"""A page: markup, style, script and data in one file that asks no network."""

import base64
import hashlib
import html
import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from fewpairs.report.plain import plain

__all__ = ["page"]


def page(name: str, title: str, facts: dict[str, Any], scripts: Sequence[str]) -> str:
    """Fill a page. Texts are data: they never stand where markup is read."""
    assets = files("fewpairs.report") / "assets"
    script = "\n".join((assets / part).read_text(encoding="utf-8") for part in scripts)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    left = (assets / name).read_text(encoding="utf-8")
    # One pass over the page, so that nothing that is filled in is filled again.
    parts = {
        "{{title}}": _markup(title),
        "{{digest}}": digest,
        "{{style}}": (assets / "report.css").read_text(encoding="utf-8"),
        "{{data}}": _data(facts),
        "{{script}}": script,
    }
    out = []
    while left:
        found = [(left.find(place), place) for place in parts if place in left]
        if not found:
            break
        at, place = min(found)
        out += [left[:at], parts[place]]
        left = left[at + len(place) :]
    return "".join([*out, left])


def _data(facts: dict[str, Any]) -> str:
    """Return JSON that cannot end its script element, nor begin a comment in it."""
    text = json.dumps(plain(facts), ensure_ascii=False, separators=(",", ":"))
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    # Lone surrogates cannot be written as UTF-8.
    return text.encode("utf-8", errors="replace").decode()


def _markup(text: str) -> str:
    return html.escape(text).encode("utf-8", errors="replace").decode()
