"""The similarity matrices of the figures and of the GLUE tables, known as a whole."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.corpora import centroids, corpus, wmd_files
from experiments.distances import all_distances
from experiments.toy import ITEMS as TOY_ITEMS

__all__ = ["FIGURES", "Glue", "Known", "files", "glue", "known"]


@dataclass(frozen=True)
class Known:
    """A symmetric matrix, and embeddings of its items where there are any."""

    K: NDArray[np.float32]
    embeddings: NDArray[Any] | None


@dataclass(frozen=True)
class Glue:
    """Scores of a cross-encoder as they came, embeddings, and the labeled pairs."""

    raw: NDArray[np.float32]
    embeddings: NDArray[Any]
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    gold: NDArray[np.float64]

    @cached_property
    def K(self) -> NDArray[np.float32]:
        """½(K + Kᵀ)."""
        return np.asarray((self.raw + self.raw.T) / 2)


@cache
def glue(data: Path, name: str) -> Glue:
    """Return the all-pairs scores of ``stsb``, ``mrpc`` or ``rte``.

    A labeled pair is in the order in which it was labeled: first the item that comes
    first in the file.
    """
    at = data / "matrices"
    raw = np.load(at / f"{name}.npy").astype(np.float32)
    lines = (at / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    items = [json.loads(line) for line in lines]
    other = np.array([item["pair"] for item in items])
    gold = np.array([float(item["gold"]) for item in items])
    first = np.flatnonzero(np.arange(len(items)) < other)
    embeddings = np.load(at / f"{name}_embeddings.npy").astype(np.float32)
    return Glue(raw, embeddings, first, other[first], gold[first])


def _glue(name: str) -> Callable[[Path], Known]:
    return lambda data: Known(glue(data, name).K, glue(data, name).embeddings)


def _tweets(data: Path) -> Known:
    words = corpus(data, "twitter").words
    D, which = all_distances(data, "twitter", toy=len(words) <= TOY_ITEMS)
    D = D[np.ix_(which, which)]
    return Known(np.exp(-np.asarray(D, dtype=np.float32)), centroids(data, words))


def _psd(data: Path) -> Known:
    """ZZᵀ with Z of 1000 × 1000 Gaussian entries; smaller beside toy data."""
    n = 1000 if (data / "matrices" / "stsb.npy").stat().st_size > 1 << 20 else 60
    Z = np.random.default_rng(0).standard_normal((n, n))
    return Known((Z @ Z.T).astype(np.float32), None)


FIGURES: dict[str, Callable[[Path], Known]] = {
    "tweets": _tweets,
    "stsb": _glue("stsb"),
    "mrpc": _glue("mrpc"),
    "psd": _psd,
}


@cache
def known(data: Path, name: str) -> Known:
    """Return one of the matrices of the figures."""
    return FIGURES[name](data)


def files(*names: str) -> tuple[str, ...]:
    """Return the files that matrices are made of."""
    out: list[str] = []
    for name in names:
        if name == "tweets":
            out += wmd_files("twitter")
        elif name != "psd":
            kinds = (".npy", ".jsonl", "_embeddings.npy")
            out += [f"matrices/{name}{kind}" for kind in kinds]
    return tuple(out)
