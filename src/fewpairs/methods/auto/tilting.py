"""Tilting: how much more a prior counts in choosing than in predicting.

A correction predicts what pairs are like on average. Which of them are among the most
similar is another question: pairs that a prior puts first have more exceptions among
them, near-duplicates above all, than their mean tells. So what chooses adds w·c to a
prediction, c the prior; w is the one which, of pairs that were read by now, would have
put the best of every item first most often.
"""

import numpy as np
from numpy.typing import NDArray

from fewpairs.methods.auto.couples import best_of_items, hits_first
from fewpairs.types import Indices

__all__ = ["tilt_told_by"]

# Shares of the spread of predictions that the prior's may be given; the first ones
# alone as long as all that was predicted is what random pairs told.
_SHARES, _AT_FIRST = (0.0, 0.1, 0.2, 0.4, 0.7), 3


def tilt_told_by(
    item: Indices,
    said: NDArray[np.floating],
    cheap: NDArray[np.floating],
    values: NDArray[np.floating],
    *,
    first: bool,
) -> float:
    """Return w, of pairs of items: what was predicted, the prior, and what was read.

    ``first``: whether they were predicted by what random pairs told alone.
    """
    spread = float(np.std(cheap)) if len(item) > 1 else 0.0
    if not spread:
        return 0.0
    unit = float(np.std(said)) / spread
    best = best_of_items(item, values)
    tried = [share * unit for share in _SHARES[: _AT_FIRST if first else None]]
    found = [hits_first(item, best, said + w * cheap) for w in tried]
    means = [float(part.mean()) if len(part) else 0.0 for part in found]
    return tried[int(np.argmax(means))]
