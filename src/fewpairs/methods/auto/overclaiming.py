"""Overclaiming: unread pairs that are taken for more similar than what was read.

Where a few values are thousands of times as large as the others, a mean lies above
nearly all of them, and a prediction is a mean. Right as it is for sums of squares, it
puts pairs that nobody has looked at before those that were read for looking similar,
and turned out to be. Random pairs that were read last tell: of those that are predicted
above what ranks high among an item's read ones, few are. Then predictions keep their
order and nothing else: all of them come to lie about the median of random pairs.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.matrix.entries import Entries
from fewpairs.methods.auto.best_values import best_values
from fewpairs.model.guard import Guard
from fewpairs.model.model import Model
from fewpairs.types import Indices

__all__ = ["humbled"]

_PLACE = 10  # among what was read of an item; half of its pairs, where these are fewer
_FEWEST, _TRUE = 20, 0.25  # claims that tell, and the share of them that is to hold
_MISSED = 1.02  # times the squared error that a better order may cost
_SPREAD = 0.5, 0.75  # quantiles of random pairs between which predictions come to lie


def humbled(
    model: Model,
    known: Entries,
    per_item: float,
    last: tuple[Indices, Indices, NDArray[Any]],
    values: NDArray[Any],
) -> Model:
    """Return the model, or one that keeps no more than the order of its predictions.

    ``last``: random pairs that no fit has seen, and what was read of them; ``values``:
    those of all random pairs.
    """
    i, j, truth = last
    place = min(_PLACE, int(per_item / 2))
    if place < 1 or known.sides is not None or not len(truth):
        return model
    said = model.pairs(i, j).astype(np.float64)
    bar = best_values(known, model.n, place)[:, -1]
    bars = np.where(np.isfinite(bar), bar, np.inf)
    claimed = [said > bars[ends] for ends in (i, j)]
    number = int(sum(above.sum() for above in claimed))
    true = sum(
        int((truth >= bars[ends])[above].sum())
        for ends, above in zip((i, j), claimed, strict=True)
    )
    if number < _FEWEST or true >= _TRUE * number:
        return model
    guard = model.guard or Guard()
    level, upper = np.quantile(values, _SPREAD)
    around, highest = float(np.median(said)), float(said.max())
    if not (upper > level and highest > around):
        return model
    slope = float(upper - level) / (highest - around)
    offset = float(level) - slope * around
    if slope >= 1:
        return model
    humble = replace(
        model,
        guard=guard._replace(
            offset=offset + slope * guard.offset,
            slope=slope * guard.slope,
            steep=slope * guard.steep,
            low=offset + slope * guard.low,
            high=offset + slope * guard.high,
        ),
        words=f"{model.words}; its order alone counts: a few values outweigh the rest",
    )
    missed = float(np.sum((humble.pairs(i, j) - truth) ** 2))
    if missed > _MISSED * float(np.sum((said - truth) ** 2)):
        return model
    return humble
