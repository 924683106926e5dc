"""Labels: a cluster number for every item, an array that can be a table."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.answers.frames import as_arrow, as_pandas, as_polars
from fewpairs.answers.sides import Side
from fewpairs.errors import InputError

__all__ = ["Labels"]


class Labels(np.ndarray[tuple[int], np.dtype[np.int64]]):
    """Cluster numbers, counted from 0: an array, with the items' own ids and texts.

    What is computed from it is a plain array. Parts of it are labels without the items.
    """

    side: Side | None = None

    @classmethod
    def of(cls, numbers: NDArray[Any], side: Side) -> "Labels":
        """Return numbers that know their items."""
        made = np.asarray(numbers).view(cls)
        made.side = side
        return made

    def __array_wrap__(
        self, array: NDArray[Any], context: Any = None, return_scalar: bool = False
    ) -> Any:
        """Return what is computed as a plain array."""
        del context
        plain = np.asarray(array)
        return plain[()] if return_scalar else plain

    def __reduce__(self) -> Any:
        """Pickle numbers and items."""
        return Labels.of, (np.asarray(self), self.side)

    def to_pandas(self) -> Any:
        """Return a pandas DataFrame: a row an item, its id, text and cluster."""
        return as_pandas(self._columns("to_pandas"), "Labels")

    def to_polars(self) -> Any:
        """Return a polars DataFrame; see `to_pandas`."""
        return as_polars(self._columns("to_polars"), "Labels")

    def to_arrow(self) -> Any:
        """Return a pyarrow Table; see `to_pandas`."""
        return as_arrow(self._columns("to_arrow"), "Labels")

    def _columns(self, verb: str) -> dict[str, Any]:
        side = self.side
        if side is None or side.n != len(self):
            msg = (
                f"Labels.{verb}: these are {len(self):,} numbers, a part of the labels "
                "or computed from them: it is not known which items they are. Ask the "
                "labels that cluster() has returned."
            )
            raise InputError(msg)
        every = np.arange(side.n)
        columns: dict[str, Any] = {"item": side.called(every)}
        if side.has_texts:
            columns["text"] = side.texts(every)
        return {**columns, "cluster": np.asarray(self)}
