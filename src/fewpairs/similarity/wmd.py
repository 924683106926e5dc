"""Word mover's distance: what it takes to move one text's words to another's."""

import os
import string
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fewpairs.errors import InputError, MissingExtraError
from fewpairs.kernels import reference
from fewpairs.kernels.bags import Bags, Corpus
from fewpairs.kernels.blas import cores
from fewpairs.similarity.base import Indices, Scorer, Similarity
from fewpairs.similarity.word_vectors import WordVectors, word_vectors

__all__ = ["WMD", "split_words"]

_PUNCTUATION = str.maketrans("", "", string.punctuation)


def split_words(text: str) -> list[str]:
    """Return the words of a text: lower case, without ASCII punctuation.

    >>> split_words("Don't panic!")
    ['dont', 'panic']
    """
    return text.lower().translate(_PUNCTUATION).split()


@dataclass(frozen=True, eq=False)
class WMD(Similarity):
    """exp(−γ · word mover's distance) of two texts, exactly.

    The distance is the least Σ flow · ‖x − y‖ that turns one text's bag of words into
    the other's, with masses that sum to 1 (Kusner et al. 2015). An item is a text, or
    a list of words. Symmetric; 1 on the diagonal; not positive semidefinite, but near.

    Blocks are solved in native code on all cores (extra ``wmd``: ``pip install
    "fewpairs[wmd]"``). Where the solver reaches its limit of steps, SciPy's linear
    programming steps in; ``scorer.fallbacks`` counts that. The environment variable
    ``FEWPAIRS_KERNEL=reference`` has all pairs solved by SciPy, without numba: a
    thousand times slower, to check the native code against.

    Parameters
    ----------
    vectors
        Word vectors: a pair (words, array), gensim's ``KeyedVectors`` or a file, see
        :func:`~fewpairs.similarity.word_vectors.word_vectors`.
    gamma
        γ. Another one takes no new evaluation: see :meth:`with_gamma`.
    tokenizer
        Splits a text into words.
    stop_words
        Words that are left out.
    weights
        ``"tf"``: a word's mass is its share of the text. ``"tfidf"``: times
        log((1 + n) / (1 + df)) + 1, over the items.
    normalize
        Scale every word vector to length 1, as gensim does.
    empty
        What becomes of texts without a known word: ``"error"``, or ``"zero"``
        similarity to all others.
    threads
        At most so many, BLAS included; ``None`` takes all cores.

    References
    ----------
    Kusner, Sun, Kolkin & Weinberger (2015), "From word embeddings to document
    distances", ICML.

    Examples
    --------
    >>> import numpy as np, fewpairs as fp
    >>> words = ["obama", "president", "speaks", "greets", "banana"]
    >>> vectors = np.array([[1, 0], [1, 0.2], [0, 1], [0.1, 1], [-1, -1]])
    >>> wmd = fp.WMD((words, vectors), gamma=1.0)
    >>> scorer = wmd.bind(["Obama speaks", "The president greets", "banana"])
    >>> scorer.pairs(np.array([0, 0]), np.array([1, 2])).round(3).tolist()
    [0.862, 0.158]
    """

    vectors: Any
    gamma: float = 1.0
    tokenizer: Callable[[str], Sequence[str]] = split_words
    stop_words: Collection[str] = ()
    weights: Literal["tf", "tfidf"] = "tf"
    normalize: bool = True
    empty: Literal["error", "zero"] = "error"
    threads: int | None = None

    symmetric = True
    diagonal = 1.0
    bounds = (0.0, 1.0)
    proven = True

    def __post_init__(self) -> None:
        for option, allowed in (
            ("weights", ("tf", "tfidf")),
            ("empty", ("error", "zero")),
        ):
            if getattr(self, option) not in allowed:
                msg = (
                    f"fewpairs.WMD: {option} is {getattr(self, option)!r}; pass "
                    f"{' or '.join(map(repr, allowed))}."
                )
                raise InputError(msg)
        if not (np.isfinite(self.gamma) and self.gamma > 0):
            msg = f"fewpairs.WMD: gamma is {self.gamma}; pass a number above 0."
            raise InputError(msg)
        _kernel()  # say now if it is not there
        object.__setattr__(self, "vectors", word_vectors(self.vectors))
        object.__setattr__(self, "stop_words", frozenset(self.stop_words))

    @property
    def name(self) -> str:
        """The call that makes this similarity, in short."""
        return f"WMD(gamma={self.gamma:g})"

    def identify(self) -> Iterable[Any]:
        """Return the options and a sample of the vectors."""
        array = self.vectors.array
        sample = array[:: max(1, len(array) // 1_000)]
        tokenizer = getattr(self.tokenizer, "__qualname__", "")
        options = (self.gamma, self.weights, self.normalize, self.empty, tokenizer)
        return ("wmd", options, sorted(self.stop_words), array.shape, sample)

    def with_gamma(self, gamma: float) -> "WMD":
        """Return the same similarity with another γ; values are powers of these."""
        return replace(self, gamma=gamma)

    def bind(self, items: Sequence[Any]) -> "WMDScorer":
        """Build every text's bag of words once."""
        return WMDScorer(self, [self._words(t, item) for t, item in enumerate(items)])

    def _words(self, position: int, item: Any) -> Counter[str]:
        if isinstance(item, str):
            item = self.tokenizer(item)
        words: list[Any] = list(item) if isinstance(item, (list, tuple)) else [None]
        if not all(isinstance(word, str) for word in words):
            msg = (
                f"fewpairs.WMD: items[{position}] is {item!r:.60}; every item must be "
                "a str or a list of words."
            )
            raise InputError(msg)
        stop: Collection[str] = self.stop_words
        known = self.vectors.index
        return Counter(word for word in words if word in known and word not in stop)


class WMDScorer(Scorer):
    """Word mover's distances of bound texts.

    Attributes
    ----------
    fallbacks
        How often linear programming had to step in.
    """

    chunk = 1 << 17

    def __init__(self, similarity: WMD, counts: list[Counter[str]]) -> None:
        self.n = len(counts)
        self.fallbacks = 0
        self._gamma = similarity.gamma
        self._empty = np.array([not count for count in counts])
        if self._empty.any() and similarity.empty == "error":
            where = ", ".join(map(str, np.flatnonzero(self._empty)[:10]))
            more = ", …" if self._empty.sum() > 10 else ""
            msg = (
                f"fewpairs.WMD: {self._empty.sum():,} of {self.n:,} items have no word "
                f"with a vector: items {where}{more}. Drop them, or pass empty='zero'."
            )
            raise InputError(msg)
        bags = _bags(counts, tfidf=similarity.weights == "tfidf")
        self._corpus = Corpus.of(_vectors_of(similarity, counts), bags)
        self._threads = similarity.threads or cores()
        self._kernel = _kernel()

    def pairs(self, i: Indices, j: Indices) -> NDArray[np.float64]:
        """Return exp(−γ·distance) of single pairs."""
        return np.asarray(np.exp(-self._gamma * self.pair_distances(i, j)))

    def block(self, rows: Indices, columns: Indices) -> NDArray[np.float64]:
        """Return exp(−γ·distance) of all rows and columns."""
        return np.asarray(np.exp(-self._gamma * self.distances(rows, columns)))

    def _far(self, out: NDArray[Any], i: NDArray[Any], j: NDArray[Any]) -> None:
        """Put texts without a word infinitely far from all others."""
        if self._empty.any():
            out[(self._empty[i] | self._empty[j]) & (i != j)] = np.inf

    def pair_distances(self, i: Indices, j: Indices) -> NDArray[np.float64]:
        """Return the distances of single pairs."""
        out: NDArray[np.float64] = self._kernel.pair_distances(
            self._corpus, i, j, threads=self._threads
        )
        for t in np.flatnonzero(out < 0):
            out[t] = self._fall_back(i[t], j[t])
        self._far(out, i, j)
        return out

    def distances(self, rows: Indices, columns: Indices) -> NDArray[np.float64]:
        """Return the distances of all rows to all columns."""
        return self._block(rows, columns, relaxed=False)

    def lower_bounds(self, rows: Indices, columns: Indices) -> NDArray[np.float64]:
        """Return relaxed distances, never above the exact ones, at a tenth the time."""
        return self._block(rows, columns, relaxed=True)

    def _block(
        self, rows: Indices, columns: Indices, *, relaxed: bool
    ) -> NDArray[np.float64]:
        out: NDArray[np.float64] = self._kernel.block_distances(
            self._corpus, rows, columns, threads=self._threads, relaxed=relaxed
        )
        for r, c in np.argwhere(out < 0):
            out[r, c] = self._fall_back(rows[r], columns[c])
        self._far(out, rows[:, None], columns[None, :])
        return out

    def _fall_back(self, i: int, j: int) -> float:
        self.fallbacks += 1
        return reference.document_distance(self._corpus, i, j)


def _vectors_of(similarity: WMD, counts: list[Counter[str]]) -> NDArray[np.float64]:
    """Return the vectors of the words in use, in the order of first use."""
    known: WordVectors = similarity.vectors
    used = list(dict.fromkeys(word for count in counts for word in count))
    X = known.array[[known.index[word] for word in used]].astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(X).all(axis=1))
    if bad.size:
        msg = (
            f"fewpairs.WMD: the vector of {used[bad[0]]!r} is not finite ({bad.size} "
            "such words in use). Mend the vectors or put those words in stop_words."
        )
        raise InputError(msg)
    if similarity.normalize and len(X):
        length = np.linalg.norm(X, axis=1, keepdims=True)
        X = np.divide(X, length, where=length > 0, out=np.zeros_like(X))
    return np.ascontiguousarray(X)


def _bags(counts: list[Counter[str]], *, tfidf: bool) -> Bags:
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


def _kernel() -> ModuleType:
    """Return the native kernel, or its twin if FEWPAIRS_KERNEL asks for that."""
    asked = os.environ.get("FEWPAIRS_KERNEL", "native")
    if asked == "reference":
        return reference
    if asked != "native":
        msg = (
            f"fewpairs.WMD: the environment variable FEWPAIRS_KERNEL is {asked!r}; set "
            "it to 'native' or 'reference', or unset it."
        )
        raise InputError(msg)
    try:
        from fewpairs.kernels import word_movers
    except ImportError as error:
        msg = (
            'fewpairs.WMD needs numba. Run: pip install "fewpairs[wmd]" (or set '
            "FEWPAIRS_KERNEL=reference for SciPy's linear programming, a thousand "
            "times slower)"
        )
        raise MissingExtraError(msg) from error
    return word_movers
