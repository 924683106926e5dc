"""Features of pairs that cost no evaluation: what prior and low rank predict."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewpairs.types import Indices

__all__ = ["BlockInputs", "PairInputs"]


class PairInputs(NamedTuple):
    """Pairs (i[t], j[t]) and what is predicted of each without an evaluation.

    Attributes
    ----------
    base
        What prior and low rank predict together.
    cheap
        The prior alone; ``None`` where there is none.
    """

    i: Indices
    j: Indices
    base: NDArray[Any]
    cheap: NDArray[Any] | None

    def some(self, where: Any) -> "PairInputs":
        """Return those of some of the pairs."""
        cheap = None if self.cheap is None else self.cheap[where]
        return PairInputs(self.i[where], self.j[where], self.base[where], cheap)

    @classmethod
    def joined(cls, several: "Sequence[PairInputs]") -> "PairInputs":
        """Return those of several one after another; of none, none without a prior."""
        if not several:
            none = np.empty(0, dtype=np.int64)
            return cls(none, none, np.empty(0), None)
        i, j, base, cheap = zip(*several, strict=True)
        return cls(
            np.concatenate(i),
            np.concatenate(j),
            np.concatenate(base),
            None if cheap[0] is None else np.concatenate(cheap),
        )

    def __len__(self) -> int:
        return len(self.i)


class BlockInputs(NamedTuple):
    """All pairs of ``rows`` with ``columns``; ``base`` and ``cheap`` as in PairInputs.

    Both are arrays of shape (rows, columns).
    """

    rows: Indices
    columns: Indices
    base: NDArray[Any]
    cheap: NDArray[Any] | None
