"""Bags of words as arrays: what every word mover's kernel reads."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Bags", "Corpus", "select"]


class Bags(NamedTuple):
    """Documents as one array: document d holds ``word[start[d] : start[d + 1]]``.

    Words ascend within a document; its masses are positive and sum to 1.
    """

    start: NDArray[np.int64]
    word: NDArray[np.int64]
    mass: NDArray[np.float64]


class Corpus(NamedTuple):
    """Documents and the vectors of their words.

    ``squares`` are the squared lengths of the vectors; no distance is above ``scale``.
    """

    vectors: NDArray[np.float64]
    squares: NDArray[np.float64]
    bags: Bags
    scale: float

    @classmethod
    def of(cls, vectors: NDArray[np.float64], bags: Bags) -> "Corpus":
        """Put vectors and bags together."""
        squares = np.einsum("wd,wd->w", vectors, vectors)
        # No distance is longer than two of the longest vectors.
        scale = 2.0 * float(np.sqrt(squares.max(initial=0.0)))
        return cls(vectors, squares, bags, scale)


def select(bags: Bags, documents: NDArray[np.int64]) -> Bags:
    """Return these documents, one after the other."""
    lengths = bags.start[documents + 1] - bags.start[documents]
    start = np.zeros(len(documents) + 1, dtype=np.int64)
    np.cumsum(lengths, out=start[1:])
    source = np.repeat(bags.start[documents] - start[:-1], lengths)
    source += np.arange(len(source))
    return Bags(start, bags.word[source], bags.mass[source])
