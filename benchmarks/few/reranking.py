"""The simplest rivals: the prior with a fitted curve, and its top re-ranked."""

import numpy as np

from benchmarks.few.answers import Answer, Curve, FromReads, calibrate, curve_of
from benchmarks.few.reader import Reader
from benchmarks.few.sets import DataSet

__all__ = ["curve", "rerank", "reranked"]


def curve(data: DataSet, evaluations: int, rng: np.random.Generator) -> Answer:
    """Fit a cubic of the prior to random pairs: all that is read.

    Neighbors are those of the prior.
    """
    reader = Reader(data, evaluations)
    fitted = curve_of(reader, reader.left, rng)
    return FromReads(reader, fitted.pairs)


def reranked(data: DataSet, evaluations: int, rng: np.random.Generator) -> Answer:
    """Read every item's top under the prior, its best first; rank by what was read.

    What people do with a cross-encoder. Where the budget ends between two places of
    the lists, the items that get one more are drawn at random.

    References
    ----------
    Nogueira and Cho, Passage re-ranking with BERT, arXiv:1901.04085, 2019.
    """
    reader = Reader(data, evaluations)
    fitted: Curve = calibrate(reader, rng)
    rerank(reader, reader.left, rng)
    return FromReads(reader, fitted.pairs)


def rerank(reader: Reader, number: int, rng: np.random.Generator) -> None:
    """Read so many pairs of the prior's lists that were not known, place by place."""
    n = reader.data.n
    end = reader.left - number
    place, width = 0, min(32, n - 1)
    while reader.left > end and place < n - 1:
        if place == width:
            width = min(2 * width, n - 1)
        order = rng.permutation(n)
        reader.propose(order, reader.data.top(width)[order, place], reader.left - end)
        place += 1
