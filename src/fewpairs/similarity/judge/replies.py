"""Replies: what an endpoint answered, read and checked."""

import json
import math
import re
from typing import Any, NamedTuple

__all__ = ["Reply", "numbers_of", "read_reply", "trouble_of"]

_LONGEST = 160  # characters of a server's words in a message


class Reply(NamedTuple):
    """One answered call.

    Attributes
    ----------
    content
        What the model said.
    trouble
        Why it is no use, in words; ``None`` where it may be.
    input, output
        Tokens that the server counted; ``None`` where it did not say.
    torn
        Whether the end of it was lost on its way, and the tokens with it.
    """

    content: str
    trouble: str | None
    input: int | None
    output: int | None
    torn: bool = False


def read_reply(body: str) -> Reply:
    """Read the body of a chat completion; tokens also of one that is cut off."""
    try:
        said: Any = json.loads(body)
    except ValueError:
        said = None
    usage = said.get("usage") if isinstance(said, dict) else None
    if isinstance(usage, dict):
        sent, answered = (_count(usage.get(f"{name}_tokens")) for name in _COUNTED)
    else:
        sent, answered = (_found(name, body) for name in _COUNTED)
    content, trouble = _content(said)
    torn = said is None and None in (sent, answered)
    return Reply(content, trouble, sent, answered, torn)


_COUNTED = ("prompt", "completion")


def _count(value: Any) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if whole else None


def _found(name: str, body: str) -> int | None:
    """Return a count from a body that is no JSON: it was charged for all the same."""
    found = re.search(rf'"{name}_tokens"\s*:\s*(\d+)', body)
    return None if found is None else int(found[1])


def _content(said: Any) -> tuple[str, str | None]:
    try:
        choice = said["choices"][0]
        message = choice["message"]
        refusal, content = message.get("refusal"), message.get("content")
        ended = choice.get("finish_reason")
    except (TypeError, LookupError, AttributeError):
        return "", "the reply is no chat completion"
    if refusal:
        return "", f"the model refused: {refusal!s:.{_LONGEST}}"
    if ended == "content_filter":
        return "", "a content filter stopped the answer"
    if ended == "length":
        return "", "the answer was cut off"
    if not isinstance(content, str):
        return "", "the reply has no content"
    return content, None


def numbers_of(
    content: str, number: int, scale: tuple[float, float]
) -> list[float | None] | None:
    """Return the numbers under the keys 1, 2, …; ``None`` for one that is no use.

    ``None`` for all of them where there are not as many as were asked for: which
    belongs to which pair is then not certain.

    >>> numbers_of('{"1": 7, "2": 11}', 2, (0, 10)), numbers_of('{"1": 7}', 2, (0, 10))
    ([7.0, None], None)
    """
    try:
        said = json.loads(content)
    except ValueError:
        return None
    keys = [str(t) for t in range(1, number + 1)]
    if not isinstance(said, dict) or sorted(said) != sorted(keys):
        return None
    return [_inside(said[key], scale) for key in keys]


def _inside(value: Any, scale: tuple[float, float]) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    inside = math.isfinite(value) and scale[0] <= value <= scale[1]
    return float(value) if inside else None


def trouble_of(content: str, scale: tuple[float, float]) -> str:
    """Say why an answer to one pair is no use."""
    wanted = f'{{"1": a number from {scale[0]:g} to {scale[1]:g}}}'
    return f"the model answered {content!r:.{_LONGEST}}, and was asked for {wanted}"
