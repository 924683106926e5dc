"""Neighbors: their recall on STS-B, and their speed at 100,000 items of rank 200."""

import os
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import fewpairs as fp
from benchmarks.default import _data
from benchmarks.matrices import MATRICES
from benchmarks.measure import best_of, table
from fewpairs.kernels.linalg.blas_threads import in_threads
from fewpairs.matrix.entries import Entries
from fewpairs.model.low_rank import LowRank
from fewpairs.model.model import Model
from fewpairs.result.approximation import Approximation
from fewpairs.result.certificate import Certificate

ITEMS = int(os.environ.get("FEWPAIRS_ITEMS", "100000"))
RANK, K = 200, 10
TILE = 2_048
SHARE = 0.06


def run() -> None:
    """Print the recall of the default, and the times, or one of them alone."""
    parts = os.environ.get("FEWPAIRS_ROWS", "default,student,speed").split(",")
    data = _data()
    if data is not None and "default" in parts:
        recall(data)
    if data is not None and "student" in parts:
        recall_of_student(data)
    if "speed" in parts:
        speed()


def recall(data: Path) -> None:
    """Print the recall of neighbors(10) without a student, and its estimate."""
    _recall(data, fp.Auto(student=False), "default", "≥ 0.85")


def recall_of_student(data: Path) -> None:
    """Print the recall of neighbors(10) with a student."""
    _recall(data, fp.Auto(student=True), "student", "≥ 0.94")


def _recall(data: Path, method: fp.Auto, name: str, goal: str) -> None:
    known = MATRICES["stsb"](data)
    similarity = fp.from_matrix(known.K, symmetric=True)
    approx = fp.approximate(
        None, similarity, method=method, budget=SHARE, prior=known.embeddings
    )
    start = time.perf_counter()
    found = approx.neighbors(K)
    seconds = time.perf_counter() - start
    estimate = approx.neighbors(K, evaluations=100_000)
    truth = known.K.copy()
    np.fill_diagonal(truth, -np.inf)
    best = np.argpartition(-truth, K, axis=1)[:, :K]
    low, high = estimate.recall_interval or (0.0, 1.0)
    rows = [
        (f"{name}: recall of neighbors({K})", _shared(best, found.indices), goal),
        (f"    its estimate ({low:.2f} to {high:.2f})", estimate.recall or 0, "none"),
        ("    evaluations for it", estimate.evaluations, "none"),
        ("    seconds of neighbors(10)", seconds, "none"),
    ]
    table(f"STS-B, {SHARE:.0%} of the pairs, {approx.evaluations:,} evaluations", rows)


def speed() -> None:
    """Print times beside the bare products of the same tiles."""
    approx = factored(ITEMS)
    left, right = approx.left, approx.right
    found: dict[str, NDArray[np.int64]] = {}

    def bare() -> None:
        def products(start: int) -> None:
            rows = left[start : start + TILE]
            for at in range(0, ITEMS, TILE):
                rows @ right[at : at + TILE].T

        in_threads(products, range(0, ITEMS, TILE))

    def by_blocks() -> None:
        found["blockwise"] = approx.neighbors(K, index="blocks").indices

    def built() -> None:
        approx.indexes.clear()
        indexed()

    def indexed() -> None:
        found["faiss"] = approx.neighbors(K, index="faiss", candidates=12).indices

    runs = 2 if ITEMS > 50_000 else 3
    products, ours, whole, index = best_of(runs, bare, by_blocks, built, indexed)
    rows = [
        ("bare products, seconds", products, "none"),
        ("neighbors(10), blockwise / bare products", ours / products, "≤ 2"),
        ("blockwise / index='faiss'", ours / index, "none"),
        ("    its recall", _shared(found["blockwise"], found["faiss"]), "≥ 0.95"),
        ("    the same, with building it", ours / whole, "none"),
    ]
    table(f"{ITEMS:,} items, rank {RANK}, indefinite, best of {runs}", rows)


def factored(n: int) -> Approximation:
    """Return indefinite factors of n items that come in groups of some 20.

    A falling spectrum, a fifth of it negative, 10,000 exact entries. Without groups
    inner products in 200 dimensions have no neighborhoods, and no index finds them.
    """
    rng = np.random.default_rng(0)
    spectrum = np.arange(1, RANK + 1) ** -0.25
    groups = rng.standard_normal((n // 20, RANK))
    own = rng.standard_normal((n, RANK))
    rows = (groups[rng.integers(len(groups), size=n)] + 0.3 * own) * spectrum
    left = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    signs = np.where(np.arange(RANK) % 5 == 4, -1.0, 1.0)
    known = Entries(n, symmetric=True, diagonal=1.0)
    i, j = known.sample_unknown(10_000, rng)
    known.add_pairs(i, j, rng.random(len(i)))
    unknown = Certificate(np.nan, (0.0, np.inf), np.nan, 0, 1.0)
    factors = Model(LowRank(left, signs), np.empty(0, dtype=np.int64), "made")
    return Approximation(factors, known, unknown)


def _shared(a: NDArray[np.int64], b: NDArray[np.int64]) -> float:
    """Return the share of each row of ``a`` that is in that of ``b``."""
    return float((a[:, :, None] == b[:, None, :]).any(axis=2).mean())
