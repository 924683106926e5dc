"""Side: the rows of a table or a list, how they are called and what they hold."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fewpairs.errors import InputError
from fewpairs.result.approximation import Approximation
from fewpairs.similarity.items import Items, column_names
from fewpairs.types import Indices

__all__ = ["Side", "check_names", "listed", "side_of", "sides_of", "taken"]

_ITEM = "item"  # the column of items that came without a name


@dataclass(frozen=True, eq=False)
class Side:
    """The rows of one side of matches, by position.

    Attributes
    ----------
    n
        Number of rows.
    names
        How each is called: a pandas index, or a column of ids; ``None``: by position.
    columns
        What came with them, by name; the items themselves where they are no table.
    compared
        What was compared, where that has a text by itself; ``None``: whole rows.
    kept
        Rows that were compared, where a similarity drops some; ``None``: all.
    """

    n: int
    names: Any = None
    columns: Mapping[str, Any] = field(default_factory=dict)
    compared: Sequence[Any] | None = None
    kept: Indices | None = None

    def called(self, positions: Indices) -> Any:
        """Return the names of some rows."""
        rows = self.rows(positions)
        return rows if self.names is None else taken(self.names, rows)

    def rows(self, positions: Indices) -> Indices:
        """Return where compared items stand in what was given."""
        return positions if self.kept is None else self.kept[positions]

    def values(self, name: str, positions: Indices) -> Any:
        """Return a column at some rows."""
        return taken(self.columns[name], self.rows(positions))

    @property
    def has_texts(self) -> bool:
        """Whether every row that was compared is a text by itself."""
        if self.compared is None:
            return False
        rows = self.rows(np.arange(self.n))
        return all(isinstance(self.compared[int(t)], str) for t in rows)

    def texts(self, positions: Indices) -> list[str]:
        """Return what was compared, as texts."""
        if self.compared is not None:
            return [str(self.compared[t]) for t in self.rows(positions).tolist()]
        if not self.columns:
            return [str(name) for name in listed(self.called(positions))]
        parts = [listed(self.values(name, positions)) for name in self.columns]
        rows = zip(*parts, strict=True)
        return [" ".join(str(part) for part in row if part is not None) for row in rows]


def side_of(
    given: Any,
    items: Items | None,
    n: int,
    *,
    column: Any = None,
    ids: Any = None,
    kept: Indices | None = None,
) -> Side:
    """Return the side that some input makes; nothing is copied.

    Parameters
    ----------
    given
        What the caller passed: a list, a Series, a table, rows that are mappings; not a
        generator, which is used up.
    items
        The items that were read from it; ``None``: positions of a matrix.
    n
        How many are compared.
    column
        Which column they are.
    ids
        The column that names the rows.
    kept
        Rows that are compared, where a similarity drops some.
    """
    names: Any = getattr(given, "index", None) if hasattr(given, "iloc") else None
    if hasattr(names, "to_flat_index"):
        names = names.to_flat_index()  # of several levels: tuples
    held: dict[str, Any] = {}
    records = _mappings(items if column is None else given)
    table = column_names(given)
    if table is not None:
        held = {str(name): given[name] for name in table}
    elif records is not None:
        fields = dict.fromkeys(name for row in records for name in row)
        held = {str(name): [row.get(name) for row in records] for name in fields}
    elif items is not None and getattr(items, "ndim", 1) == 1:
        name = getattr(given, "name", None)
        name = name if isinstance(name, str) and name else _ITEM
        held = {name: given if hasattr(given, "iloc") else items}
    if ids is not None:
        names = held[str(ids)]
    whole = records is not None and column is None
    compared = None if whole or getattr(items, "ndim", 1) > 1 else items
    return Side(n, names, held, compared, kept)


def sides_of(approx: Approximation) -> tuple[Side, Side]:
    """Return the fitted items as sides; without their items, by position."""
    m, n = approx.shape
    held: tuple[Side, Side] | None = getattr(approx.source, "sides", None)
    if held is not None and (held[0].n, held[1].n) == (m, n):
        return held
    items = None if approx.source is None else approx.source.reader.items
    if approx.known.sides is None:
        there = items is not None and len(items) == m
        side = side_of(items, items, m) if there else Side(m)
        return side, side
    if items is None or len(items) != m + n:
        return Side(m), Side(n)
    left, right = items[:m], items[m:]
    return side_of(left, left, m), side_of(right, right, n)


def _mappings(rows: Any) -> Sequence[Mapping[Any, Any]] | None:
    """Return rows that are records; ``None``: they are something else."""
    if not isinstance(rows, (list, tuple)) or not rows:
        return None
    return rows if all(isinstance(row, Mapping) for row in rows) else None


def check_names(side: Side, call: str, name: str, ids: Any) -> None:
    """Refuse rows of which two have one name: nobody could tell them apart."""
    if side.names is None:
        return
    seen: dict[Any, int] = {}
    for t, name_of_row in enumerate(listed(side.names)):
        hashes = isinstance(name_of_row, Hashable)
        label = name_of_row if hashes else repr(name_of_row)
        if label in seen:
            what = "index" if ids is None else f"column {ids!r}"
            cure = (
                f"Pass {name}.reset_index(drop=True)"
                if ids is None
                else "Pass a column in which every value comes once, or none"
            )
            msg = (
                f"{call}: the {what} of {name} repeats: {label!r:.60} stands at "
                f"positions {seen[label]} and {t}, and matches name rows by it. {cure}."
            )
            raise InputError(msg)
        seen[label] = t


def taken(column: Any, rows: Indices) -> Any:
    """Return some rows of a column, of its own kind where it has one."""
    if hasattr(column, "iloc"):
        return column.iloc[rows].reset_index(drop=True)
    if hasattr(column, "gather"):  # polars
        return column.gather(rows)
    if isinstance(column, np.ndarray) or hasattr(column, "take"):  # Index, Arrow
        return column.take(rows)
    return [column[int(t)] for t in rows]


def listed(values: Any) -> Sequence[Any]:
    """Return values as a list of plain Python objects; ``None`` where pandas has none.

    pandas' own marks of what is missing are nothing that others know.
    """
    if hasattr(values, "isna"):
        gone = listed(np.asarray(values.isna()))
        pairs = zip(values.tolist(), gone, strict=True)
        return [None if missing else value for value, missing in pairs]
    for way in ("to_pylist", "tolist", "to_list"):
        if hasattr(values, way):
            return list(getattr(values, way)())
    return list(values)
