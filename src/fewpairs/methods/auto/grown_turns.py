"""Turns where a matrix has grown: which candidates of old and new items are read first.

Where all items are new they take turns: every item's best, then its second best. Old
items have read their most similar already, and most of them gain nothing by new ones.
So candidates come by the place that they would have in an item's list: the values above
that were read, and the candidates above. A new item's best come first in any case; an
old item's come when they are likely among its most similar.
"""

import numpy as np
from numpy.typing import NDArray

from fewpairs.kernels.linalg.blas_threads import in_threads
from fewpairs.matrix.entries import Entries
from fewpairs.methods.auto.best_values import best_values

__all__ = ["places_in_lists"]

_LISTED = 48  # values of an item that are looked at
_ROWS = 4_096  # items looked at at once


def places_in_lists(score: NDArray[np.float32], known: Entries) -> NDArray[np.float32]:
    """Return −place of every candidate in its item's list; −∞ where there is none.

    ``score`` is (n, m), −∞ for what is no candidate. Price: O(n · m log m).
    """
    n, m = score.shape
    have = best_values(known, n, _LISTED)
    out = np.full((n, m), -np.inf, dtype=np.float32)

    def look(start: int) -> None:
        part = slice(start, start + _ROWS)
        both = np.hstack([score[part], have[part]])
        order = np.argsort(-both, axis=1, kind="stable")
        place = np.empty(order.shape, dtype=np.float32)
        rank = np.broadcast_to(np.arange(m + _LISTED, dtype=np.float32), order.shape)
        np.put_along_axis(place, order, rank, axis=1)
        out[part] = np.where(np.isfinite(score[part]), -place[:, :m], -np.inf)

    in_threads(look, range(0, n, _ROWS))
    return out
