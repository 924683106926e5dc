"""Texts from files: lines, CSV, TSV, JSONL and Parquet, plain or gzipped."""

import difflib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fewpairs.cli.formats import FORMATS, Reading, tabulate, unpacked
from fewpairs.cli.tables import ABSENT, Rows
from fewpairs.errors import InputError

__all__ = ["FORMATS", "Input", "Reading", "parse", "place_of", "read_input"]

_SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
}
_LISTED = 5  # rows or names that a message lists


@dataclass(frozen=True)
class Input:
    """Texts to compare, and where they came from.

    Attributes
    ----------
    texts
        One a row that is compared.
    positions
        Which row of the file each text is, counted from 0.
    table
        The whole file.
    kind, name, data
        Format, name and bytes of the file.
    """

    texts: list[str]
    positions: list[int]
    table: Rows
    kind: str
    name: str
    data: bytes

    @property
    def repeated(self) -> int:
        """Number of rows whose text stands in an earlier row."""
        return len(self.texts) - len(set(self.texts))


def read_input(path: str, how: Reading) -> Input:
    """Read texts from a file, or from standard input where the path is ``-``."""
    if path == "-":
        name, data = "standard input", sys.stdin.buffer.read()
        kind = how.kind or "lines"
    else:
        name, data = path, _bytes_of(Path(path))
        kind = how.kind or _kind_of(Path(path))
    return parse(unpacked(data, name), kind, name, how)


def parse(data: bytes, kind: str, name: str, how: Reading) -> Input:
    """Read texts from the bytes of a file."""
    table = tabulate(data, kind, name, how)
    columns = _chosen(table, how.columns, kind, name)
    positions, texts, empty = [], [], []
    for row, values in enumerate(table.rows):
        parts = [_text(values[column]) for column in columns]
        text = " ".join(part for part in parts if part)
        if not text.strip():
            empty.append(row)
            continue
        positions.append(row)
        texts.append(text if how.cut is None else text[: how.cut])
    if empty and how.empty == "error":
        where = _listed([_row_name(row, kind) for row in empty])
        msg = (
            f"{name}: {len(empty):,} of {len(table.rows):,} rows have no text "
            f"({where}). Pass --empty drop to leave them out."
        )
        raise InputError(msg)
    if len(texts) < how.fewest:
        got = "no text" if not texts else "one text"
        least = "two" if how.fewest > 1 else "one on either side"
        msg = f"{name} has {got}; it takes at least {least} to have a pair."
        raise InputError(msg)
    _check_lengths(texts, positions, kind, name, how)
    return Input(texts, positions, table, kind, name, data)


# --- checks --------------------------------------------------------------------------


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        near = _near(path.name, _siblings(path))
        hint = f" Did you mean {near}?" if near else " Check the path."
        msg = f"there is no file {path}.{hint}"
    except IsADirectoryError:
        msg = f"{path} is a folder. Pass a file of texts."
    except OSError as error:
        msg = f"{path} cannot be read ({error.strerror}). Check its permissions."
    raise InputError(msg)


def _siblings(path: Path) -> list[str]:
    try:
        return [other.name for other in path.parent.iterdir() if other.is_file()]
    except OSError:
        return []


def _kind_of(path: Path) -> str:
    suffix = path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix
    if suffix.lower() == ".json":
        msg = (
            f"{path} is named .json; fewpairs reads JSONL, one object a line. Convert "
            "it, or pass --format jsonl if it is that already."
        )
        raise InputError(msg)
    return _SUFFIXES.get(suffix.lower(), "lines")


def _chosen(table: Rows, wanted: Sequence[str], kind: str, name: str) -> list[int]:
    if not wanted:
        if len(table.columns) == 1:
            return [0]
        if kind == "jsonl" and "text" in table.columns:
            return [place_of("text", table, name)]
        listed = _listed(table.columns) or "none"
        msg = f"{name} has several columns ({listed}). Pass --column NAME."
        raise InputError(msg)
    return [place_of(column, table, name) for column in wanted]


def place_of(column: str, table: Rows, name: str) -> int:
    """Return which column has this name, if it is one."""
    if column not in table.columns:
        near = _near(column, table.columns)
        hint = f" Did you mean {near!r}?" if near else ""
        msg = (
            f"{name} has no column {column!r}.{hint} Its columns are "
            f"{_listed(table.columns)}."
        )
        raise InputError(msg)
    if table.columns.count(column) > 1:
        at = [str(t) for t, other in enumerate(table.columns, 1) if other == column]
        msg = (
            f"{name} has {len(at)} columns named {column!r} (columns "
            f"{' and '.join(at)}). Rename one of them."
        )
        raise InputError(msg)
    return table.columns.index(column)


def _check_lengths(
    texts: list[str], positions: list[int], kind: str, name: str, how: Reading
) -> None:
    for text, row in zip(texts, positions, strict=True):
        if len(text) > how.max_length:
            msg = (
                f"{name}, {_row_name(row, kind)}: a text of {len(text):,} characters; "
                f"the limit is {how.max_length:,}. Pass --cut 1000 to compare the "
                f"first 1,000 alone, or --max-length {len(text)}."
            )
            raise InputError(msg)


def _row_name(row: int, kind: str) -> str:
    return f"line {row + 1}" if kind == "lines" else f"row {row + 1}"


def _text(value: Any) -> str:
    if value is None or value is ABSENT:
        return ""
    return value if isinstance(value, str) else str(value)


def _listed(things: Sequence[str]) -> str:
    more = f", … {len(things) - _LISTED:,} more" if len(things) > _LISTED else ""
    return ", ".join(things[:_LISTED]) + more


def _near(word: str, known: Sequence[str]) -> str | None:
    lowered = {name.lower(): name for name in known}
    found = difflib.get_close_matches(word.lower(), list(lowered), n=1, cutoff=0.5)
    return lowered[found[0]] if found else None
