"""Texts as bags of words: which vectors are in use, and every word's mass."""

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from fewpairs.errors import InputError
from fewpairs.kernels.wmd.bags import Bags
from fewpairs.similarity.wmd.word_vectors import WordVectors

__all__ = ["bags_of", "vectors_of"]


def vectors_of(
    known: WordVectors, counts: list[Counter[str]], *, normalize: bool
) -> NDArray[np.float64]:
    """Return the vectors of the words in use, in the order of first use."""
    used = list(dict.fromkeys(word for count in counts for word in count))
    X = known.array[[known.index[word] for word in used]].astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(X).all(axis=1))
    if bad.size:
        msg = (
            f"fewpairs.WMD: the vector of {used[bad[0]]!r} is not finite ({bad.size} "
            "such words in use). Mend the vectors or put those words in stop_words."
        )
        raise InputError(msg)
    if normalize and len(X):
        length = np.linalg.norm(X, axis=1, keepdims=True)
        X = np.divide(X, length, where=length > 0, out=np.zeros_like(X))
    return np.ascontiguousarray(X)


def bags_of(counts: list[Counter[str]], *, tfidf: bool) -> Bags:
    """Return the masses of every text's words, by their number of first use."""
    number = {
        word: t
        for t, word in enumerate(dict.fromkeys(w for count in counts for w in count))
    }
    idf = np.ones(len(number))
    if tfidf:
        frequency = Counter(word for count in counts for word in count)
        df = np.array([frequency[word] for word in number])
        idf = np.log((1 + len(counts)) / (1 + df)) + 1
    start = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum([len(count) for count in counts], out=start[1:])
    word = np.empty(start[-1], dtype=np.int64)
    mass = np.empty(start[-1])
    for d, count in enumerate(counts):
        part = slice(start[d], start[d + 1])
        word[part] = [number[w] for w in count]
        mass[part] = list(count.values())
        order = np.argsort(word[part])
        word[part], mass[part] = word[part][order], mass[part][order]
        mass[part] *= idf[word[part]]
        mass[part] /= mass[part].sum()
    return Bags(start, word, mass)
