"""What the default costs beside its evaluations, for 20,000 items.

5 % of the pairs, embeddings of 384 dimensions as the prior. The yardstick is one pass
of blockwise products of all rows with all rows, at rank s + d, on the same cores.
"""

import resource
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fewpairs as fp
from benchmarks.measure import table
from fewpairs.kernels.linalg.blas_threads import in_threads

N, D = 20_000, 384
RUNS = 2


class Hidden(fp.Similarity):
    """A smooth function of hidden vectors, in blocks."""

    symmetric = True
    proven = True

    def bind(self, items: Sequence[Any]) -> fp.Scorer:
        """Return the vectors' scorer."""
        return _HiddenScorer(np.asarray(items))


class _HiddenScorer(fp.Scorer):
    dtype = np.dtype(np.float32)

    def __init__(self, X: NDArray[np.float32]) -> None:
        self.n, self._X = len(X), X

    def pairs(self, i: NDArray[Any], j: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(np.tanh(np.einsum("td,td->t", self._X[i], self._X[j])))

    def block(self, rows: NDArray[Any], columns: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(np.tanh(self._X[rows] @ self._X[columns].T))


def run() -> None:
    """Print the ratio of times, and the memory in numbers per item."""
    rng = np.random.default_rng(0)
    topics = rng.standard_normal((200, 32))
    X = topics[rng.integers(0, 200, N)] + 0.7 * rng.standard_normal((N, 32))
    X = (X / np.linalg.norm(X, axis=1, keepdims=True) * 1.2).astype(np.float32)
    mix = rng.standard_normal((32, D)).astype(np.float32)
    noise = rng.standard_normal((N, D)).astype(np.float32)
    embeddings = X @ mix / np.sqrt(32) + 0.5 * noise
    ours = bare = float("inf")
    method = fp.Auto(student=False)
    for _ in range(RUNS):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        approx = fp.approximate(
            X, Hidden(), method=method, budget=0.05, prior=embeddings
        )
        more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        ours = min(ours, approx.bill.computing)
        rank = len(approx.landmarks) + D
        bare = min(bare, _products(rng.standard_normal((N, rank), dtype=np.float32)))
    print(f"\n{approx}")
    numbers = more * 1024 / 4 / N
    table(
        f"default, n = {N:,}, d = {D}, 5 % of the pairs, best of {RUNS}",
        [
            (
                "seconds outside the similarity / one pass of products",
                ours / bare,
                "≤ 3",
            ),
            ("seconds outside the similarity", ours, "none"),
            (
                "extra memory, float32 numbers per item / (s + d + k)",
                numbers / (rank + 256),
                "O(1)",
            ),
        ],
    )


def _products(Z: NDArray[np.float32]) -> float:
    """Return the seconds of Z·Zᵀ, block by block, on all cores."""
    start = time.perf_counter()

    def block(rows: NDArray[Any]) -> None:
        Z[rows] @ Z.T

    in_threads(block, np.array_split(np.arange(N), N // 100))
    return time.perf_counter() - start
