"""Texts from files: lines, CSV, TSV, JSONL and Parquet, plain or gzipped."""

import csv
import difflib
import gzip
import io
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from fewpairs.cli.tables import ABSENT, Rows, pyarrow_for
from fewpairs.errors import InputError

__all__ = ["FORMATS", "Input", "Reading", "parse", "read_input"]

FORMATS = ("lines", "csv", "tsv", "jsonl", "parquet")
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
class Reading:
    """How a file is read: what the options of the command say.

    Attributes
    ----------
    columns
        Which columns make the text, joined by a blank.
    kind
        One of :data:`FORMATS`; ``None``: by the name of the file.
    encoding, delimiter
        Of text files, and of CSV files.
    empty
        What becomes of rows without text: ``"error"`` or ``"skip"``.
    max_length
        The most characters of a text.
    cut
        Compare the first so many characters alone.
    """

    columns: tuple[str, ...] = ()
    kind: str | None = None
    encoding: str = "utf-8"
    delimiter: str | None = None
    empty: Literal["error", "skip"] = "error"
    max_length: int = 100_000
    cut: int | None = None


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
    if data[:2] == b"\x1f\x8b":
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError) as error:
            msg = f"{name} is not a whole gzip file ({error}). Fetch or pack it again."
            raise InputError(msg) from error
    return parse(data, kind, name, how)


def parse(data: bytes, kind: str, name: str, how: Reading) -> Input:
    """Read texts from the bytes of a file."""
    table = _tabulate(data, kind, name, how)
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
            f"({where}). Pass --empty skip to leave them out."
        )
        raise InputError(msg)
    if len(texts) < 2:
        got = "no text" if not texts else "one text"
        msg = f"{name} has {got}; it takes at least two to have a pair."
        raise InputError(msg)
    _check_lengths(texts, positions, kind, name, how)
    return Input(texts, positions, table, kind, name, data)


# --- one function a format ------------------------------------------------------------


def _tabulate(data: bytes, kind: str, name: str, how: Reading) -> Rows:
    if kind == "parquet":
        return _parquet(data, name)
    text = _decode(data, name, how.encoding)
    if kind == "lines":
        lines = text.split("\n")
        if lines and not lines[-1]:  # the end of the last line begins no other one
            lines.pop()
        return Rows(["text"], [[line.removesuffix("\r")] for line in lines])
    if kind == "jsonl":
        return _jsonl(text, name)
    return _delimited(text, kind, name, how.delimiter)


def _delimited(text: str, kind: str, name: str, delimiter: str | None) -> Rows:
    csv.field_size_limit(sys.maxsize)  # texts may be long: the length is checked later
    separator = delimiter or ("," if kind == "csv" else "\t")
    if len(separator) != 1:
        msg = f"--delimiter is {separator!r}; pass one character, such as ';'."
        raise InputError(msg)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        header = next(reader, None)
        if not header:
            msg = f"{name} is empty; it needs a line of column names, then rows."
            raise InputError(msg)
        rows = []
        for row in reader:
            if not row:  # a blank line is no row
                continue
            if len(row) != len(header):
                msg = (
                    f"{name}, line {reader.line_num}: {len(row)} fields, and the "
                    f"header has {len(header)}. Quote fields that hold a "
                    f"{separator!r}, or pass --delimiter."
                )
                raise InputError(msg)
            rows.append(row)
    except csv.Error as error:
        msg = f"{name}, line {reader.line_num}: {error}. Pass --delimiter or --format."
        raise InputError(msg) from error
    return Rows([column.strip() for column in header], rows)


def _jsonl(text: str, name: str) -> Rows:
    columns: dict[str, int] = {}
    found: list[dict[str, Any]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except ValueError as error:
            msg = (
                f"{name}, line {number} is no JSON ({error}). JSONL has one object a "
                "line; pass --format lines for plain text."
            )
            raise InputError(msg) from error
        record = {"text": value} if isinstance(value, str) else value
        if not isinstance(record, dict):
            msg = (
                f"{name}, line {number} is {line.strip():.40}; every line must be "
                "a JSON object, or a text in quotes."
            )
            raise InputError(msg)
        for column in record:
            columns.setdefault(column, len(columns))
        found.append(record)
    names = list(columns)
    return Rows(
        names, [[record.get(column, ABSENT) for column in names] for record in found]
    )


def _parquet(data: bytes, name: str) -> Rows:
    pa = pyarrow_for(name)
    try:
        table = pa.parquet.read_table(io.BytesIO(data))
    except (pa.ArrowInvalid, OSError) as error:
        reason = str(error).splitlines()[0]
        msg = f"{name} cannot be read as Parquet ({reason}). Pass --format."
        raise InputError(msg) from error
    columns = [table.column(column).to_pylist() for column in table.column_names]
    return Rows(list(table.column_names), [list(row) for row in zip(*columns)])  # noqa: B905


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


def _decode(data: bytes, name: str, encoding: str) -> str:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff") and encoding == "utf-8":
        msg = f"{name} looks like UTF-16. Pass --encoding utf-16."
        raise InputError(msg)
    try:
        return data.decode("utf-8-sig" if encoding == "utf-8" else encoding)
    except LookupError:
        msg = f"--encoding is {encoding!r}, which Python does not know. Try latin-1."
        raise InputError(msg) from None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        msg = (
            f"{name}, line {line}: byte 0x{data[error.start]:02x} is not {encoding}. "
            "Pass the right --encoding, such as latin-1 or cp1252."
        )
        raise InputError(msg) from None


def _chosen(table: Rows, wanted: Sequence[str], kind: str, name: str) -> list[int]:
    if not wanted:
        if len(table.columns) == 1:
            return [0]
        if kind == "jsonl" and "text" in table.columns:
            return [table.columns.index("text")]
        listed = _listed(table.columns) or "none"
        msg = f"{name} has several columns ({listed}). Pass --column NAME."
        raise InputError(msg)
    for column in wanted:
        if column not in table.columns:
            near = _near(column, table.columns)
            hint = f" Did you mean {near!r}?" if near else ""
            msg = (
                f"{name} has no column {column!r}.{hint} Its columns are "
                f"{_listed(table.columns)}."
            )
            raise InputError(msg)
    return [table.columns.index(column) for column in wanted]


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
