"""Lists: largest inner products by looking into the nearest groups of rows alone.

Rows are put into some 16·√n lists around centers (k-means). A query looks into the
lists whose centers have the largest inner products with it. As in Jégou, Douze and
Schmid (Product quantization for nearest neighbor search, 2011), but list by list: all
queries of a list meet its rows in one matrix product, which is where processors are
quickest.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fewpairs.kernels.blas import in_lanes
from fewpairs.kernels.selection import largest

__all__ = ["Lists"]

Array = NDArray[np.float32]

_PER_ROOT = 16  # lists for every √n: short ones hold what belongs together
_SAMPLED = 8  # rows a list that place its center
_TURNS = 2  # of k-means
_ASKED = 256  # queries that tell how many lists are enough
_FIRST = 4  # lists that are tried first
_BLOCK = 1 << 22  # numbers at once


class Lists:
    """Rows of an array, ready to be searched.

    Price: 16·n·√n·d multiplications to build, as many to choose lists for n queries,
    and √n/16·d for every list that a query looks into. Memory: the rows once more.
    """

    def __init__(self, rows: Array, rng: np.random.Generator) -> None:
        n = len(rows)
        number = max(1, min(n // 4, int(_PER_ROOT * np.sqrt(n))))
        self._centers = _centers(rows, number, rng)
        home = _nearest(rows, self._centers)
        self._order = np.argsort(home, kind="stable")
        self._rows = rows[self._order]
        self._ends = np.searchsorted(home[self._order], np.arange(number + 1))

    def search(
        self, queries: Array, count: int, recall: float, rng: np.random.Generator
    ) -> tuple[NDArray[np.int64], int]:
        """Return (queries, count) positions, and the number of lists looked into.

        As many lists as a sample of the queries needs to find this share of its
        ``count`` largest; −1 stands for nothing.
        """
        some = queries[rng.permutation(len(queries))[:_ASKED]]
        truth = largest(some @ self._rows.T, count)
        truth = self._order[truth]
        probes = min(_FIRST, len(self._centers))
        while probes < len(self._centers):
            found = self._search(some, count, probes)
            hit = (truth[:, :, None] == found[:, None, :]).any(axis=2).mean()
            if hit >= recall:
                break
            probes = min(2 * probes, len(self._centers))
        return self._search(queries, count, probes), probes

    def _search(self, queries: Array, count: int, probes: int) -> NDArray[np.int64]:
        wanted = self._probed(queries, probes)
        places = np.full((len(queries), probes * count), -1, dtype=np.int32)
        scores = np.full(places.shape, -np.inf, dtype=np.float32)
        query, slot = np.divmod(np.argsort(wanted, axis=None, kind="stable"), probes)
        ends = np.searchsorted(wanted[query, slot], np.arange(len(self._centers) + 1))

        def look(which: int) -> None:
            first, last = self._ends[which], self._ends[which + 1]
            at = slice(ends[which], ends[which + 1])
            if first == last or at.start == at.stop:
                return
            asking = query[at]
            products = queries[asking] @ self._rows[first:last].T
            best = largest(products, min(count, last - first))
            columns = slot[at][:, None] * count + np.arange(best.shape[1])
            scores[asking[:, None], columns] = np.take_along_axis(products, best, 1)
            places[asking[:, None], columns] = best + first

        in_lanes(look, range(len(self._centers)))
        best = largest(scores, count)
        found = np.take_along_axis(places, best, axis=1)
        return np.where(found < 0, -1, self._order[found])

    def _probed(self, queries: Array, probes: int) -> NDArray[np.int32]:
        out = np.empty((len(queries), probes), dtype=np.int32)

        def look(part: slice) -> None:
            out[part] = largest(queries[part] @ self._centers.T, probes)

        in_lanes(look, _parts(len(queries), len(self._centers)))
        return out


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

    in_lanes(look, _parts(len(rows), len(centers)))
    return out


def _parts(rows: int, width: int) -> Iterator[slice]:
    step = max(1, _BLOCK // width)
    return (slice(start, start + step) for start in range(0, rows, step))
