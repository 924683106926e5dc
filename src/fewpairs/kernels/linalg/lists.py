"""Lists: largest inner products by looking into the nearest groups of rows alone.

Rows are put into some 16·√n lists around centers (k-means), as in Jégou, Douze and
Schmid (Product quantization for nearest neighbor search, 2011). Here every row has its
query, and those of one list ask much the same: they look into the same lists, those
whose centers have the largest inner products with the mean of these queries. So a list
is one matrix product, which is where processors are quickest.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fewpairs.kernels.linalg.blas_threads import in_threads
from fewpairs.kernels.linalg.selection import largest

__all__ = ["Lists"]

Array = NDArray[np.float32]

_PER_ROOT = 16  # lists for every √n: short ones hold what belongs together
_SAMPLED = 8  # rows a list that place its center
_TURNS = 2  # of k-means
_ASKED = 400  # queries, about, that tell how many lists are enough
_FIRST = 8  # lists that are tried first
_TOGETHER = 64  # lists, a task
_BLOCK = 1 << 22  # numbers at once


class Lists:
    """Rows of an array, ready to be searched.

    Price: 16·n·√n·d multiplications to build, and √n/16·d for every list that a query
    looks into. Memory: the rows once more.
    """

    def __init__(self, rows: Array, rng: np.random.Generator) -> None:
        n = len(rows)
        number = max(1, min(n // 4, int(_PER_ROOT * np.sqrt(n))))
        centers = _centers(rows, number, rng)
        home = _nearest(rows, centers)
        self._order = np.argsort(home, kind="stable")
        self._rows = rows[self._order]
        kinds, first = np.unique(home[self._order], return_index=True)
        self._centers = centers[kinds]  # those of lists that are not empty
        self._ends = np.append(first, n)

    def search(
        self, queries: Array, count: int, recall: float, rng: np.random.Generator
    ) -> tuple[NDArray[np.int64], int]:
        """Return (n, count) positions, and the number of lists looked into.

        ``queries[t]`` goes with row t. As many lists as a sample of them needs to find
        this share of its ``count`` largest; −1 stands for nothing.
        """
        queries = queries[self._order]
        size = np.diff(self._ends)
        sums = np.add.reduceat(queries, self._ends[:-1])
        means = (sums / size[:, None]).astype(np.float32)
        lists = len(size)
        some = rng.permutation(lists)[: max(1, _ASKED * lists // len(queries))]
        asking = np.concatenate([self._members(which) for which in some])
        truth = largest(queries[asking] @ self._rows.T, count)
        out = np.full((len(queries), count), -1, dtype=np.int64)
        probes = min(_FIRST, lists)
        while probes < lists:
            self._fill(out, queries, means, some, probes)
            hits = truth[:, :, None] == out[asking][:, None, :]
            if hits.any(axis=2).mean() >= recall:
                break
            probes = min(2 * probes, lists)
        self._fill(out, queries, means, np.arange(lists), probes)
        found = np.empty_like(out)
        found[self._order] = np.where(out < 0, -1, self._order[out])
        return found, probes

    def _members(self, which: int) -> NDArray[np.int64]:
        return np.arange(self._ends[which], self._ends[which + 1])

    def _fill(
        self,
        out: NDArray[np.int64],
        queries: Array,
        means: Array,
        lists: NDArray[np.int64],
        probes: int,
    ) -> None:
        """Write what the queries of some lists find in the lists nearest to them."""
        count, ends = out.shape[1], self._ends

        def look(part: NDArray[np.int64]) -> None:
            nearest = largest(means[part] @ self._centers.T, probes)
            for which, probed in zip(part, nearest, strict=True):
                spans = [slice(ends[p], ends[p + 1]) for p in probed]
                rows = np.concatenate([self._rows[span] for span in spans])
                places = np.concatenate(
                    [np.arange(span.start, span.stop) for span in spans]
                )
                own = slice(ends[which], ends[which + 1])
                products = queries[own] @ rows.T
                best = largest(products, count)
                out[own, : best.shape[1]] = places[best]

        pieces = max(1, len(lists) // _TOGETHER)
        in_threads(look, np.array_split(lists, pieces))


def _centers(rows: Array, number: int, rng: np.random.Generator) -> Array:
    """Return the centers of k-means on a sample of the rows."""
    sample = rows[rng.permutation(len(rows))[: _SAMPLED * number]]
    centers = sample[:number].copy()
    for _ in range(_TURNS):
        home = _nearest(sample, centers)
        order = np.argsort(home, kind="stable")
        kinds, first = np.unique(home[order], return_index=True)
        size = np.diff(np.append(first, len(order)))
        centers[kinds] = np.add.reduceat(sample[order], first) / size[:, None]
    return centers


def _nearest(rows: Array, centers: Array) -> NDArray[np.int64]:
    """Return the nearest center of every row: ‖x − c‖² = ‖x‖² − 2·(x·c − ‖c‖²/2)."""
    half = np.einsum("cd,cd->c", centers, centers) / 2
    out = np.empty(len(rows), dtype=np.int64)

    def look(part: slice) -> None:
        out[part] = (rows[part] @ centers.T - half).argmax(axis=1)

    in_threads(look, _parts(len(rows), len(centers)))
    return out


def _parts(rows: int, width: int) -> Iterator[slice]:
    step = max(1, _BLOCK // width)
    return (slice(start, start + step) for start in range(0, rows, step))
