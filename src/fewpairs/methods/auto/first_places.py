"""First places: whether unread pairs may come before all that was read of an item.

Of hundreds of predictions the highest is often chosen by its error (the winner's curse,
Capen, Clapp & Campbell 1971). How often it is, pairs tell that were read because they
looked like the first of their left items: were they, once read? Where fewer than half
of the last ones were, what stays unread, which looked like it even less, comes after
the best that was read.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.matrix.entries import Entries
from fewpairs.methods.auto.best_values import best_values
from fewpairs.model.pair_inputs import PairInputs

__all__ = ["FirstPlaces", "best_of"]

_FEWEST = 20  # pairs that tell


@dataclass
class FirstPlaces:
    """Counts pairs that were said to be the first of their left items.

    Attributes
    ----------
    said, true
        Those of the last round that had enough of them, and the rounds after it; those
        that were above all that had been read.
    """

    said: int = 0
    true: int = 0

    def count(
        self,
        turn: int,
        best: NDArray[np.float32] | None,
        inputs: PairInputs,
        said: NDArray[Any],
        values: NDArray[Any],
    ) -> None:
        """Compare what was said of a round's pairs with their values.

        ``best``: the largest value of every left item that had been read before; of one
        set ``None``. In the first round nothing was learned from such pairs.
        """
        if best is None or not turn:
            return
        before = best[inputs.i]
        above = said > before
        number = int(above.sum())
        if number >= _FEWEST:
            self.said = self.true = 0
        self.said += number
        self.true += int((values > before)[above].sum())

    def ceilings(self, known: Entries) -> NDArray[np.float32] | None:
        """Return what unread pairs of every item stay below; ``None``: of any."""
        if self.said < _FEWEST or 2 * self.true >= self.said:
            return None
        best = best_of(known)
        out = np.full(known.n, np.inf, dtype=np.float32)
        some = np.isfinite(best)
        out[: len(best)][some] = np.nextafter(best[some], np.float32(-np.inf))
        return out


def best_of(known: Entries) -> NDArray[np.float32]:
    """Return the largest value that was read of every left item; −∞ where none was."""
    return best_values(known, len(known.seekers[0]), 1)[:, 0]
