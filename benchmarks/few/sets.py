"""The data sets: an expensive similarity, a cheap prior, labels where there are any."""

import os
import re
import tarfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from experiments.glue_tasks import TASKS, read_task
from numpy.typing import NDArray

import fewpairs as fp
from benchmarks.few.cosines import top_lists, unit_rows

__all__ = ["ON_THE_PAGE", "SETS", "DataSet", "load", "models", "read_sentences"]

Array = NDArray[Any]
FIRST = 128  # of the prior's lists that are made at once
Labels = tuple[Array, Array, Array]  # items, items, what people said of the pair


@dataclass(frozen=True)
class DataSet:
    """Items, their expensive similarity, and embeddings as the prior.

    Attributes
    ----------
    items
        What the similarity compares; ``None`` where it is a matrix.
    prior
        Unit rows: the cosine of two of them is the cheap similarity.
    labels
        Pairs with what people said of them.
    """

    name: str
    similarity: fp.Similarity
    items: Sequence[Any] | None
    prior: NDArray[np.float32]
    labels: Labels | None = None

    @property
    def n(self) -> int:
        """How many items there are."""
        return len(self.prior)

    @cached_property
    def scorer(self) -> fp.Scorer:
        """The similarity, bound to the items."""
        return self.similarity.bind(range(self.n) if self.items is None else self.items)

    def score(self, i: Array, j: Array) -> NDArray[np.float64]:
        """Evaluate pairs, whoever pays for them."""
        step = self.scorer.chunk
        i, j = np.asarray(i, dtype=np.int64), np.asarray(j, dtype=np.int64)
        parts = [
            np.asarray(self.scorer.pairs(i[t : t + step], j[t : t + step]))
            for t in range(0, len(i), step)
        ]
        return np.concatenate([np.empty(0), *parts])

    def row(self, item: int) -> NDArray[np.float64]:
        """Evaluate an item with every item."""
        everything = np.arange(self.n)
        return np.asarray(
            self.scorer.block(np.array([item]), everything)[0], dtype=np.float64
        )

    @cached_property
    def _tops(self) -> list[Array]:
        return []

    def top(self, width: int) -> Array:
        """Return every item's ``width`` most similar others under the prior."""
        width = min(width, self.n - 1)
        if not self._tops or self._tops[-1].shape[1] < width:
            enough = min(max(width, FIRST), self.n - 1)
            self._tops.append(top_lists(self.prior, enough))
        return self._tops[-1][:, :width]


def load(name: str, data: Path, work: Path) -> DataSet:
    """Return a data set; what takes long to make is kept in ``work``."""
    return SETS[name](data, work)


def models(data: Path) -> Path:
    """Return the folder that FEWPAIRS_MODELS names, else the one beside the data."""
    return Path(os.environ.get("FEWPAIRS_MODELS") or data.parent / "models")


def _stsb(data: Path, work: Path) -> DataSet:  # noqa: ARG001 - one signature for all
    from benchmarks.matrices import glue

    known = glue(data, "stsb")
    if known.embeddings is None:
        raise AssertionError
    similarity = fp.from_matrix(known.K, symmetric=True)
    return DataSet("stsb", similarity, None, unit_rows(known.embeddings), known.labels)


def _tweets(data: Path, work: Path) -> DataSet:
    path = work / "tweets.npz"
    if not path.exists():
        from benchmarks.matrices import tweets_wmd

        known = tweets_wmd(data, 1.0)
        work.mkdir(parents=True, exist_ok=True)
        np.savez(path, K=known.K, centroids=np.asarray(known.embeddings))
    with np.load(path) as kept:
        similarity = fp.from_matrix(kept["K"], symmetric=True)
        return DataSet("tweets", similarity, None, unit_rows(kept["centroids"]))


def _recipes(data: Path, work: Path) -> DataSet:  # noqa: ARG001
    from experiments.corpora import centroids, corpus, glove

    words = corpus(data, "recipe").words
    similarity = fp.WMD(glove(data), gamma=1.0)
    return DataSet("recipes", similarity, words, unit_rows(centroids(data, words)))


def _glue(name: str) -> Callable[[Path, Path], DataSet]:
    def made(data: Path, work: Path) -> DataSet:  # noqa: ARG001
        from benchmarks.matrices import glue

        known = glue(data, name)
        similarity = fp.from_matrix(known.K, symmetric=True)
        prior = unit_rows(np.asarray(known.embeddings))
        return DataSet(name, similarity, None, prior, known.labels)

    return made


def _docstrings(data: Path, work: Path) -> DataSet:  # noqa: ARG001
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    from benchmarks.matrices import strings
    from fewpairs.datasets import stdlib_docstrings

    texts = list(stdlib_docstrings(3_000).texts)
    counted = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4))
    prior = TruncatedSVD(128, random_state=0).fit_transform(
        counted.fit_transform(texts)
    )
    similarity = fp.from_matrix(strings(texts, "levenshtein").K, symmetric=True)
    return DataSet("docstrings", similarity, None, unit_rows(prior.astype(np.float32)))


def _some_recipes(data: Path, work: Path) -> DataSet:
    path = work / "recipes-3000.npz"
    if not path.exists():
        everything = _recipes(data, work)
        some = np.sort(np.random.default_rng(0).permutation(everything.n)[:3_000])
        words = [(everything.items or ())[t] for t in some]
        K = everything.similarity.bind(words).block(np.arange(3_000), np.arange(3_000))
        work.mkdir(parents=True, exist_ok=True)
        K = np.asarray(K, dtype=np.float32)
        np.savez(path, K=(K + K.T) / 2, centroids=everything.prior[some])
    with np.load(path) as kept:
        similarity = fp.from_matrix(kept["K"], symmetric=True)
        return DataSet("recipes-3000", similarity, None, kept["centroids"])


def _subjects(data: Path, work: Path) -> DataSet:  # noqa: ARG001
    """Return 2,000 subject lines of 20 newsgroups, by Jaro and Winkler.

    The prior is the one that texts have by themselves.
    """
    from fewpairs.similarity.lexical.recipe import Lexical

    lines: dict[str, None] = {}
    with tarfile.open(data / "20news" / "20news-bydate.tar.xz") as archive:
        for member in archive:
            if not member.isfile():
                continue
            file = archive.extractfile(member)
            text = file.read().decode("latin-1") if file else ""
            if found := re.search(r"^Subject: (?:Re: )?(.*)$", text, re.MULTILINE):
                lines[found[1].strip()] = None
    order = np.random.default_rng(0).permutation(len(lines))[:2_000]
    texts = [list(lines)[t] for t in order]
    recipe = Lexical.fit(texts)
    if recipe is None:
        raise AssertionError
    return DataSet(
        "subjects", fp.StringSimilarity("jaro_winkler"), texts, recipe.embed(texts)
    )


def _posts(data: Path, work: Path) -> DataSet:  # noqa: ARG001
    """Return 1,500 posts to 20 newsgroups, 30 words of each, by exp(−2·WMD)."""
    from experiments.corpora import centroids, corpus, glove

    words = [bag[:30] for bag in corpus(data, "20news").words if len(bag) >= 8]
    some = np.random.default_rng(0).permutation(len(words))[:1_500]
    words = [words[t] for t in some]
    similarity = fp.WMD(glove(data), gamma=2.0)
    return DataSet("posts", similarity, words, unit_rows(centroids(data, words)))


def _sentences(data: Path, work: Path) -> DataSet:
    from benchmarks.few.packing import embeddings_of

    texts, labels = read_sentences(data)
    model = models(data) / "stsb-cross-encoder"
    similarity = fp.CrossEncoder(str(model), activation="identity", symmetric=True)
    prior = embeddings_of(texts, models(data), work)
    return DataSet("sentences", similarity, texts, prior, labels)


def read_sentences(data: Path) -> tuple[list[str], Labels]:
    """Return the distinct sentences of STS-B, MRPC and RTE, and STS-B's labels."""
    tasks = [read_task(data, task, split) for task in TASKS for split in _SPLITS]
    both = [text.strip() for one in tasks for text in (*one.first, *one.second)]
    texts = list(dict.fromkeys(both))
    place = {text: t for t, text in enumerate(texts)}
    labelled = tasks[: len(_SPLITS)]
    i = [place[text.strip()] for one in labelled for text in one.first]
    j = [place[text.strip()] for one in labelled for text in one.second]
    gold = [label for one in labelled for label in one.labels]
    kept = np.array(i) != np.array(j)
    return texts, (np.array(i)[kept], np.array(j)[kept], np.array(gold)[kept])


def _rough(n: int) -> Callable[[Path, Path], DataSet]:
    def made(data: Path, work: Path) -> DataSet:  # noqa: ARG001
        from benchmarks.hidden import Rough

        similarity = Rough(n)
        prior = unit_rows(similarity.prior)
        return DataSet(f"rough-{n}", similarity, range(n), prior)

    return made


_SPLITS = ("train", "dev")
ON_THE_PAGE = ("stsb", "tweets", "recipes", "sentences")  # with all rivals
SETS: dict[str, Callable[[Path, Path], DataSet]] = {
    "stsb": _stsb,
    "tweets": _tweets,
    "recipes": _recipes,
    "sentences": _sentences,
    "mrpc": _glue("mrpc"),
    "rte": _glue("rte"),
    "docstrings": _docstrings,
    "recipes-3000": _some_recipes,
    "subjects": _subjects,
    "posts": _posts,
    "rough-3000": _rough(3_000),
    "rough-30000": _rough(30_000),
}
