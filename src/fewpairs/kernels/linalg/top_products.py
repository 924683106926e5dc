"""Top products: the largest inner products of every query with the rows of an array.

Exact blocks as long as queries × rows are at most 20,000²; above that an inverted file
(Jégou, Douze & Schmid 2011, "Product quantization for nearest neighbor search") by
faiss, or exact blocks on a GPU. So nothing of order n² is computed on the cores.

Why faiss: `python -m benchmarks index` compares it with hnswlib and usearch at equal
recall, building included; and its inverted files come out the same whatever the number
of threads, which graphs that several threads build do not.
"""

import importlib
import math
import warnings
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fewpairs.errors import FewpairsWarning, InputError
from fewpairs.kernels.linalg.blas_threads import in_threads
from fewpairs.kernels.linalg.selection import largest
from fewpairs.types import Indices

__all__ = [
    "EXACT",
    "ProductIndex",
    "ProductSearch",
    "gpu",
    "gpu_memory",
    "product_search",
    "searched_by",
    "top_inner_products",
]

Array = NDArray[np.float32]

EXACT = 20_000  # rows, times as many queries, up to which blocks are exact
WAYS = ("blocks", "index", "cuda")

_BLOCK, _FEWEST = 1 << 22, 16  # products at once, about, and queries at least
_PER_ROOT = 4  # lists for every √n rows
_TURNS, _PER_LIST = 5, 24  # of k-means, and the rows per list that it looks at
_ASKED = 256  # queries that tell how many lists are enough
_FIRST = 8  # lists that are tried first
_SCANNED = 5_000  # rows that a query is multiplied with at most, among many
_CHUNK = 1 << 14  # rows added, or queries searched for, at once


def top_inner_products(
    vectors: NDArray[Any],
    k: int,
    *,
    queries: NDArray[Any] | None = None,
    device: str | None = None,
    by: str | None = None,
    seed: int = 0,
) -> tuple[Indices, Array]:
    """Return the k largest inner products of every query, and whose they are.

    The same for the same arguments, whatever the number of threads. Memory: of order
    (rows + queries)·(d + k).

    Parameters
    ----------
    vectors
        (n, d) array, in memory or mapped.
    k
        How many; at most n.
    queries
        (m, d) array; ``None``: the vectors themselves, each of them among its own
        results as a rule.
    device
        A GPU for torch, such as ``"cuda"``; ``None``: the cores.
    by
        ``"blocks"``, ``"index"`` or ``"cuda"``; ``None``: as `searched_by` says.
    seed
        Draws what k-means starts from.

    Returns
    -------
    indices, scores
        (m, k) arrays, the largest first, of equal ones those at lower positions. −1
        with a score of −∞ where an index finds fewer.

    Examples
    --------
    >>> import numpy as np
    >>> from fewpairs.kernels.linalg.top_products import top_inner_products
    >>> indices, scores = top_inner_products(np.eye(3), 1, queries=2 * np.eye(3)[1:])
    >>> indices.tolist(), scores.tolist()
    ([[1], [2]], [[2.0], [2.0]])
    """
    n = len(vectors)
    if not 1 <= k <= n:
        msg = f"top_inner_products: k is {k}; there are {n:,} rows."
        raise InputError(msg)
    asked = vectors if queries is None else queries
    by = searched_by(len(asked), n, device) if by is None else by
    return product_search(vectors, by, device=device, seed=seed).search(asked, k)


def product_search(
    vectors: NDArray[Any], by: str, *, device: str | None = None, seed: int = 0
) -> "ProductSearch":
    """Return what searches these rows again and again; see `top_inner_products`."""
    if by == "blocks":
        return _Blocks(vectors)
    if by == "index":
        return ProductIndex(vectors, seed=seed)
    if by == "cuda":
        from fewpairs.kernels.linalg.top_products_torch import ProductsOnDevice

        return ProductsOnDevice(vectors, device or "cuda")
    msg = f"top_inner_products: by is {by!r:.60}; pass one of {WAYS} or None."
    raise InputError(msg)


class ProductSearch(Protocol):
    """Rows that are ready to be searched."""

    def search(self, queries: NDArray[Any], k: int) -> tuple[Indices, Array]:
        """Return (m, k) positions and products, as `top_inner_products` does."""


def searched_by(queries: int, rows: int, device: str | None = None) -> str:
    """Return what so many queries among so many rows are searched by.

    ``"cuda"`` on a GPU, ``"index"`` above 20,000 × 20,000, else ``"blocks"``. These
    also where faiss is missing, with a warning: they are exact, and slow.
    """
    if device is not None and not device.startswith("cpu"):
        return "cuda"
    if queries * rows <= EXACT**2:
        return "blocks"
    try:
        importlib.import_module("faiss")
    except ImportError:
        msg = (
            f"{queries:,} × {rows:,} inner products are computed one and all, which "
            "is slow, because faiss is missing. Run: pip install 'fewpairs[index]'"
        )
        warnings.warn(msg, FewpairsWarning, stacklevel=3)
        return "blocks"
    return "index"


def gpu() -> str | None:
    """Return the GPU that torch sees, if any."""
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        return None
    return "cuda" if torch.cuda.is_available() else None


def gpu_memory() -> float:
    """Return how many bytes the GPU has that `gpu` returns; ∞ where there is none."""
    if gpu() is None:
        return math.inf
    torch = importlib.import_module("torch")
    return float(torch.cuda.get_device_properties(0).total_memory)


class _Blocks:
    """Multiplies all queries with all rows, block by block."""

    def __init__(self, vectors: NDArray[Any]) -> None:
        self._rows = _as_float32(vectors)

    def search(self, queries: NDArray[Any], k: int) -> tuple[Indices, Array]:
        """Return (m, k) positions and products."""
        m, n = len(queries), len(self._rows)
        indices = np.empty((m, k), dtype=np.int64)
        scores = np.empty((m, k), dtype=np.float32)

        def look(part: slice) -> None:
            products = np.asarray(queries[part], dtype=np.float32) @ self._rows.T
            found = largest(products, k)
            values = np.take_along_axis(products, found, axis=1)
            indices[part], scores[part] = _in_order(found, values)

        step = max(_FEWEST, min(512, _BLOCK // n))
        in_threads(look, [slice(start, start + step) for start in range(0, m, step)])
        return indices, scores


def _in_order(found: Indices, values: Array) -> tuple[Indices, Array]:
    """Sort rows by falling values, equal ones by position."""
    order = np.lexsort((found, -values), axis=1)
    return (
        np.take_along_axis(found, order, axis=1),
        np.take_along_axis(values, order, axis=1),
    )


class ProductIndex:
    """Rows in lists around the centers of k-means; a query looks into some of them.

    Rows get one more coordinate, √(max ‖x‖² − ‖x‖²), and queries a 0 (Bachrach et al.
    2014, "Speeding up the Xbox recommender system using a Euclidean transformation for
    inner-product spaces"): all rows are of one length then, so those with the largest
    products are the nearest, which is what lists are good at. Without it long rows draw
    all queries to their lists, and half as much is found in the same time.

    There are 4·√n lists. How many of them a query looks into is found out on a sample
    of the queries, whose k largest products are computed exactly: as many as it takes
    to find ``recall`` of them, but not more than hold 5,000 rows together, on average,
    or as many as make 20,000² products of all queries where that is more. So a query
    costs at most what it costs among 5,000 rows, however large n is.

    Price: 4·n·√n·d multiplications to build, at most 5,000·d for a query. Memory: the
    rows once more.

    Parameters
    ----------
    vectors
        (n, d) array, in memory or mapped.
    recall
        Share of the k largest that is aimed at.
    seed
        Draws the rows that k-means looks at, and the sample.

    Attributes
    ----------
    lists
        How many there are.
    probes, recall
        Lists that queries look into, and which share of the k largest products of the
        sample that found, for each k that was searched for.
    """

    def __init__(
        self, vectors: NDArray[Any], *, recall: float = 0.95, seed: int = 0
    ) -> None:
        self._faiss = faiss = importlib.import_module("faiss")
        n, d = vectors.shape
        self._vectors, self._aim, self._seed = vectors, recall, seed
        self.lists = max(1, min(n // 8, int(_PER_ROOT * np.sqrt(n))))
        self.probes: dict[int, int] = {}
        self.recall: dict[int, float] = {}
        self._quantizer = faiss.IndexFlatL2(d + 1)  # faiss itself keeps no reference
        self._index = index = faiss.IndexIVFFlat(
            self._quantizer, d + 1, self.lists, faiss.METRIC_INNER_PRODUCT
        )
        index.cp.niter, index.cp.seed = _TURNS, seed + 1
        index.cp.min_points_per_centroid = 1
        index.cp.max_points_per_centroid = _PER_LIST
        parts = [slice(start, start + _CHUNK) for start in range(0, n, _CHUNK)]
        squares = np.concatenate([_squares(vectors[part]) for part in parts])
        missing = np.sqrt(squares.max() - squares)
        some = np.random.default_rng(seed).permutation(n)[: _PER_LIST * self.lists]
        some.sort()
        index.train(_longer(vectors[some], missing[some]))
        for part in parts:
            index.add(_longer(vectors[part], missing[part]))

    def search(self, queries: NDArray[Any], k: int) -> tuple[Indices, Array]:
        """Return (m, k) positions and products, as `top_inner_products` does."""
        if k not in self.probes:
            self.calibrate(queries, k)
        m = len(queries)
        indices = np.empty((m, k), dtype=np.int64)
        scores = np.empty((m, k), dtype=np.float32)
        for start in range(0, m, _CHUNK):
            part = slice(start, start + _CHUNK)
            indices[part], scores[part] = self._look(queries[part], k, self.probes[k])
        return indices, scores

    def calibrate(self, queries: NDArray[Any], k: int) -> None:
        """Find out, on a sample of these queries, how many lists are enough for k."""
        rng = np.random.default_rng(self._seed)
        some = np.sort(rng.permutation(len(queries))[:_ASKED])
        asked = np.asarray(queries[some])
        least = _Blocks(self._vectors).search(asked, k)[1][:, -1:]
        slack = 1e-5 * np.abs(least)  # faiss adds up in another order
        n = len(self._vectors)
        rows = min(n, max(_SCANNED, EXACT**2 // n))
        most = max(1, self.lists * rows // n)
        probes = min(_FIRST, most)
        while True:
            found = float(np.mean(self._look(asked, k, probes)[1] >= least - slack))
            if found >= self._aim or probes == most:
                break
            probes = min(-(-3 * probes // 2), most)
        self.recall[k], self.probes[k] = found, probes

    def _look(
        self, queries: NDArray[Any], k: int, probes: int
    ) -> tuple[Indices, Array]:
        # Handed over with the call: several threads may search.
        parameters = self._faiss.SearchParametersIVF(nprobe=probes)
        values, found = self._index.search(_longer(queries, 0.0), k, params=parameters)
        values[found < 0] = -np.inf
        return _in_order(found, values)


def _as_float32(rows: NDArray[Any]) -> Array:
    return np.ascontiguousarray(rows, dtype=np.float32)


def _squares(rows: NDArray[Any]) -> NDArray[np.float64]:
    return np.einsum("nd,nd->n", rows, rows, dtype=np.float64)


def _longer(rows: NDArray[Any], last: Any) -> Array:
    """Return rows with one more coordinate."""
    out = np.empty((len(rows), rows.shape[1] + 1), dtype=np.float32)
    out[:, :-1], out[:, -1] = rows, last
    return out
