"""Indexes: candidates by an approximate search of inner products, for large n."""

import importlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.checks import check_choice
from fewpairs.errors import MissingExtraError
from fewpairs.kernels.linalg.lists import Lists
from fewpairs.kernels.linalg.spectral import largest_magnitude
from fewpairs.model.model import Model
from fewpairs.types import Indices

__all__ = ["INDEXES", "Index", "nearest"]

_RECALL = 0.96  # of what a sample of items looks for, that lists are to find
_LISTS = 6  # times √n lists of faiss
_PROBED = 16  # lists that a search looks into
_LINKS, _BREADTH = 16, 100  # of the graph that hnswlib builds
_BUILDING = threading.Lock()  # an index is built by one thread
_IN_RANGE = 1e-15, 1e15  # sizes that single precision can square safely
_LEAST_LISTED = 1_000  # items from which lists are worth anything


class Index(ABC):
    """Rows that are ready to be searched for large inner products."""

    @abstractmethod
    def search(self, asked: NDArray[np.float32], count: int) -> Indices:
        """Return (len(asked), count) positions; −1 stands for nothing."""


def nearest(
    model: Model, count: int, index: str, call: str, made: dict[str, Index]
) -> Indices:
    """Return (n, count) positions of the largest inner products, nearly.

    With K ≈ F diag(±1) Fᵀ the items' rows of F are indexed, and searched for those of
    F diag(±1): the signs go to the side that asks, so indefinite factors need no other
    index. Factors of CUR are searched for rows of ``left`` among those of ``right``. A
    prior counts by its slope. −1 stands for nothing. ``made`` keeps the index.
    """
    check_choice(call, "index", index, (*INDEXES, None))
    signs = model.signature
    if signs is None:
        asked, held = model.left, model.right
    else:
        held = model.features
        asked = held * signs.astype(held.dtype)
    # Divided by their size, the largest products stay the largest, in single precision.
    asked, held = (
        np.ascontiguousarray(side / _size(side), np.float32) for side in (asked, held)
    )
    with _BUILDING:
        if index not in made:
            made[index] = INDEXES[index](held, call)
    # The item itself is among them.
    return made[index].search(asked, min(count + 1, len(held)))


def _size(side: NDArray[Any]) -> Any:
    largest = largest_magnitude(side)
    safe = largest == 0 or _IN_RANGE[0] < largest < _IN_RANGE[1]
    return side.dtype.type(1.0 if safe else largest)


class _Lists(Index):
    def __init__(self, held: NDArray[np.float32], call: str) -> None:  # noqa: ARG002
        self._lists = Lists(held, np.random.default_rng(0))

    def search(self, asked: NDArray[np.float32], count: int) -> Indices:
        rng = np.random.default_rng(0)
        return self._lists.search(asked, count, _RECALL, rng)[0]


class _Faiss(Index):
    def __init__(self, held: NDArray[np.float32], call: str) -> None:
        faiss = _require("faiss", call)
        n, d = held.shape
        self._index = quantizer = faiss.IndexFlatIP(d)
        if n >= _LEAST_LISTED:
            lists = int(_LISTS * np.sqrt(n))
            product = faiss.METRIC_INNER_PRODUCT
            self._index = index = faiss.IndexIVFFlat(quantizer, d, lists, product)
            index.cp.niter = 2
            # Few items a list are enough to place it, and none too few to be told of.
            index.cp.min_points_per_centroid, index.cp.max_points_per_centroid = 1, 8
            index.train(held)
            index.nprobe = min(_PROBED, lists)
        self._index.add(held)

    def search(self, asked: NDArray[np.float32], count: int) -> Indices:
        return np.asarray(self._index.search(asked, count)[1])


class _Hnsw(Index):
    def __init__(self, held: NDArray[np.float32], call: str) -> None:
        hnswlib = _require("hnswlib", call)
        n, d = held.shape
        self._index = hnswlib.Index(space="ip", dim=d)
        self._index.init_index(n, M=_LINKS, ef_construction=_BREADTH, random_seed=0)
        self._index.add_items(held)

    def search(self, asked: NDArray[np.float32], count: int) -> Indices:
        self._index.set_ef(max(2 * count, _BREADTH))
        return np.asarray(self._index.knn_query(asked, k=count)[0]).astype(np.int64)


INDEXES: dict[str, Callable[[NDArray[np.float32], str], Index]] = {
    "lists": _Lists,
    "faiss": _Faiss,
    "hnsw": _Hnsw,
}


def _require(name: str, call: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        msg = f"{call}: needs {name}. Run: pip install 'fewpairs[index]'"
        raise MissingExtraError(msg) from error
