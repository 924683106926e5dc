"""Documents with labels, and word vectors: the data of the classification tables."""

import json
import re
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.similarity.wmd.scorer import split_words

__all__ = ["CORPORA", "Corpus", "centroids", "corpus", "glove", "wmd_files"]

Vectors = tuple[list[str], NDArray[np.float64]]
STOP_WORDS = "twitter/stop_words.txt"
LONGEST = 500  # words of a post that are used, as in the data of Kusner et al.


@dataclass(frozen=True)
class Corpus:
    """Documents as words that have vectors, their labels, and who is trained on.

    Attributes
    ----------
    official
        Whether the split is the corpus's own; else it is one of many, 70/30.
    copied
        Whether a document of several classes is there once for each of them.
    """

    words: list[list[str]]
    labels: NDArray[np.int64]
    train: NDArray[np.int64]
    test: NDArray[np.int64]
    official: bool
    copied: bool = False

    def split(self, seed: int) -> "Corpus":
        """Return the same with another split, drawn by a seed; 0 is the usual one."""
        if self.official:
            msg = "Corpus.split: this corpus has a split of its own."
            raise ValueError(msg)
        train, test = _drawn(len(self.words), seed)
        return replace(self, train=train, test=test)


@cache
def glove(data: Path) -> Vectors:
    """Return words and their vectors, scaled to length 1."""
    array = np.load(data / "glove" / "vectors.npy").astype(np.float64)
    array /= np.linalg.norm(array, axis=1, keepdims=True)
    text = (data / "glove" / "vocab.txt").read_text(encoding="utf-8")
    return text.split("\n")[: len(array)], array


@cache
def corpus(data: Path, name: str) -> Corpus:
    """Return a corpus; documents without a known word are left out."""
    texts, labels, train = CORPORA[name](data)
    known = set(glove(data)[0])
    bags = [[w for w in words if w in known] for words in texts]
    kept = np.flatnonzero([len(bag) > 0 for bag in bags])
    numbers = np.unique(labels, return_inverse=True)[1][kept].astype(np.int64)
    words = [bags[t] for t in kept]
    if train is None:
        return Corpus(words, numbers, *_drawn(len(kept), 0), official=False)
    first, second = np.flatnonzero(train[kept]), np.flatnonzero(~train[kept])
    copied = name == "ohsumed"
    return Corpus(words, numbers, first, second, official=True, copied=copied)


def _drawn(n: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw who is trained on, 70/30, as in the paper."""
    order = np.random.default_rng(seed).permutation(n)
    cut = round(0.7 * n)
    return np.sort(order[:cut]), np.sort(order[cut:])


def centroids(data: Path, words: list[list[str]]) -> NDArray[np.float64]:
    """Return the mean word vector of every document: a cheap prior."""
    names, array = glove(data)
    place = {word: t for t, word in enumerate(names)}
    return np.array([array[[place[w] for w in bag]].mean(axis=0) for bag in words])


def wmd_files(name: str) -> tuple[str, ...]:
    """Return the files that a corpus is made of."""
    return (*_FILES[name], "glove/vectors.npy", "glove/vocab.txt")


Raw = tuple[list[list[str]], list[str], NDArray[np.bool_] | None]


def _twitter(data: Path) -> Raw:
    lines = (data / "twitter" / "twitter.txt").read_text(encoding="utf-8").splitlines()
    parts = [line.split("\t", 1) for line in lines]
    return [split_words(text) for _, text in parts], [label for label, _ in parts], None


def _recipe(data: Path) -> Raw:
    with zipfile.ZipFile(data / "recipe" / "train.json.zip") as file:
        listed = json.loads(file.read(file.namelist()[0]))
    texts = [split_words(" ".join(recipe["ingredients"])) for recipe in listed]
    return texts, [recipe["cuisine"] for recipe in listed], None


def _ohsumed(data: Path) -> Raw:
    path = data / "ohsumed" / "ohsumed-first-20000-docs.tar.xz"
    found = re.compile(r"(training|test)/(C0[1-9]|C10)/[^/]+$")
    return _archive(path, found, "training", _stop_words(data), headers=False)


def _posts(data: Path) -> Raw:
    path = data / "20news" / "20news-bydate.tar.xz"
    found = re.compile(r"20news-bydate-(train|test)/([^/]+)/[^/]+$")
    return _archive(path, found, "train", _stop_words(data), headers=True)


def _stop_words(data: Path) -> set[str]:
    """Return SMART's list: Kusner et al. take it out of all sets but the tweets."""
    return set((data / STOP_WORDS).read_text(encoding="utf-8").split())


def _archive(
    path: Path, found: Any, training: str, stop: set[str], *, headers: bool
) -> Raw:
    """Read files from folders named by split and class, in the order of their names."""
    rows = []
    with tarfile.open(path) as file:
        for member in file:
            match = found.search(member.name)
            if match and member.isfile():
                text = file.extractfile(member).read().decode("latin-1")  # type: ignore[union-attr]
                if headers:
                    text = text.partition("\n\n")[2]
                rows.append((member.name, match[1], match[2], text))
    rows.sort()
    split = ([w for w in split_words(text) if w not in stop] for *_, text in rows)
    words = [own[:LONGEST] for own in split]
    train = np.array([part == training for _, part, _, _ in rows])
    return words, [label for _, _, label, _ in rows], train


CORPORA: dict[str, Callable[[Path], Raw]] = {
    "twitter": _twitter,
    "recipe": _recipe,
    "ohsumed": _ohsumed,
    "20news": _posts,
}
_FILES = {
    "twitter": ("twitter/twitter.txt",),
    "recipe": ("recipe/train.json.zip",),
    "ohsumed": ("ohsumed/ohsumed-first-20000-docs.tar.xz", STOP_WORDS),
    "20news": ("20news/20news-bydate.tar.xz", STOP_WORDS),
}
