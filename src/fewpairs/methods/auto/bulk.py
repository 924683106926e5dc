"""The bulk: how far a correction answers pairs that do not look similar.

A correction is fitted to random pairs and to those that looked most similar, each kind
counting alike: what is some of the former and all of the latter. Of the many others
prior and low rank, fitted to random pairs alone, may say more. Random pairs that no fit
has seen tell.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.matrix.entries import Entries
from fewpairs.model.correction import Fade
from fewpairs.model.model import Model
from fewpairs.types import Indices

__all__ = ["in_bulk", "share_of_others"]

# Quantiles of what prior and low rank, or the prior's curve, say of random pairs: all
# below the first is bulk, nothing above the second.
_BULK = 0.8, 0.97
_BELIEVED = 20  # pairs that say so before any does: all of a correction counts
_FEWEST = 60  # pairs that tell


def share_of_others(
    sure: NDArray[Any], change: NDArray[Any], wanted: NDArray[Any], believed: float
) -> float:
    """Return s of (sure + (1 − sure)·s)·change that is nearest to what is wanted.

    By least squares, as if so many more pairs had said 1; from 0 to 1.
    """
    rest = (1 - sure) * change
    more = believed * float(np.mean(rest**2))
    size = float(rest @ rest) + more
    if size == 0:
        return 1.0
    return float(np.clip((rest @ (wanted - sure * change) + more) / size, 0.0, 1.0))


def in_bulk(
    model: Model, known: Entries, i: Indices, j: Indices, truth: NDArray[Any]
) -> Model:
    """Return the model, its correction as far as these random pairs confirm it.

    ``i``, ``j``, ``truth``: pairs that no fit has seen, and their values. Of one set,
    and where a correction answers alone.
    """
    bent = model.correction
    alone = model.student is None and known.sides is None
    if bent is None or not alone or len(truth) < _FEWEST:
        return model
    inputs = model.inputs(i, j)
    base = inputs.base.astype(np.float64)
    height = bent.heights(inputs).astype(np.float64)
    low, high = (float(level) for level in np.quantile(height, _BULK))
    if not low < high:
        return model
    sure = np.interp(height, [low, high], [0.0, 1.0])
    change = replace(bent, bulk=None).pairs(inputs) - base
    share = share_of_others(sure, change, truth - base, _BELIEVED)
    return replace(model, correction=replace(bent, bulk=Fade(low, high, share)))
