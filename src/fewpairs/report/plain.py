"""What JSON can hold, and texts as they really are."""

import math
from typing import Any

import numpy as np

__all__ = ["TURNS", "plain", "unturned"]

# Letters that turn the direction of what follows: a text could look like another one.
TURNS = {ord(c): f"\\u{ord(c):04x}" for c in "\u061c\u200e\u200f"}
TURNS |= {c: f"\\u{c:04x}" for c in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}


def unturned(text: str) -> str:
    r"""Return a text with codes for what turns the direction of writing.

    >>> unturned("invoice\u202efdp.exe")
    'invoice\\u202efdp.exe'
    """
    return text.translate(TURNS)


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
