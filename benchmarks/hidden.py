"""A made-up but rough similarity of any number of items, and one run of it.

Items are hidden vectors in topics of some 40; s(i, j) is a steep curve of their cosine,
with an effect per item and with noise that belongs to the pair. So it is neither of low
rank nor a function of any embedding. The prior is a noisy view of the hidden vectors
that ranks few of the true ten among its ten.

`python -m benchmarks.hidden ITEMS PER_ITEM [True|False]` runs the default on it and
prints one line of JSON.
"""

import json
import resource
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fewpairs as fp

__all__ = ["Rough", "measured"]

Array = NDArray[Any]
HIDDEN, GIVEN = 24, 64  # dimensions of the hidden vectors and of the prior
TOPIC = 40  # items of one topic, on average
ROWS, PAIRS, K = 200, 200_000, 10


class Rough(fp.Similarity):
    """s(i, j) = c³₊ + (b_i + b_j)/2 + ε_ij, c the cosine of hidden vectors."""

    symmetric = True
    proven = True
    by_position = True

    def __init__(self, n: int, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        topics = rng.standard_normal((max(1, n // TOPIC), HIDDEN), dtype=np.float32)
        X = topics[rng.integers(len(topics), size=n)]
        X += 0.7 * rng.standard_normal((n, HIDDEN), dtype=np.float32)
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        self.vectors = X
        self.effects = 0.15 * rng.standard_normal(n, dtype=np.float32)
        view = rng.standard_normal((HIDDEN, GIVEN), dtype=np.float32) / HIDDEN**0.5
        self.prior = X @ view
        noise = rng.standard_normal((n, GIVEN), dtype=np.float32)
        noise *= 0.11
        self.prior += noise

    def bind(self, items: Sequence[Any]) -> fp.Scorer:
        """Return the scorer; an item is its position."""
        return _RoughScorer(self, len(items))


class _RoughScorer(fp.Scorer):
    dtype = np.dtype(np.float32)

    def __init__(self, similarity: Rough, n: int) -> None:
        self.n, self._of = n, similarity

    def pairs(self, i: Array, j: Array) -> Array:
        X, b = self._of.vectors, self._of.effects
        cosine = np.einsum("td,td->t", X[i], X[j])
        return np.asarray(_curve(cosine) + (b[i] + b[j]) / 2 + _noise(i, j))

    def block(self, rows: Array, columns: Array) -> Array:
        X, b = self._of.vectors, self._of.effects
        out = _curve(X[rows] @ X[columns].T)
        out += (b[rows][:, None] + b[columns][None]) / 2
        return np.asarray(out + _noise(rows[:, None], columns[None]))


def _curve(cosine: Array) -> Array:
    return np.asarray(np.maximum(cosine, 0) ** 3)


def _noise(i: Array, j: Array) -> NDArray[np.float32]:
    """Return a number from −0.05 to 0.05 that depends on the pair alone.

    The mixing of splitmix64 (Steele, Lea and Flood, OOPSLA 2014).
    """
    low, high = np.minimum(i, j).astype(np.uint64), np.maximum(i, j).astype(np.uint64)
    x = (low << np.uint64(32)) + high + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    share = (x >> np.uint64(40)).astype(np.float32) / np.float32(2**24)
    return np.asarray((share - np.float32(0.5)) * np.float32(0.1))


def measured(n: int, per_item: int, student: bool | None = None) -> dict[str, Any]:
    """Run the default, and compare it with 200 rows that are read in full."""
    similarity = Rough(n)
    options: Any = {} if student is None else {"student": student}
    started, before = time.perf_counter(), time.process_time()
    approx = fp.approximate(
        range(n),
        similarity,
        method=fp.Auto(**options),
        budget=per_item * n // 2,
        prior=similarity.prior,
    )
    fitted = time.perf_counter()
    found = approx.neighbors(K).indices
    ended, processor = time.perf_counter(), time.process_time() - before
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    value: dict[str, Any] = {
        "total": ended - started,
        "outside": ended - started - approx.bill.evaluating,
        "evaluating": approx.bill.evaluating,
        "neighbors": ended - fitted,
        "processor": processor,
        "memory": memory,
        "evaluations": approx.evaluations,
    }
    return value | _figures(approx, similarity, found)


def _figures(
    approx: fp.Approximation, similarity: Rough, found: Array
) -> dict[str, float]:
    n = approx.shape[0]
    scorer = similarity.bind(range(n))
    rng = np.random.default_rng(1)
    hits, prior_hits = 0, 0
    prior = similarity.prior / np.linalg.norm(similarity.prior, axis=1, keepdims=True)
    rows = rng.permutation(n)[:ROWS]
    for row in rows:
        true = scorer.block(row[None], np.arange(n))[0]
        near = prior @ prior[row]
        true[row] = near[row] = -np.inf
        best = np.argpartition(-true, K)[:K]
        hits += np.isin(found[row], best).sum()
        prior_hits += np.isin(np.argpartition(-near, K)[:K], best).sum()
    i = rng.integers(n, size=PAIRS)
    j = (i + rng.integers(1, n, size=PAIRS)) % n
    exact = scorer.pairs(i, j)
    missed = np.sum((exact - approx.pairs(i, j)) ** 2)
    return {
        "recall": hits / (K * len(rows)),
        "prior's recall": prior_hits / (K * len(rows)),
        "r2": float(1 - missed / np.sum((exact - exact.mean()) ** 2)),
    }


if __name__ == "__main__":
    size, pairs, *rest = sys.argv[1:]
    trains = {"True": True, "False": False}.get("".join(rest))
    answer = measured(int(size), int(pairs), trains)
    print(json.dumps({name: float(value) for name, value in answer.items()}))
