"""Neighbors: two arrays that unpack like a pair, and columns that make a table."""

from collections.abc import Callable, Iterator
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from fewpairs.answers.frames import as_arrow, as_pandas, as_polars
from fewpairs.answers.sides import Side, listed
from fewpairs.answers.way import Way
from fewpairs.cards import table_card
from fewpairs.matrix.moments import Moments

__all__ = ["Neighbors"]

_SHOWN, _LETTERS = 12, 60  # rows of a card, and letters of a text in it


# pandas makes a table of a dict and of nothing else that can be unpacked into two
# arrays, so this is a dict; its columns are made when they are asked for.
class Neighbors(dict[Any, Any]):
    """``(indices, similarities)``, two (n, k) arrays, the most similar first.

    ``indices, similarities = approx.neighbors(10)`` unpacks it, ``[0]`` and ``[1]`` are
    the same two arrays. As a table it has a row per item and neighbor:
    ``to_pandas()``, ``to_polars()``, ``to_arrow()``, or ``pd.DataFrame(neighbors)``.
    Its columns are ``item`` and ``neighbor``, the items' own ids (a pandas index, a
    column of ids, else positions), ``rank`` from 1 on, ``similarity``, and of texts
    ``text`` and ``neighbor_text``.

    Attributes
    ----------
    indices, similarities
        Positions, and their similarities.
    recall, recall_interval
        Share of the true k most similar that were found, on average, and an interval
        that holds 19 times in 20, or as asked; ``None`` where none was asked for.
    evaluations
        Calls of the similarity made for that; by `fewpairs.neighbors`, all of them.
    way
        Whether `fewpairs.neighbors` read all pairs, and why; else ``None``.
    moments
        Number, sum and sum of squares of all similarities, where all were read.
    sides
        The items that look, and those that are found.

    Examples
    --------
    >>> import fewpairs as fp, pandas as pd
    >>> texts = pd.Series(["red cat", "green dog", "red cats"], index=["a", "b", "c"])
    >>> found = fp.neighbors(texts, fp.StringSimilarity("ratio"), k=1)
    >>> found.to_pandas()[["item", "neighbor", "similarity"]].round(2)
      item neighbor  similarity
    0    a        c        0.93
    1    b        a        0.38
    2    c        a        0.93
    """

    def __init__(
        self,
        indices: NDArray[np.int64],
        similarities: NDArray[Any],
        recall: float | None = None,
        recall_interval: tuple[float, float] | None = None,
        evaluations: int = 0,
        *,
        way: Way | None = None,
        moments: Moments | None = None,
        sides: tuple[Side, Side] | None = None,
    ) -> None:
        super().__init__()
        self.indices, self.similarities = indices, similarities
        self.recall, self.recall_interval = recall, recall_interval
        self.evaluations, self.way, self.moments = evaluations, way, moments
        n = len(indices)
        self.sides = sides or (Side(n), Side(n))

    # --- a pair of arrays ------------------------------------------------------------

    def __iter__(self) -> Iterator[NDArray[Any]]:
        return iter((self.indices, self.similarities))

    def __len__(self) -> int:
        return 2

    @overload
    def __getitem__(self, key: int) -> NDArray[Any]: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[NDArray[Any], ...]: ...
    @overload
    def __getitem__(self, key: str) -> Any: ...
    def __getitem__(self, key: int | slice | str) -> Any:
        if isinstance(key, str):
            return self._column(key)
        return (self.indices, self.similarities)[key]

    __eq__ = object.__eq__
    __ne__ = object.__ne__
    __hash__ = object.__hash__  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        """Pickle what it was made of."""
        parts = (self.indices, self.similarities, self.recall, self.recall_interval)
        state = {"way": self.way, "moments": self.moments, "sides": self.sides}
        return Neighbors, (*parts, self.evaluations), state

    # --- columns by name -------------------------------------------------------------

    def keys(self) -> Any:
        """Return the names of the columns."""
        left, right = self.sides
        names = ["item", "rank", "neighbor", "similarity"]
        texts = ["text", "neighbor_text"] * (left.has_texts and right.has_texts)
        return dict.fromkeys([*names, *texts]).keys()

    def values(self) -> Any:
        """Return the columns."""
        return [self._column(name) for name in self.keys()]

    def items(self) -> Any:
        """Return names and columns."""
        return [(name, self._column(name)) for name in self.keys()]

    def __contains__(self, name: object) -> bool:
        return name in self.keys()

    def get(self, name: Any, default: Any = None) -> Any:
        """Return a column; where there is none, the default."""
        return self._column(name) if name in self else default

    def _column(self, name: str) -> Any:
        if name not in self:
            raise KeyError(name)
        n, k = self.indices.shape
        looking, found = np.repeat(np.arange(n), k), self.indices.ravel()
        made: dict[str, Callable[[], Any]] = {
            "item": lambda: self.sides[0].called(looking),
            "rank": lambda: np.tile(np.arange(1, k + 1), n),
            "neighbor": lambda: self.sides[1].called(found),
            "similarity": self.similarities.ravel,
            "text": lambda: self.sides[0].texts(looking),
            "neighbor_text": lambda: self.sides[1].texts(found),
        }
        return made[name]()

    def to_pandas(self) -> Any:
        """Return a pandas DataFrame: a row per item and neighbor."""
        return as_pandas(dict(self.items()), "Neighbors")

    def to_polars(self) -> Any:
        """Return a polars DataFrame; see `to_pandas`."""
        return as_polars(dict(self.items()), "Neighbors")

    def to_arrow(self) -> Any:
        """Return a pyarrow Table; see `to_pandas`."""
        return as_arrow(dict(self.items()), "Neighbors")

    def __repr__(self) -> str:
        n, k = self.indices.shape
        told = self.recall is None or (self.way is not None and self.way.exact)
        recall = "" if told else f", recall about {self.recall:.2f}"
        way = "" if self.way is None else f"; {self.way}"
        return f"<Neighbors: {k} of each of {n:,} items{recall}{way}>"

    def _repr_html_(self) -> str:
        n, k = self.indices.shape
        rows = max(1, _SHOWN // max(1, k)) if k else 0
        head = Neighbors(
            self.indices[:rows], self.similarities[:rows], sides=self.sides
        )
        columns = [[_short(v) for v in listed(c)] for c in head.values()]
        title = repr(self)[1:-1] + (f"; of the first {rows}:" if rows < n else "")
        return table_card(title, list(self.keys()), zip(*columns, strict=True))


def _short(value: Any) -> str | float:
    """Return what a table shows of a value; whole numbers are names, or ranks."""
    if isinstance(value, float):
        return value
    text = str(value)
    return text if len(text) <= _LETTERS else text[: _LETTERS - 1] + "…"
