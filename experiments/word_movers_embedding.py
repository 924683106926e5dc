"""Word mover's embedding: random features of a kernel made of WMD."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.errors import InputError
from fewpairs.similarity.items import as_items
from fewpairs.similarity.wmd.scorer import WMD
from fewpairs.similarity.wmd.word_vectors import WordVectors

__all__ = ["WordMoversEmbedding"]


@dataclass(frozen=True, eq=False)
class WordMoversEmbedding:
    """Features exp(−γ·WMD(x, ω_r)) / √R of a text x, for R random documents ω.

    Each ω has 1 to ``longest`` words of equal mass, drawn uniformly from the box that
    holds all word vectors. Inner products of features approximate a positive definite
    kernel of the texts. The baseline of Ray et al. (2022); unlike the methods of
    fewpairs it approximates another similarity than exp(−γ·WMD) itself.

    Evaluations: n·R distances to short documents.

    Parameters
    ----------
    wmd
        The distance, with its word vectors and γ.
    dim
        R, the number of features.
    longest
        Most words of a random document.
    seed
        Same seed, same features.

    References
    ----------
    Wu, Yen, Xu, Xu, Balakrishnan, Chen, Ravikumar & Witbrock (2018), "Word mover's
    embedding: from word2vec to document embedding", EMNLP.

    Examples
    --------
    >>> import numpy as np, fewpairs as fp
    >>> from fewpairs.similarity.wme import WordMoversEmbedding
    >>> words, vectors = ["a", "b", "c"], np.eye(3)
    >>> embedding = WordMoversEmbedding(fp.WMD((words, vectors)), dim=16)
    >>> embedding.features(["a b", "c", "a"]).shape
    (3, 16)
    """

    wmd: WMD
    dim: int = 512
    longest: int = 6
    seed: int = 0

    def __post_init__(self) -> None:
        for option in ("dim", "longest"):
            if getattr(self, option) < 1:
                got = getattr(self, option)
                msg = (
                    f"fewpairs.WordMoversEmbedding: {option} is {got}; pass 1 or more."
                )
                raise InputError(msg)

    def features(self, items: Iterable[Any]) -> NDArray[np.float64]:
        """Return the (n, dim) features of texts."""
        items = as_items(items, "fewpairs.WordMoversEmbedding")
        vectors, documents = self._random_documents()
        scorer = replace(self.wmd, vectors=vectors).bind([*items, *documents])
        rows = np.arange(len(items))
        columns = np.arange(len(items), len(items) + self.dim)
        distances = scorer.distances(rows, columns)
        return np.asarray(np.exp(-self.wmd.gamma * distances) / np.sqrt(self.dim))

    def _random_documents(self) -> tuple[WordVectors, list[list[str]]]:
        """Return word vectors with random words among them, and lists of those."""
        rng = np.random.default_rng(self.seed)
        known: WordVectors = self.wmd.vectors
        lengths = rng.integers(1, self.longest + 1, size=self.dim)
        low, high = known.array.min(axis=0), known.array.max(axis=0)
        drawn = rng.uniform(low, high, size=(int(lengths.sum()), known.array.shape[1]))
        # No tokenizer gives a word that begins with NUL.
        names = [f"\0{t}" for t in range(len(drawn))]
        index = {
            **known.index,
            **dict(zip(names, count(len(known.array)), strict=False)),
        }
        array = np.vstack([known.array, drawn])
        ends = np.cumsum(lengths)
        documents = [names[end - k : end] for end, k in zip(ends, lengths, strict=True)]
        return WordVectors(index, array), documents
