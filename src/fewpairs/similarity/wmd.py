"""Word mover's distance: what it takes to move one text's words to another's."""

import os
import string
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fewpairs.errors import InputError, MissingExtraError
from fewpairs.similarity.base import Indices, Scorer, Similarity
from fewpairs.similarity.word_vectors import WordVectors, word_vectors

__all__ = ["WMD", "split_words"]

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_PRODUCTS = 1 << 22  # inner products of words held at once
_TASK = 1 << 14  # pairs of words below which another thread does not pay


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
    programming steps in; ``scorer.fallbacks`` counts that.

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
        At most so many; ``None`` takes all cores.

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
        _require_numba()
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
        self._vectors = _vectors_of(similarity, counts)
        self._squares = np.einsum("wd,wd->w", self._vectors, self._vectors)
        # No distance is longer than two of the longest vectors.
        self._scale = 2.0 * float(np.sqrt(self._squares.max(initial=0.0)))
        self._bags = _bags(counts, tfidf=similarity.weights == "tfidf")
        self._lengths = np.diff(self._bags.start)
        self._threads = similarity.threads or _cores()

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
        from fewpairs.kernels.documents import pair_distances

        out = np.empty(len(i))

        def work(part: slice) -> None:
            pair_distances(
                self._vectors, self._bags, i[part], j[part], self._scale, out[part]
            )

        size = self._lengths[i] * self._lengths[j]
        self._spread(work, _cuts(np.cumsum(size), self._threads))
        for t in np.flatnonzero(out < 0):
            out[t] = self._fall_back(i[t], j[t])
        self._far(out, i, j)
        return out

    def distances(self, rows: Indices, columns: Indices) -> NDArray[np.float64]:
        """Return the distances of all rows to all columns."""
        return self._sweep(rows, columns, relaxed=False)

    def lower_bounds(self, rows: Indices, columns: Indices) -> NDArray[np.float64]:
        """Return relaxed distances, never above the exact ones, at a tenth the time."""
        return self._sweep(rows, columns, relaxed=True)

    def _sweep(
        self, rows: Indices, columns: Indices, *, relaxed: bool
    ) -> NDArray[np.float64]:
        """Compare every document of the shorter side with all of the longer one."""
        if len(rows) > len(columns):
            return self._sweep(columns, rows, relaxed=relaxed).T
        out = np.empty((len(rows), len(columns)))
        if not len(rows):
            return out
        bags = self._bags
        words = np.unique(_gather(bags, columns))
        table_row = np.zeros(len(self._vectors), dtype=np.int64)
        table_row[words] = np.arange(len(words))
        turned = np.ascontiguousarray(self._vectors[words].T)
        ends = np.cumsum(self._lengths[rows])
        tile = max(1, _PRODUCTS // max(1, len(words)))
        cuts = np.searchsorted(ends, np.arange(tile, ends[-1] + tile, tile))
        bounds = np.unique(np.concatenate([[0], cuts + 1, [len(rows)]]))
        for start, end in pairwise(np.minimum(bounds, len(rows))):
            ours = rows[start:end]
            products = self._vectors[_gather(bags, ours)] @ turned
            theirs = (columns, words, table_row)
            self._sweep_tile(ours, theirs, products, out[start:end], relaxed=relaxed)
        for r, c in np.argwhere(out < 0):
            out[r, c] = self._fall_back(rows[r], columns[c])
        self._far(out, rows[:, None], columns[None, :])
        return out

    def _sweep_tile(
        self,
        anchors: Indices,
        theirs: tuple[Indices, Indices, Indices],
        products: NDArray[Any],
        out: NDArray[Any],
        *,
        relaxed: bool,
    ) -> None:
        from fewpairs.kernels import documents

        others, words, table_row = theirs
        bags = self._bags
        starts = np.concatenate([[0], np.cumsum(self._lengths[anchors])])

        def work(part: slice) -> None:
            for t in range(part.start, part.stop):
                mine = slice(starts[t], starts[t + 1])
                own = bags.word[bags.start[anchors[t]] : bags.start[anchors[t] + 1]]
                table = np.empty((len(words), len(own)))
                documents.word_table(
                    self._vectors, self._squares, products[mine], words, own, table
                )
                if relaxed:
                    documents.relaxed_distances(
                        bags, anchors[t], others, table, table_row, out[t]
                    )
                else:
                    documents.anchor_distances(
                        bags, anchors[t], others, table, table_row, self._scale, out[t]
                    )

        size = self._lengths[anchors] * int(self._lengths[others].sum())
        self._spread(work, _cuts(np.cumsum(size), self._threads))

    def _spread(self, work: Callable[[slice], None], parts: list[slice]) -> None:
        """Run parts on threads, whichever is free; the kernels release the lock."""
        if len(parts) < 2:
            for part in parts:
                work(part)
            return
        with ThreadPoolExecutor(self._threads) as pool:
            list(pool.map(work, parts))

    def _fall_back(self, i: int, j: int) -> float:
        from fewpairs.kernels.reference import document_distance

        self.fallbacks += 1
        a, b = (
            (self._bags.word[part], self._bags.mass[part])
            for part in (
                slice(self._bags.start[d], self._bags.start[d + 1]) for d in (i, j)
            )
        )
        return document_distance(self._vectors, a, b)


def _cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _cuts(ends: NDArray[Any], threads: int) -> list[slice]:
    """Cut tasks with these cumulated sizes into parts of about equal size.

    Several a thread, so that one long text does not keep the others waiting.
    """
    total = int(ends[-1]) if len(ends) else 0
    parts = 1 if threads == 1 else int(min(8 * threads, max(1, total // _TASK)))
    at = np.searchsorted(ends, total * np.arange(1, parts) / parts) + 1
    bounds = np.unique(np.concatenate([[0], np.minimum(at, len(ends)), [len(ends)]]))
    return [slice(int(a), int(b)) for a, b in pairwise(bounds)]


def _gather(bags: Any, documents: Indices) -> NDArray[np.int64]:
    """Return the words of documents, one after the other."""
    lengths = bags.start[documents + 1] - bags.start[documents]
    ends = np.cumsum(lengths)
    offset = np.repeat(bags.start[documents] - (ends - lengths), lengths)
    return np.asarray(bags.word[offset + np.arange(len(offset))])


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


def _bags(counts: list[Counter[str]], *, tfidf: bool) -> Any:
    from fewpairs.kernels.documents import Bags

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


def _require_numba() -> None:
    try:
        import numba  # noqa: F401
    except ImportError as error:
        msg = 'fewpairs.WMD needs numba. Run: pip install "fewpairs[wmd]"'
        raise MissingExtraError(msg) from error
