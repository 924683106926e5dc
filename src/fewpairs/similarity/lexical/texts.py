"""Texts: what is textual in items of any kind."""

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["texts_of"]

_BETWEEN = "\n"  # fields of a record; words are joined by a blank


def texts_of(items: Sequence[Any]) -> list[str] | None:
    r"""Return a text per item, or ``None`` where the items are nothing textual.

    A text is itself, a list of tokens their sequence, and a record (a dict, a tuple, a
    row of a table) its text fields. Items without a text, such as missing ones, count
    as empty texts as long as most have one.

    Examples
    --------
    >>> texts_of(["a", "b c"]), texts_of([["a", "b"], ["c"]])
    (['a', 'b c'], ['a b', 'c'])
    >>> texts_of([{"id": 7, "name": "Ann", "town": "Ulm"}, {"id": 8, "name": "Bo"}])
    ['Ann\nUlm', 'Bo']
    >>> texts_of([1, 2]) is None
    True
    """
    found = [_text(item) for item in items]
    if 2 * sum(text is not None for text in found) <= len(found):
        return None
    return [text or "" for text in found]


def _text(item: Any) -> str | None:
    if isinstance(item, str):
        return str(item)
    if hasattr(item, "to_dict") and not isinstance(item, type):  # a row of a table
        try:
            item = item.to_dict()
        except Exception:  # noqa: BLE001 - then it is no row of a table
            return None
    if isinstance(item, Mapping):
        return _fields(list(item.values()))
    if isinstance(item, (list, tuple)):
        if item and all(isinstance(part, str) for part in item):
            return (_BETWEEN if isinstance(item, tuple) else " ").join(item)
        return _fields(item)
    return None


def _fields(values: Sequence[Any]) -> str | None:
    """Return the text fields of a record, lists of tokens among them."""
    texts = []
    for value in values:
        if isinstance(value, str):
            texts.append(value)
        elif (
            isinstance(value, (list, tuple))
            and value
            and all(isinstance(part, str) for part in value)
        ):
            texts.append(" ".join(value))
    return _BETWEEN.join(texts) if texts else None
