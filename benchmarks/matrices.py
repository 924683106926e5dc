"""Real similarity matrices with what is cheaply known of their items."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fewpairs as fp
from benchmarks.wmd import tweets
from fewpairs.datasets import stdlib_docstrings
from fewpairs.similarity.wmd.scorer import split_words

__all__ = ["MATRICES", "Known", "Labels"]

Labels = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]


@dataclass(frozen=True)
class Known:
    """A matrix that is known as a whole, embeddings of its items, labelled pairs."""

    K: NDArray[np.float32]
    embeddings: NDArray[Any] | None
    labels: Labels | None = None


def glue(data: Path, name: str) -> Known:
    """Return the scores of a cross-encoder, symmetrized."""
    folder = data / "matrices"
    K = np.load(folder / f"{name}.npy").astype(np.float32)
    lines = (folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    items = [json.loads(line) for line in lines]
    other = np.array([item["pair"] for item in items])
    gold = np.array([float(item["gold"]) for item in items])
    first = np.flatnonzero(np.arange(len(items)) < other)
    labels = (first, other[first], gold[first])
    embeddings = np.load(folder / f"{name}_embeddings.npy")
    return Known((K + K.T) / 2, embeddings, labels)


@cache
def _movers(data: Path) -> tuple[NDArray[np.float32], NDArray[Any]]:
    vectors = np.load(data / "glove" / "vectors.npy").astype(np.float64)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    text = (data / "glove" / "vocab.txt").read_text(encoding="utf-8")
    place = {word: t for t, word in enumerate(text.split("\n")[: len(vectors)])}
    bags = [[w for w in split_words(text) if w in place] for text in tweets(data)]
    bags = [bag for bag in bags if bag]
    centroids = [vectors[[place[w] for w in bag]].mean(axis=0) for bag in bags]
    similarity = fp.WMD((list(place), vectors), gamma=1.0)
    everything = np.arange(len(bags))
    K = similarity.bind(bags).block(everything, everything)
    return K.astype(np.float32), np.array(centroids)


def tweets_wmd(data: Path, gamma: float) -> Known:
    """Return exp(−γ·WMD) of the tweets, with the mean of their word vectors."""
    K, centroids = _movers(data)
    return Known(K**gamma, centroids)


def strings(texts: list[str], scorer: str) -> Known:
    """Return a string similarity of texts."""
    everything = np.arange(len(texts))
    K = fp.StringSimilarity(scorer).bind(texts).block(everything, everything)
    K = np.asarray(K, dtype=np.float32)
    return Known((K + K.T) / 2, None)


def _sentences(data: Path) -> list[str]:
    path = data / "matrices" / "stsb.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["text"] for line in lines]


MATRICES: dict[str, Callable[[Path], Known]] = {
    "stsb": lambda data: glue(data, "stsb"),
    "mrpc": lambda data: glue(data, "mrpc"),
    "rte": lambda data: glue(data, "rte"),
    "tweets, exp(−WMD)": lambda data: tweets_wmd(data, 1.0),
    "tweets, exp(−6·WMD)": lambda data: tweets_wmd(data, 6.0),
    "docstrings, Levenshtein": lambda _: strings(
        list(stdlib_docstrings(2_000).texts), "levenshtein"
    ),
    "stsb sentences, token set ratio": lambda data: strings(
        _sentences(data), "token_set_ratio"
    ),
}
