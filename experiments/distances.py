"""Word mover's distances of a corpus, kept on disk block by block.

All pairs, or the columns of a pool of training documents. A run that is stopped goes on
with the next block. γ is no part of it: exp(−γ·distance) of any γ takes no new
evaluation.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fewpairs as fp
from experiments.corpora import Corpus, corpus, glove
from experiments.data import workshop

__all__ = [
    "Distances",
    "Everything",
    "Pool",
    "StoredWMD",
    "all_distances",
    "distinct",
    "pool",
]

BLOCK = 256
POOL_BLOCK = 16


def all_distances(
    data: Path, name: str, *, toy: bool, tell: Callable[[str], None] | None = None
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return the distances of distinct documents, and which of them everyone is."""
    texts = corpus(data, name)
    first, inverse = distinct(texts)
    return _kept(data, name, first, toy=toy, tell=tell), inverse


def distinct(texts: Corpus) -> tuple[list[int], NDArray[np.int64]]:
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
    return D


class Distances(ABC):
    """Distances between documents of a corpus, and which may be landmarks."""

    landmarks: NDArray[np.int64]

    @abstractmethod
    def block(self, rows: Any, columns: Any) -> NDArray[Any]:
        """Return the distances of all rows to all columns."""

    @abstractmethod
    def pairs(self, i: Any, j: Any) -> NDArray[Any]:
        """Return the distance of every i[t] to j[t]."""


class Everything(Distances):
    """All distances; every document may be a landmark."""

    def __init__(self, data: Path, name: str, *, toy: bool) -> None:
        self._D, self._which = all_distances(data, name, toy=toy)
        self.landmarks = np.arange(len(self._which))

    def block(self, rows: Any, columns: Any) -> NDArray[Any]:
        """Look them up."""
        return np.asarray(self._D[np.ix_(self._which[rows], self._which[columns])])

    def pairs(self, i: Any, j: Any) -> NDArray[Any]:
        """Look them up."""
        return np.asarray(self._D[self._which[i], self._which[j]])


class Pool(Distances):
    """The columns of some training documents; other pairs are solved when asked for."""

    def __init__(self, data: Path, name: str, size: int, *, toy: bool) -> None:
        words = corpus(data, name).words
        self.landmarks, self.columns = pool(data, name, size, toy=toy)
        self._place = np.full(len(words), -1)
        self._place[self.landmarks] = np.arange(len(self.landmarks))
        self._scorer: Any = fp.WMD(glove(data)).bind(words)

    def block(self, rows: Any, columns: Any) -> NDArray[Any]:
        """Look up what is there, from either side, and solve the rest."""
        out = np.empty((len(rows), len(columns)), dtype=np.float32)
        across, down = self._place[columns], self._place[rows]
        out[:, across >= 0] = self.columns[across[across >= 0]][:, rows].T
        new = np.flatnonzero(across < 0)
        if len(new):
            known, open_ = np.flatnonzero(down >= 0), np.flatnonzero(down < 0)
            out[np.ix_(known, new)] = self.columns[down[known]][:, columns[new]]
            out[np.ix_(open_, new)] = self._scorer.distances(rows[open_], columns[new])
        return out

    def pairs(self, i: Any, j: Any) -> NDArray[Any]:
        """Look up what is there, from either side, and solve the rest."""
        out = np.full(len(i), np.nan, dtype=np.float32)
        for a, b in ((i, j), (j, i)):
            known = np.flatnonzero(np.isnan(out) & (self._place[a] >= 0))
            out[known] = self.columns[self._place[a[known]], b[known]]
        new = np.flatnonzero(np.isnan(out))
        out[new] = self._scorer.pair_distances(i[new], j[new])
        return out


def pool(
    data: Path,
    name: str,
    size: int,
    *,
    toy: bool,
    tell: Callable[[str], None] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return random training documents, and the (size, n) distances of them to all.

    A larger pool begins with the smaller one. The file is as long as what is done.
    """
    texts = corpus(data, name)
    chosen = np.random.default_rng(0).permutation(texts.train)[:size]
    n = len(texts.words)
    path = workshop(data, toy=toy) / f"{name}-pool.f4"
    path.touch()
    done = path.stat().st_size // (4 * n)
    if done < len(chosen):
        scorer: Any = fp.WMD(glove(data)).bind(texts.words)
        with path.open("r+b") as file:
            file.truncate(done * 4 * n)
            file.seek(0, 2)
            for start in range(done, len(chosen), POOL_BLOCK):
                part = chosen[start : start + POOL_BLOCK]
                found = scorer.distances(part, np.arange(n)).astype("<f4")
                file.write(found.tobytes())
                file.flush()
                if tell is not None:
                    tell(f"pool of {name}: {start + len(part):,} of {len(chosen):,}")
    shape = (len(chosen), n)
    return chosen, np.memmap(path, dtype="<f4", mode="r", shape=shape)


class StoredWMD(fp.Similarity):
    """exp(−γ·distance) of distances that are known, read where they are asked for."""

    symmetric = True
    proven = True
    diagonal = 1.0
    bounds = (0.0, 1.0)

    def __init__(self, known: Distances, gamma: float) -> None:
        self.known, self.gamma = known, gamma

    def identify(self) -> Iterable[Any]:
        """Return γ and which landmarks there are."""
        return ("stored", self.gamma, self.known.landmarks)

    def bind(self, items: Sequence[Any]) -> fp.Scorer:
        """Items are positions in the corpus."""
        return _Stored(self.known, self.gamma, np.asarray(items, dtype=np.int64))


class _Stored(fp.Scorer):
    dtype = np.dtype(np.float32)

    def __init__(self, known: Distances, gamma: float, where: NDArray[Any]) -> None:
        self.n = len(where)
        self._known, self._gamma, self._where = known, gamma, where

    def pairs(self, i: Any, j: Any) -> NDArray[Any]:
        far = self._known.pairs(self._where[i], self._where[j])
        return np.asarray(np.exp(-self._gamma * far.astype(np.float32)))

    def block(self, rows: Any, columns: Any) -> NDArray[Any]:
        far = self._known.block(self._where[rows], self._where[columns])
        return np.asarray(np.exp(-self._gamma * far.astype(np.float32)))
