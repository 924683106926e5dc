"""Word mover's distance: what it takes to move one text's words to another's."""

import string
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fewpairs.checks import (
    check_choice,
    check_flag,
    check_function,
    check_number,
    check_text,
    check_whole,
    refuse,
)
from fewpairs.errors import InputError
from fewpairs.kernels.linalg.blas_threads import cores
from fewpairs.kernels.wmd import reference
from fewpairs.kernels.wmd.bags import Corpus
from fewpairs.kernels.wmd.segments import MOST_NODES
from fewpairs.once import once
from fewpairs.similarity.base import Scorer, Similarity, made_of
from fewpairs.similarity.items import as_items
from fewpairs.similarity.wmd.distance_bounds import DistanceBounds
from fewpairs.similarity.wmd.kernels import kernel_on
from fewpairs.similarity.wmd.word_bags import bags_of, vectors_of
from fewpairs.similarity.wmd.word_vectors import word_vectors
from fewpairs.types import Indices

__all__ = ["WMD", "split_words"]

_CHUNK_ON_GPU = 1 << 22
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def split_words(text: str) -> list[str]:
    """Return the words of a text: lower case, without ASCII punctuation.

    >>> split_words("Don't panic!")
    ['dont', 'panic']
    """
    return text.lower().translate(_PUNCTUATION).split()


@dataclass(frozen=True, repr=False, eq=False)
class WMD(Similarity):
    """exp(−γ · word mover's distance) of two texts, exactly.

    The distance is the least Σ flow · ‖x − y‖ that turns one text's bag of words into
    the other's, with masses that sum to 1 (Kusner et al. 2015). An item is a text, or
    a list of words. A word of a list that has no vector, such as the ingredient "olive
    oil", falls back to its parts; what is lost then is counted (:meth:`lost`).
    Symmetric; 1 on the diagonal; not positive semidefinite, but near.

    Blocks are solved in native code on all cores (extra ``wmd``: ``pip install
    "fewpairs[wmd]"``). It is compiled when first used, which takes about 15 seconds,
    and kept on disk; a progress bar says so. Where the solver reaches its limit of
    steps, SciPy's linear programming steps in; ``scorer.fallbacks`` counts that. The
    environment variable ``FEWPAIRS_KERNEL=reference`` has all pairs solved by SciPy,
    without numba: a thousand times slower, to check the native code against.

    On a GPU costs are rounded to single precision: distances are then within 1e-6, for
    vectors of length 1, of those of the cores, and a ledger may hold both. It takes
    CuPy: ``pip install "fewpairs[cuda]"``, which has that of CUDA 13, or ``pip install
    cupy-cuda12x``.

    Parameters
    ----------
    vectors
        Word vectors: a pair (words, array), a dict of vectors by word, gensim's
        ``KeyedVectors``, a file or a folder, see
        :func:`~fewpairs.similarity.wmd.word_vectors.word_vectors`.
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
        What becomes of texts without a known word. ``"error"`` lists them and stops.
        ``"zero"`` keeps every text in its place; such a text has similarity 0 to all
        others, and these pairs count as evaluations. ``"drop"`` leaves them out: the
        matrix is of the texts that stay, numbered afresh, and :meth:`kept` says which
        these are.
    threads
        At most so many, BLAS included; ``None`` takes all cores.
    device
        ``"cuda"``, or ``"cuda:1"`` for the second GPU, solves there (extra ``cuda``,
        see above); ``None`` on the cores. With ``executor="gpus"`` it is ``"cuda"``.

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
    empty: Literal["error", "zero", "drop"] = "error"
    threads: int | None = None
    device: str | None = None

    symmetric = True
    diagonal = 1.0
    bounds = (0.0, 1.0)
    proven = True

    def __post_init__(self) -> None:
        call = "fewpairs.WMD"
        check_choice(call, "weights", self.weights, ("tf", "tfidf"))
        check_choice(call, "empty", self.empty, ("error", "zero", "drop"))
        check_number(call, "gamma", self.gamma, above=0)
        cure = "a function of one text that returns its words"
        check_function(call, "tokenizer", self.tokenizer, cure=cure)
        check_flag(call, "normalize", self.normalize)
        check_whole(call, "threads", self.threads, least=1, most=4_096, none=True)
        check_text(call, "device", self.device, none=True)
        stop_words = as_items(_ordered(self.stop_words), call, name="stop_words")
        if not all(isinstance(word, str) for word in stop_words):
            raise refuse(call, "stop_words", self.stop_words, "a collection of words")
        kernel_on(self.device)  # say now if it is not there
        object.__setattr__(self, "vectors", word_vectors(self.vectors))
        object.__setattr__(self, "stop_words", frozenset(stop_words))

    @property
    def name(self) -> str:
        """The call that makes this similarity, in short."""
        return f"WMD(gamma={self.gamma:g})"

    @property
    def fingerprinted(self) -> bool:  # type: ignore[override]
        """Whether it has no tokenizer of its own, which has but a name."""
        return self.tokenizer is split_words

    @property
    def contextual(self) -> bool:  # type: ignore[override]
        """Whether a value depends on all items: tf-idf counts words in all of them."""
        return self.weights == "tfidf"

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

    def kept(self, items: Iterable[Any]) -> NDArray[np.int64]:
        """Return the positions of the items that have a known word.

        With ``empty="drop"`` these are the items of the matrix, in this order.

        >>> import numpy as np, fewpairs as fp
        >>> wmd = fp.WMD((["cat", "dog"], np.eye(2)), empty="drop")
        >>> texts = ["a cat", "nothing known", "a dog", "cat and dog"]
        >>> fp.approximate(texts, wmd, budget=1.0).shape
        (3, 3)
        >>> wmd.kept(texts)
        array([0, 2, 3])
        """
        return np.flatnonzero([bool(count) for count in self._counts(items)])

    def lost(self, items: Iterable[Any]) -> Counter[str]:
        """Count the words without a vector that no part of stands in for.

        >>> import numpy as np, fewpairs as fp
        >>> wmd = fp.WMD({"olive": [1, 0], "oil": [0, 1]})
        >>> wmd.lost([["olive oil", "za'atar"], ["oil"]])
        Counter({"za'atar": 1})
        """
        gone: Counter[str] = Counter()
        for t, text in enumerate(as_items(items, "fewpairs.WMD")):
            self._words(t, text, gone)
        return gone

    def bind(self, items: Sequence[Any]) -> "WMDScorer":
        """Build every text's bag of words once."""
        counts = self._counts(items)
        if self.empty != "drop":
            return WMDScorer(self, counts)
        kept = [t for t, count in enumerate(counts) if count]
        return WMDScorer(self, [counts[t] for t in kept], np.array(kept, dtype=int))

    def _counts(self, items: Iterable[Any]) -> list[Counter[str]]:
        texts = as_items(items, "fewpairs.WMD")
        return [self._words(t, text) for t, text in enumerate(texts)]

    def _words(
        self, position: int, item: Any, lost: Counter[str] | None = None
    ) -> Counter[str]:
        call, whole = "fewpairs.WMD", isinstance(item, str)
        if whole:
            item = made_of(item, position, self.tokenizer, call, "tokenizer")
        words: list[Any] = list(item) if _is_list(item) else [None]
        if not all(isinstance(word, str) for word in words):
            msg = (
                f"fewpairs.WMD: items[{position}] is {item!r:.60}; every item must be "
                "a str or a list of words."
            )
            raise InputError(msg)
        stop: Collection[str] = self.stop_words
        known = self.vectors.index
        found: list[str] = []
        for word in words:
            parts = [word]
            if word not in known and word not in stop and not whole:
                parts = list(made_of(word, position, self.tokenizer, call, "tokenizer"))
            there = [part for part in parts if part in known]
            found += [part for part in there if part not in stop]
            if lost is not None and not there and word not in stop:
                lost[word] += 1
        return Counter(found)


def _is_list(item: Any) -> bool:
    """Tell a list of words; Parquet's come as arrays."""
    flat = isinstance(item, np.ndarray) and item.ndim == 1
    return flat or isinstance(item, (list, tuple))


def _ordered(words: Any) -> Any:
    return list(words) if isinstance(words, (set, frozenset)) else words


class WMDScorer(Scorer):
    """Word mover's distances of bound texts.

    Attributes
    ----------
    fallbacks
        How often linear programming had to step in.
    """

    chunk = 1 << 17

    def __init__(
        self,
        similarity: WMD,
        counts: list[Counter[str]],
        kept: NDArray[np.int64] | None = None,
    ) -> None:
        self.n = len(counts)
        self.kept = kept
        self.fallbacks = 0
        self._gamma = similarity.gamma
        self._empty = np.array([not count for count in counts])
        if self._empty.any() and similarity.empty == "error":
            where = ", ".join(map(str, np.flatnonzero(self._empty)[:10]))
            more = ", …" if self._empty.sum() > 10 else ""
            msg = (
                f"fewpairs.WMD: {self._empty.sum():,} of {self.n:,} items have no word "
                f"with a vector: items {where}{more}. Pass empty='drop' to leave them "
                "out, or empty='zero' for similarity 0 to all others."
            )
            raise InputError(msg)
        bags = bags_of(counts, tfidf=similarity.weights == "tfidf")
        self._corpus = Corpus.of(
            vectors_of(similarity.vectors, counts, normalize=similarity.normalize), bags
        )
        self._threads = similarity.threads or cores()
        self._kernel = kernel_on(similarity.device)
        self.backend = f"compiled code, {self._threads} threads"
        if self._kernel is reference:
            self.backend = "SciPy's linear programming"
        elif similarity.device is not None:
            self.backend = f"CuPy on {similarity.device}"
        if similarity.device is not None and self._kernel is not reference:
            self.chunk = _CHUNK_ON_GPU
            self._refuse_too_long()

    def _refuse_too_long(self) -> None:
        longest = np.sort(np.diff(self._corpus.bags.start))[-2:]
        if longest.sum() > MOST_NODES:
            msg = (
                f"fewpairs.WMD: the longest text has {longest[-1]:,} different words; "
                f"a GPU takes two texts of {MOST_NODES:,} together at most. Leave "
                "device out to solve on the cores."
            )
            raise InputError(msg)

    def prepare(self, tell: Callable[[str], None]) -> None:
        """Compile the native code, or load it if it was compiled before."""
        self._kernel.prepare(tell)

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

    @property
    def has_bounds(self) -> bool:
        """Distances of centroids, and relaxed ones, are never above the exact ones."""
        return True

    def upper_bound(self, i: Indices, j: Indices) -> NDArray[np.float64]:
        """Return exp(−γ·relaxed distance), a little above for rounding."""
        return self._bounds.pairs(i, j)

    def may_reach(
        self, rows: Indices, columns: Indices, least: float
    ) -> NDArray[np.bool_]:
        """Tell which pairs may be as similar, by centroids and relaxed distances."""
        return self._bounds.may_reach(rows, columns, least)

    @once
    def _bounds(self) -> DistanceBounds:
        return DistanceBounds(
            self._corpus,
            self._gamma,
            self._kernel,
            threads=self._threads,
            rough=self.backend.startswith("CuPy"),
        )

    def _fall_back(self, i: int, j: int) -> float:
        self.fallbacks += 1
        return reference.document_distance(self._corpus, i, j)
