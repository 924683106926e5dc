"""Formats: tables from the bytes of lines, CSV, TSV, JSONL and Parquet files."""

import csv
import gzip
import io
import json
import re
import sys
import zlib
from dataclasses import dataclass
from typing import Any, Literal

from fewpairs.cli.tables import ABSENT, Rows, pyarrow_for
from fewpairs.errors import InputError

__all__ = ["FORMATS", "Reading", "tabulate", "unpacked"]

FORMATS = ("lines", "csv", "tsv", "jsonl", "parquet")
_GZIP = b"\x1f\x8b"
_OTHERS = {  # how files begin that are not what they are taken for
    b"PK\x03\x04": "a zip archive, or a spreadsheet (.xlsx)",
    b"BZh": "a bzip2 file",
    b"\xfd7zXZ\x00": "an xz file",
    b"\x28\xb5\x2f\xfd": "a zstandard file",
}
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


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
    quotes
        Whether quotes enclose fields of CSV files; if not, they are letters.
    empty
        What becomes of rows without text: ``"error"``, or ``"drop"`` or ``"skip"``.
    max_length
        The most characters of a text.
    cut
        Compare the first so many characters alone.
    fewest
        Texts that it takes at least.
    """

    columns: tuple[str, ...] = ()
    kind: str | None = None
    encoding: str = "utf-8"
    delimiter: str | None = None
    empty: Literal["error", "drop", "skip"] = "error"
    max_length: int = 100_000
    cut: int | None = None
    quotes: bool = True
    fewest: int = 2


def unpacked(data: bytes, name: str) -> bytes:
    """Return what a gzip file holds, other bytes as they are; refuse other packings."""
    if data[:2] == _GZIP:
        try:
            return gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            msg = f"{name} is not a whole gzip file ({error}). Fetch or pack it again."
            raise InputError(msg) from error
    if name.lower().endswith(".gz"):
        msg = (
            f"{name} is named .gz, and is no gzip file. Fetch or pack it again, or "
            "rename it if it is not packed."
        )
        raise InputError(msg)
    for start, what in _OTHERS.items():
        if data.startswith(start):
            msg = f"{name} is {what}. Unpack it, or save it as CSV, first."
            raise InputError(msg)
    return data


def tabulate(data: bytes, kind: str, name: str, how: Reading) -> Rows:
    """Return the table that the bytes of a file hold."""
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
    return _delimited(text, kind, name, how)


def _delimited(text: str, kind: str, name: str, how: Reading) -> Rows:
    csv.field_size_limit(sys.maxsize)  # texts may be long: the length is checked later
    separator = how.delimiter or ("," if kind == "csv" else "\t")
    if len(separator) != 1:
        msg = f"--delimiter is {separator!r}; pass one character, such as ';'."
        raise InputError(msg)
    lines = io.StringIO(text, newline="")
    # Not strict, half a file becomes one field where a quote is not closed.
    quoting: Any = csv.QUOTE_MINIMAL if how.quotes else csv.QUOTE_NONE
    reader = csv.reader(lines, delimiter=separator, quoting=quoting, strict=True)
    before = 0
    try:
        header = next(reader, None)
        if not header:
            msg = f"{name} is empty; it needs a line of column names, then rows."
            raise InputError(msg)
        rows = []
        before = reader.line_num
        for row in reader:
            if row and len(row) != len(header):
                msg = (
                    f"{name}, line {reader.line_num}: {len(row)} fields, and the "
                    f"header has {len(header)}. Quote fields that hold a "
                    f"{separator!r}, or pass --delimiter."
                )
                raise InputError(msg)
            if row:  # a blank line is no row
                rows.append(row)
            before = reader.line_num
    except csv.Error as error:
        msg = _badly_quoted(name, before + 1, reader.line_num, error)
        raise InputError(msg) from error
    return Rows([column.strip() for column in header], rows)


def _badly_quoted(name: str, first: int, last: int, error: csv.Error) -> str:
    """Say what is wrong with the quotes of the record that begins in a line."""
    cure = (
        'Inside quotes, a quote is written twice (""). Pass --no-quotes if quotes are '
        "letters like others in this file."
    )
    if "unexpected end of data" in str(error):
        return f"{name}, line {first}: a quote is opened and never closed. {cure}"
    if "expected after" in str(error):
        where = f"line {last}" if first == last else f"lines {first} to {last}"
        return f"{name}, {where}: a quote ends in the middle of a field. {cure}"
    return f"{name}, line {last}: {error}. Pass --delimiter or --format."


def _jsonl(text: str, name: str) -> Rows:
    columns: dict[str, int] = {}
    found: list[dict[str, Any]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        record = _record(line, f"{name}, line {number}")
        for column in record:
            columns.setdefault(column, len(columns))
        found.append(record)
    names = list(columns)
    return Rows(
        names, [[record.get(column, ABSENT) for column in names] for record in found]
    )


def _record(line: str, where: str) -> dict[str, Any]:
    """Return the object of a line; a text is an object with a text."""

    def once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        fields = dict(pairs)
        if len(fields) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            msg = f"{where} has two fields {twice!r}. Rename or drop one."
            raise InputError(msg)
        return fields

    try:
        value = json.loads(line, object_pairs_hook=once_each)
        if _ESCAPED_SURROGATE.search(line):  # two of them may be one character
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except RecursionError:
        msg = f"{where}: JSON is nested too deeply. Flatten it, or drop that field."
        raise InputError(msg) from None
    except UnicodeEncodeError as error:
        half = error.object[error.start]
        msg = (
            f"{where}: \\u{ord(half):04x} is half of a character, without its other "
            "half. Write the text again by a program that knows Unicode."
        )
        raise InputError(msg) from None
    except InputError:
        raise
    except ValueError as error:
        msg = (
            f"{where} is no JSON ({error}). JSONL has one object a line; pass --format "
            "lines for plain text."
        )
        raise InputError(msg) from error
    record = {"text": value} if isinstance(value, str) else value
    if not isinstance(record, dict):
        msg = (
            f"{where} is {line.strip():.40}; every line must be a JSON object, or a "
            "text in quotes."
        )
        raise InputError(msg)
    return record


def _parquet(data: bytes, name: str) -> Rows:
    pa = pyarrow_for(name)
    try:
        # Not read_table, which refuses two columns of one name.
        table = pa.parquet.ParquetFile(io.BytesIO(data)).read()
        columns = [column.to_pylist() for column in table.columns]
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0]
        msg = f"{name} cannot be read as Parquet ({reason}). Pass --format."
        raise InputError(msg) from error
    return Rows(list(table.column_names), [list(row) for row in zip(*columns)])  # noqa: B905


def _decode(data: bytes, name: str, encoding: str) -> str:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff") and encoding == "utf-8":
        msg = f"{name} looks like UTF-16. Pass --encoding utf-16."
        raise InputError(msg)
    try:
        text = data.decode("utf-8-sig" if encoding == "utf-8" else encoding)
    except (LookupError, ValueError) as error:
        if not isinstance(error, UnicodeError):
            msg = (
                f"--encoding is {encoding!r}, which Python does not know. Try latin-1."
            )
        elif isinstance(error, UnicodeDecodeError):
            line = data.count(b"\n", 0, error.start) + 1
            msg = (
                f"{name}, line {line}: byte 0x{data[error.start]:02x} is not {encoding}"
                ". Pass the right --encoding, such as latin-1 or cp1252."
            )
        else:
            msg = f"{name} is not {encoding} ({error}). Pass the right --encoding."
        raise InputError(msg) from None
    half = _SURROGATE.search(text)  # some encodings let them pass
    if half is not None:
        line = text.count("\n", 0, half.start()) + 1
        msg = (
            f"{name}, line {line}: \\u{ord(half.group()):04x} is half of a character, "
            f"without its other half. Is --encoding {encoding} right?"
        )
        raise InputError(msg)
    return text
