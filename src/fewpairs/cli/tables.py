"""Tables: what was read from a file, and what is written to one."""

import csv
import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fewpairs.errors import InputError, MissingExtraError

__all__ = ["ABSENT", "Rows", "check_file", "distinct_names", "kind_of_output"]
__all__ += ["pyarrow_for", "rows_with", "write_rows", "written"]

# How formulas begin, also after what spreadsheets skip, and in full width.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
ABSENT: Any = object()  # a field that a JSON line does not have


@dataclass(frozen=True)
class Rows:
    """A table as it was read: names of its columns, and rows of any values."""

    columns: list[str]
    rows: list[list[Any]]


def write_rows(
    table: Rows,
    kind: str,
    path: Path,
    delimiter: str | None = None,
    *,
    raw: bool = False,
) -> int:
    """Write a table in the format of its input; lines become TSV.

    In CSV and TSV, spreadsheets would run texts that look like formulas: unless
    ``raw``, they get an apostrophe. Returns how many did.
    """
    if kind == "parquet":
        pa = pyarrow_for(str(path))
        columns = [[row[t] for row in table.rows] for t in range(len(table.columns))]
        names = distinct_names(table.columns)
        made = pa.table(dict(zip(names, columns, strict=True)))
        pa.parquet.write_table(made, path)
        return 0
    with path.open("w", encoding="utf-8", newline="") as file:
        if kind == "jsonl":
            names = distinct_names(table.columns)
            for row in table.rows:
                fields = zip(names, row, strict=True)
                # A field that a line never had stays away from it.
                kept = {name: value for name, value in fields if value is not ABSENT}
                file.write(json.dumps(kept, ensure_ascii=False) + "\n")
            return 0
        separator = (delimiter or ",") if kind == "csv" else "\t"
        writer = csv.writer(file, delimiter=separator, lineterminator="\n")
        guarded = 0
        for row in [table.columns, *table.rows]:
            cells = ["" if cell is ABSENT else cell for cell in row]
            if not raw:
                cells = [f"'{cell}" if _is_formula(cell) else cell for cell in cells]
                guarded += sum(map(_is_formula, row))
            writer.writerow(cells)
        return guarded


def written(table: Rows, kind: str, delimiter: str | None) -> bytes:
    """Return the bytes of a table in a format, as they are."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table"
        write_rows(table, kind, path, delimiter, raw=True)
        return path.read_bytes()


def _is_formula(cell: Any) -> bool:
    """Tell whether a spreadsheet would run a cell; numbers are none.

    >>> [_is_formula(cell) for cell in ("=1+2", "@SUM(A1)", "-5", "- a list", "a=b", 7)]
    [True, True, False, True, False, False]
    """
    if not isinstance(cell, str) or not cell.startswith(_FORMULA):
        return False
    try:
        float(cell)
    except ValueError:
        return True
    return False


def distinct_names(names: Sequence[str]) -> list[str]:
    """Return names of which none comes twice: JSON and Parquet would lose one."""
    out: list[str] = []
    for name in names:
        other, number = name, 1
        while other in out:
            number += 1
            other = f"{name}_{number}"
        out.append(other)
    return out


def rows_with(table: Rows, name: str, values: Sequence[Any]) -> Rows:
    """Return a table with one more column, under a name that is not taken."""
    while name in table.columns:
        name += "_"
    paired = zip(table.rows, values, strict=True)
    return Rows([*table.columns, name], [[*row, value] for row, value in paired])


def pyarrow_for(name: str) -> Any:
    """Return pyarrow, or say how to have it."""
    try:
        import pyarrow as pa
        import pyarrow.parquet
    except ImportError as error:
        msg = f'{name}: Parquet needs pyarrow. Run: pip install "fewpairs[parquet]"'
        raise MissingExtraError(msg) from error
    return pa


def check_file(path: Path, *, force: bool) -> None:
    """Refuse to overwrite a file unasked, and folders that are not there."""
    if path.is_dir():
        msg = f"{path} is a folder. Pass the name of a file."
        raise InputError(msg)
    if path.exists() and not force:
        msg = f"{path} exists. Pass --force to replace it, or another --out."
        raise InputError(msg)
    if not path.parent.is_dir():
        msg = f"there is no folder {path.parent} for {path.name}. Make it first."
        raise InputError(msg)


def kind_of_output(path: Path) -> str:
    """Return the format of a table by its name."""
    kinds = {
        ".csv": "csv",
        ".tsv": "tsv",
        ".txt": "tsv",
        ".jsonl": "jsonl",
        ".ndjson": "jsonl",
        ".parquet": "parquet",
    }
    kind = kinds.get(path.suffix.lower())
    if kind is None:
        msg = f"{path}: end its name in .csv, .tsv, .jsonl or .parquet."
        raise InputError(msg)
    return kind
