"""Tables: what was read from a file, and what is written to one."""

import csv
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fewpairs.errors import InputError, MissingExtraError

__all__ = ["ABSENT", "Rows", "check_file", "kind_of_output", "pyarrow_for"]
__all__ += ["rows_with", "write_rows"]

ABSENT: Any = object()  # a field that a JSON line does not have


@dataclass(frozen=True)
class Rows:
    """A table as it was read: names of its columns, and rows of any values."""

    columns: list[str]
    rows: list[list[Any]]


def write_rows(table: Rows, kind: str, path: Path, delimiter: str | None) -> None:
    """Write a table in the format of its input; lines become TSV."""
    if kind == "parquet":
        pa = pyarrow_for(str(path))
        columns = [[row[t] for row in table.rows] for t in range(len(table.columns))]
        made = pa.table(dict(zip(table.columns, columns, strict=True)))
        pa.parquet.write_table(made, path)
        return
    with path.open("w", encoding="utf-8", newline="") as file:
        if kind == "jsonl":
            for row in table.rows:
                fields = zip(table.columns, row, strict=True)
                # A field that a line never had stays away from it.
                kept = {name: value for name, value in fields if value is not ABSENT}
                file.write(json.dumps(kept, ensure_ascii=False) + "\n")
            return
        separator = (delimiter or ",") if kind == "csv" else "\t"
        writer = csv.writer(file, delimiter=separator, lineterminator="\n")
        writer.writerow(table.columns)
        writer.writerows(table.rows)


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
