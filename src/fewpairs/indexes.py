"""Indexes: candidates by an approximate search of inner products, for large n."""

import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.errors import InputError, MissingExtraError
from fewpairs.kernels.lists import Lists
from fewpairs.methods.base import Factors
from fewpairs.similarity.base import Indices

__all__ = ["INDEXES", "nearest"]

INDEXES = ("lists", "faiss", "hnsw")
_RECALL = 0.97  # of what a sample of items looks for, that lists are to find
_LISTS = 6  # times √n lists of faiss
_PROBED = 16  # lists that a search looks into
_LINKS, _BREADTH = 16, 100  # of the graph that hnswlib builds
_LEAST_LISTED = 1_000  # items from which lists are worth anything


def nearest(factors: Factors, count: int, index: str, call: str) -> Indices:
    """Return (n, count) positions of the largest inner products, nearly.

    With K ≈ F diag(±1) Fᵀ the items' rows of F are indexed, and searched for those of
    F diag(±1): the signs go to the side that asks, so indefinite factors need no other
    index. Factors of CUR are searched for rows of ``left`` among those of ``right``. A
    prior counts by its slope. −1 stands for nothing.
    """
    if index not in INDEXES:
        known = ", ".join(map(repr, INDEXES))
        msg = f"{call}: index is {index!r:.60}; pass {known} or None."
        raise InputError(msg)
    signs = factors.feature_signature
    if signs is None:
        asked, held = factors.left, factors.right
    else:
        held = factors.features
        asked = held * signs.astype(held.dtype)
    asked, held = (np.ascontiguousarray(side, np.float32) for side in (asked, held))
    count = min(count + 1, len(held))  # the item itself is among them
    if index == "lists":
        rng = np.random.default_rng(0)
        return Lists(held, rng).search(asked, count, _RECALL, rng)[0]
    search = _faiss if index == "faiss" else _hnsw
    return search(asked, held, count, call)


def _faiss(
    asked: NDArray[np.float32], held: NDArray[np.float32], count: int, call: str
) -> Indices:
    faiss = _require("faiss", call)
    n, d = held.shape
    quantizer = faiss.IndexFlatIP(d)
    if n < _LEAST_LISTED:
        index = quantizer
    else:
        lists = int(_LISTS * np.sqrt(n))
        index = faiss.IndexIVFFlat(quantizer, d, lists, faiss.METRIC_INNER_PRODUCT)
        index.cp.niter = 2
        # Few items a list are enough to place it, and none too few to be told of.
        index.cp.min_points_per_centroid, index.cp.max_points_per_centroid = 1, 8
        index.train(held)
        index.nprobe = min(_PROBED, lists)
    index.add(held)
    return np.asarray(index.search(asked, count)[1])


def _hnsw(
    asked: NDArray[np.float32], held: NDArray[np.float32], count: int, call: str
) -> Indices:
    hnswlib = _require("hnswlib", call)
    n, d = held.shape
    index = hnswlib.Index(space="ip", dim=d)
    index.init_index(n, M=_LINKS, ef_construction=_BREADTH, random_seed=0)
    index.add_items(held)
    index.set_ef(max(2 * count, _BREADTH))
    return np.asarray(index.knn_query(asked, k=count)[0]).astype(np.int64)


def _require(name: str, call: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        msg = f"{call}: needs {name}. Run: pip install 'fewpairs[index]'"
        raise MissingExtraError(msg) from error
