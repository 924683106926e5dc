"""Word mover's distances of a corpus, kept in a ledger of fewpairs.

All pairs, or the columns of a pool of training documents. A run that is stopped goes on
with the next chunk, and a ledger of other documents or word vectors is refused. γ is no
part of it: exp(−γ·distance) of any γ takes no new evaluation. On a GPU all pairs are
one array instead, named by the documents and word vectors, made anew if it was stopped.
"""

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import fewpairs as fp
from experiments.corpora import Corpus, corpus, glove
from experiments.data import workshop
from experiments.machine import tensor
from fewpairs.kernels.wmd.word_movers_cuda import count_gpus
from fewpairs.ledger.opening import identity_of
from fewpairs.reading.opening import open_oracle
from fewpairs.similarity.exponential import as_distance

__all__ = [
    "Distances",
    "Everything",
    "Pool",
    "StoredWMD",
    "all_distances",
    "distinct",
    "on_gpu",
    "pool",
]

if TYPE_CHECKING:
    from torch import Tensor

BLOCK = 256  # columns that are asked for at once
BLOCK_ON_GPU = 1_024

Words = list[list[str]]
Tell = Callable[[str], None]


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def all_distances(
    data: Path, name: str, *, toy: bool, tell: Tell = _to_stderr
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return the distances of distinct documents, and which of them everyone is.

    On a GPU they take minutes, so they are one array on disk, which processes share,
    and no ledger.
    """
    texts = corpus(data, name)
    first, inverse = distinct(texts)
    words = [texts.words[t] for t in first]
    path = workshop(data, toy=toy) / f"{name}-distinct"
    if on_gpu():
        return _solved_on_gpu(path, data, words, tell), inverse
    metric = _WordMovers(fp.WMD(glove(data)))
    return _columns(path, metric, words, np.arange(len(words)), tell), inverse


@cache
def on_gpu() -> bool:
    """Whether there is a GPU that distances can be solved on."""
    try:
        return count_gpus() > 0
    except ImportError:
        return False


def _solved_on_gpu(
    path: Path, data: Path, words: Words, tell: Tell
) -> NDArray[np.float32]:
    wmd = fp.WMD(glove(data), device="cuda")
    identity = "-".join(part[:8] for part in identity_of(wmd, words))
    path = path.with_name(f"{path.name}-{identity}.npy")
    path.parent.mkdir(parents=True, exist_ok=True)
    with _turn(path.with_suffix(".lock")):
        if not path.exists():
            scorer: Any = wmd.bind(words)
            n, part = len(words), path.with_suffix(".part")
            out = np.lib.format.open_memmap(
                part, mode="w+", dtype=np.float32, shape=(n, n)
            )
            for start in range(0, n, BLOCK_ON_GPU):
                here = slice(start, min(start + BLOCK_ON_GPU, n))
                rows, columns = np.arange(n)[here], np.arange(start, n)
                out[here, start:] = scorer.distances(rows, columns)
                out[start:, here] = out[here, start:].T
                tell(f"{path.name}: {here.stop:,} of {n:,} documents")
            out.flush()
            part.rename(path)
    return np.asarray(np.load(path, mmap_mode="c"))


def pool(
    data: Path, name: str, size: int, *, toy: bool, tell: Tell = _to_stderr
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return random training documents, and the (size, n) distances of them to all.

    A larger pool begins with the smaller one.
    """
    texts = corpus(data, name)
    chosen = np.random.default_rng(0).permutation(texts.train)[:size]
    ledger = workshop(data, toy=toy) / f"{name}-pool"
    metric = _WordMovers(fp.WMD(glove(data)))
    return chosen, _columns(ledger, metric, texts.words, chosen, tell)


def _columns(
    path: Path,
    metric: fp.Similarity,
    words: Words,
    wanted: NDArray[np.int64],
    tell: Tell,
) -> NDArray[np.float32]:
    """Return columns of the distances as rows, what is missing in the ledger solved."""
    path.mkdir(parents=True, exist_ok=True)
    with _turn(path.with_suffix(".lock")), fp.Ledger(path).session() as ledger:
        scorer = metric.bind(words)
        scorer.prepare(tell)
        oracle = open_oracle(
            scorer,
            metric,
            ledger=ledger,
            identity=partial(identity_of, metric, words),
        )
        for start in range(0, len(wanted), BLOCK):
            before = oracle.evaluations
            oracle.columns(wanted[start : start + BLOCK])
            if oracle.evaluations > before:
                done = min(start + BLOCK, len(wanted))
                tell(f"{path.name}: {done:,} of {len(wanted):,} columns of distances")
        return np.asarray(oracle.columns(wanted).T)


@contextmanager
def _turn(path: Path) -> Iterator[None]:
    """Wait until no other process solves the same: it does what this one wants."""
    import fcntl

    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


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
        self._tensor: Tensor | None = None
        self.landmarks = np.arange(len(self._which))

    def block(self, rows: Any, columns: Any) -> NDArray[Any]:
        """Look them up, in the rows of the shorter side: they lie in one piece."""
        down, across = self._which[rows], self._which[columns]
        if len(down) > len(across):
            return np.asarray(self._D[across][:, down].T)
        return np.asarray(self._D[down][:, across])

    def pairs(self, i: Any, j: Any) -> NDArray[Any]:
        """Look them up."""
        return np.asarray(self._D[self._which[i], self._which[j]])

    def tensor(self, rows: Any, columns: Any) -> "Tensor":
        """Return a large block where it is worked on: a GPU holds all distances."""
        if not on_gpu():
            return tensor(self.block(rows, columns))
        if self._tensor is None:
            self._tensor = tensor(self._D)
        down, across = tensor(self._which[rows]), tensor(self._which[columns])
        return self._tensor[down][:, across]


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


class _WordMovers(fp.Similarity):
    """The distance itself, kept in float32: half the place."""

    symmetric = True
    proven = True
    diagonal = 0.0

    def __init__(self, wmd: fp.WMD) -> None:
        self.exact = as_distance(wmd)

    @property
    def name(self) -> str:
        """As that of the distance."""
        return self.exact.name

    def identify(self) -> Iterable[Any]:
        """As the distance."""
        return self.exact.identify()

    def bind(self, items: Sequence[Any]) -> fp.Scorer:
        """Bind the distance."""
        return _Rounded(self.exact.bind(items))


class _Rounded(fp.Scorer):
    dtype = np.dtype(np.float32)

    def __init__(self, exact: fp.Scorer) -> None:
        self.n, self.chunk = exact.n, exact.chunk
        self._exact = exact

    def prepare(self, tell: Tell) -> None:
        self._exact.prepare(tell)

    def pairs(self, i: Any, j: Any) -> NDArray[Any]:
        return self._exact.pairs(i, j).astype(np.float32)

    def block(self, rows: Any, columns: Any) -> NDArray[Any]:
        return self._exact.block(rows, columns).astype(np.float32)
