"""The index: largest inner products of real vectors, by each library, with building.

Embeddings and fitted factors of recipes and sentences. Seconds are those of the cores
(build + a search for every row), so that other programs do not show in them. hnswlib
and usearch are measured where they are installed: `pip install hnswlib usearch`.
"""

import importlib
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fewpairs as fp
from benchmarks.default import _data
from benchmarks.few.sets import load
from fewpairs.kernels.linalg.top_products import ProductIndex, top_inner_products

__all__ = ["run"]

K = 64
SETS = os.environ.get("FEWPAIRS_ROWS", "recipes,factors,sentences").split(",")
Array = NDArray[np.float32]
Search = Callable[[Array, Array], NDArray[np.int64]]
Sides = tuple[Array, Array]  # rows, and what they are searched for


def run() -> None:
    """Print recall and seconds of every library on every set."""
    data = _data()
    if data is None:
        return
    for name in SETS:
        rows, queries = _vectors(name, data)
        print(f"\n{name}: {rows.shape[0]:,} × {rows.shape[1]}, {K} largest of each")
        some = np.random.default_rng(0).permutation(len(rows))[:500]
        least = np.partition(queries[some] @ rows.T, -K, axis=1)[:, -K]
        for library, search in _libraries():
            start = time.process_time()
            found = search(rows, queries)[some]
            seconds = time.process_time() - start
            scores = np.einsum("mkd,md->mk", rows[found], queries[some])
            reached = (scores >= least[:, None] - 1e-5) & (found >= 0)
            print(f"  {library:<44} recall {reached.mean():.3f} {seconds:7.1f} s")


def _vectors(name: str, data: Path) -> Sides:
    work = Path(tempfile.gettempdir()) / "fewpairs-index"
    if name != "factors":
        prior = load(name, data, work).prior
        return prior, prior
    made = load("recipes", data, work)
    budget = 15 * made.n  # 30 per item
    approx = fp.approximate(
        made.items, made.similarity, prior=made.prior, budget=budget
    )
    rows = np.ascontiguousarray(approx.model.features, dtype=np.float32)
    return rows, rows * np.asarray(approx.signature, dtype=np.float32)


def _libraries() -> Iterator[tuple[str, Search]]:
    yield "exact blocks", lambda rows, queries: _top(rows, queries, "blocks")
    for recall in (0.9, 0.95, 0.98):
        yield f"faiss, lists, recall={recall}", _by_lists(recall)
    for breadth in (64, 256):
        if _installed("hnswlib"):
            yield f"hnswlib, M=16, ef={breadth}", _by_hnswlib(breadth)
        if _installed("usearch.index"):
            yield f"usearch, connectivity=16, ef={breadth}", _by_usearch(breadth)


def _top(rows: Array, queries: Array, by: str) -> NDArray[np.int64]:
    return top_inner_products(rows, K, queries=queries, by=by)[0]


def _by_lists(recall: float) -> Search:
    return lambda rows, queries: ProductIndex(rows, recall=recall).search(queries, K)[0]


def _by_hnswlib(breadth: int) -> Search:
    def search(rows: Array, queries: Array) -> NDArray[np.int64]:
        library: Any = importlib.import_module("hnswlib")
        index = library.Index(space="ip", dim=rows.shape[1])
        index.init_index(len(rows), M=16, ef_construction=64, random_seed=0)
        index.add_items(rows)
        index.set_ef(breadth)
        return np.asarray(index.knn_query(queries, k=K)[0]).astype(np.int64)

    return search


def _by_usearch(breadth: int) -> Search:
    def search(rows: Array, queries: Array) -> NDArray[np.int64]:
        library: Any = importlib.import_module("usearch.index")
        index = library.Index(
            ndim=rows.shape[1],
            metric="ip",
            dtype="f32",
            connectivity=16,
            expansion_add=64,
            expansion_search=breadth,
        )
        index.add(np.arange(len(rows)), rows)
        return np.asarray(index.search(queries, K).keys).astype(np.int64)

    return search


def _installed(name: str) -> bool:
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True
