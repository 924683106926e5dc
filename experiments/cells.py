"""Results as they come: a line of JSON for every finished cell of a table.

A run that is stopped goes on where it was: cells that have a line are not run again.
"""

import json
import math
import os
import platform
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import fewpairs

__all__ = ["Cell", "Filler", "Key", "Results", "Value", "run_cells", "timed"]

Key = dict[str, Any]
Value = dict[str, Any]


class Cell(NamedTuple):
    """What tells a cell from the others, and the function that fills it."""

    key: Key
    compute: Callable[[], Value]


Filler = Callable[[list[Cell]], Iterable[tuple[Cell, Value, float]]]


class Results:
    """The finished cells of an experiment, in a file of JSON lines."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lines: dict[str, dict[str, Any]] = {}
        if path.exists():
            for text in path.read_text(encoding="utf-8").splitlines(keepends=True):
                if text.endswith("\n"):  # the last one may have been cut by a kill
                    line = json.loads(text)
                    self._lines[_name(line["key"])] = line

    def __contains__(self, key: Key) -> bool:
        return _name(key) in self._lines

    def __len__(self) -> int:
        return len(self._lines) - self.complete

    @property
    def complete(self) -> bool:
        """Whether a run has come to its end."""
        return {"complete": True} in self

    def __iter__(self) -> Iterator[tuple[Key, Value]]:
        """Yield keys with their values."""
        for line in self._lines.values():
            if "complete" not in line["key"]:
                yield line["key"], line["value"]

    def find(self, **wanted: Any) -> list[tuple[Key, Value]]:
        """Return the cells whose keys have these entries."""
        return [
            (key, value)
            for key, value in self
            if all(key.get(name) == want for name, want in wanted.items())
        ]

    def one(self, **wanted: Any) -> Value | None:
        """Return the value of the only cell with these entries, if there is one."""
        found = self.find(**wanted)
        return found[0][1] if len(found) == 1 else None

    def made(self) -> str:
        """Return when the last cell was made, and with what."""
        if not self._lines:
            return "not run yet"
        last = list(self._lines.values())[-1]["made"]
        return f"{last['date']}, {last['with']}"

    def add(self, key: Key, value: Value, seconds: float) -> None:
        """Write a cell down for good."""
        line = {
            "key": key,
            "value": _rounded(value),
            "seconds": round(seconds, 2),
            "made": {"date": time.strftime("%Y-%m-%d"), "with": _versions()},
        }
        self._mend()
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self._lines[_name(key)] = line

    def _mend(self) -> None:
        """Take off a last line that a kill has cut."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self.path.exists():
            text = self.path.read_bytes()
            if text and not text.endswith(b"\n"):
                self.path.write_bytes(text[: text.rfind(b"\n") + 1])


def run_cells(
    cells: Iterable[Cell],
    results: Results,
    tell: Callable[[str], None],
    *,
    fill: Filler | None = None,
    match: Sequence[str] = (),
) -> None:
    """Fill every cell that is not filled yet and has all of ``match`` in its key.

    ``fill`` may do so in any order.
    """
    missing = [cell for cell in cells if cell.key not in results]
    chosen = [c for c in missing if all(part in _name(c.key) for part in match)]
    for cell, value, seconds in (fill or _in_turn)(chosen):
        results.add(cell.key, value, seconds)
        tell(f"{seconds:8.1f} s  {_name(cell.key)}")
    if len(chosen) == len(missing) and not results.complete:
        results.add({"complete": True}, {}, 0.0)


def timed(cell: Cell) -> tuple[Value, float]:
    """Return a cell's value, and how long it took."""
    start = time.perf_counter()
    return cell.compute(), time.perf_counter() - start


def _in_turn(cells: list[Cell]) -> Iterator[tuple[Cell, Value, float]]:
    for cell in cells:
        yield cell, *timed(cell)


def _name(key: Key) -> str:
    return json.dumps(key, sort_keys=True, ensure_ascii=False)


def _rounded(value: Any) -> Any:
    """Return plain numbers of six digits; what is not finite becomes ``None``."""
    if isinstance(value, dict):
        return {str(name): _rounded(inner) for name, inner in value.items()}
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    if isinstance(value, (list, tuple)) or hasattr(value, "tolist"):
        plain = value.tolist() if hasattr(value, "tolist") else value
        return [_rounded(x) for x in plain] if isinstance(plain, list) else plain
    return value


def _versions() -> str:
    names = f"fewpairs {fewpairs.__version__}, numpy {version('numpy')}"
    return f"{names}, Python {platform.python_version()}, {platform.machine()}"
