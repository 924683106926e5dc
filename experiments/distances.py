"""All word mover's distances of a corpus, kept on disk block by block.

A run that is stopped goes on with the next block. γ is no part of it: exp(−γ·distance)
of any γ takes no new evaluation.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fewpairs as fp
from experiments.corpora import Corpus, corpus, glove
from experiments.data import workshop

__all__ = ["StoredWMD", "all_distances"]

BLOCK = 256


@cache
def all_distances(
    data: Path, name: str, *, toy: bool, tell: Callable[[str], None] | None = None
) -> NDArray[np.float32]:
    """Return the n×n distances of a corpus; documents that recur are solved once."""
    texts = corpus(data, name)
    first, inverse = _distinct(texts)
    D = _kept(data, name, first, toy=toy, tell=tell)
    return np.asarray(D[np.ix_(inverse, inverse)])


def _distinct(texts: Corpus) -> tuple[list[int], NDArray[np.int64]]:
    """Return one document of each bag, those of training first, and who has which."""
    seen: dict[tuple[str, ...], int] = {}
    first: list[int] = []
    inverse = np.empty(len(texts.words), dtype=np.int64)
    for t in (*texts.train.tolist(), *texts.test.tolist()):
        bag = tuple(sorted(texts.words[t]))
        if bag not in seen:
            seen[bag] = len(first)
            first.append(t)
        inverse[t] = seen[bag]
    return first, inverse


def _kept(
    data: Path,
    name: str,
    first: list[int],
    *,
    toy: bool,
    tell: Callable[[str], None] | None,
) -> NDArray[np.float32]:
    """Return the distances of some documents from disk, what is missing solved."""
    n = len(first)
    place = workshop(data, toy=toy)
    path, done_path = place / f"{name}-wmd.npy", place / f"{name}-wmd.json"
    done = 0
    if path.exists() and done_path.exists():
        done = int(json.loads(done_path.read_text(encoding="utf-8"))["rows"])
        D = np.lib.format.open_memmap(path, mode="r+")
    else:
        D = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, n))
    if done < n:
        words = corpus(data, name).words
        scorer: Any = fp.WMD(glove(data)).bind([words[t] for t in first])
        for start in range(done, n, BLOCK):
            rows = np.arange(start, min(n, start + BLOCK))
            later = np.arange(start, n)
            block = scorer.distances(rows, later).astype(np.float32)
            D[rows[0] : rows[-1] + 1, start:] = block
            D[start:, rows[0] : rows[-1] + 1] = block.T
            D.flush()
            line = json.dumps({"rows": int(rows[-1] + 1), "of": n})
            done_path.write_text(line, encoding="utf-8")
            if tell is not None:
                tell(f"distances of {name}: {rows[-1] + 1:,} of {n:,} rows")
    return np.asarray(D)


class StoredWMD(fp.Similarity):
    """exp(−γ·distance) of distances that are known, read where they are asked for."""

    symmetric = True
    proven = True
    diagonal = 1.0
    bounds = (0.0, 1.0)

    def __init__(self, D: NDArray[Any], gamma: float) -> None:
        self.D, self.gamma = D, gamma

    def identify(self) -> Iterable[Any]:
        """Return γ and the shape."""
        return ("stored", self.gamma, self.D.shape)

    def bind(self, items: Sequence[Any]) -> fp.Scorer:
        """Items are positions in the matrix of distances."""
        return _Stored(self.D, self.gamma, np.asarray(items, dtype=np.int64))


class _Stored(fp.Scorer):
    dtype = np.dtype(np.float32)

    def __init__(self, D: NDArray[Any], gamma: float, where: NDArray[Any]) -> None:
        self.n = len(where)
        self._D, self._gamma, self._where = D, gamma, where

    def pairs(self, i: Any, j: Any) -> NDArray[Any]:
        far = self._D[self._where[i], self._where[j]]
        return np.asarray(np.exp(-self._gamma * far.astype(np.float32)))

    def block(self, rows: Any, columns: Any) -> NDArray[Any]:
        far = self._D[self._where[rows]][:, self._where[columns]]
        return np.asarray(np.exp(-self._gamma * far.astype(np.float32)))
