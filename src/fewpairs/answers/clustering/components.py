"""Components: items that are connected by pairs at or above a threshold."""

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from fewpairs.answers.candidates import Proposer, chunks, is_large
from fewpairs.answers.ranking import distinct, known_best
from fewpairs.errors import InputError
from fewpairs.kernels.linalg.average_linkage import Corrected
from fewpairs.matrix.entries import Entries
from fewpairs.progress import Progress
from fewpairs.types import Indices

__all__ = ["Components", "Linked", "components", "find_components"]

_BLOCK = 1 << 22  # entries compared at once
_PROPOSED, _KNOWN = 64, 8  # partners compared per item, of many items
_RANGE = 100_000  # random pairs that tell the range of the similarities
_ROUNDING = 1e-12  # share of the largest similarity that tells nothing apart


class Linked(Protocol):
    """Similarities that can be linked: symmetric, and never held as a whole."""

    @property
    def n(self) -> int:
        """Number of items."""

    def block(self, rows: Indices, columns: Indices) -> NDArray[Any]:
        """Return the similarities of rows to columns."""

    @property
    def known(self) -> Entries:
        """The entries that were read."""

    def pairs(self, i: Indices, j: Indices) -> NDArray[Any]:
        """Return the similarities of pairs."""

    def candidates(self) -> Proposer:
        """Return what proposes partners of items."""

    def corrected(self) -> Corrected | None:
        """Return their factors, where they have any."""

    def possible(self) -> tuple[float, float]:
        """Return the range that is declared for them, or (∞, −∞)."""


class Components(NamedTuple):
    """Connected components of the graph of similar pairs, and what was seen."""

    labels: Indices
    low: float
    high: float


def components(
    items: Linked, threshold: float, call: str, progress: Progress
) -> Components:
    """Find the components; refuse a threshold that no similarity can have."""
    found = find_components(items, threshold, progress)
    low, high = items.possible()
    low, high = min(low, found.low), max(high, found.high)
    if not low <= threshold <= high:
        what = "every item alone" if threshold > high else "all items in one"
        msg = (
            f"{call}: threshold is {threshold:g} and would leave {what}: the "
            f"similarities lie between {low:.4g} and {high:.4g}. Pass a threshold in "
            "that range."
        )
        raise InputError(msg)
    return found


def find_components(items: Linked, threshold: float, progress: Progress) -> Components:
    """Find the components of the pairs at or above a threshold.

    Up to 20,000 items all pairs are compared, block by block. Above that an item's
    candidates and the best of what is known of it are, 64 and 16 of them: an item with
    more partners than that is connected through these.
    """
    progress.start("comparing items", items.n)
    joining = _Joining(items.n, threshold)
    compare = _compare_candidates if is_large(items.n) else _compare_all
    compare(items, joining, progress)
    labels = np.unique(joining.labels, return_inverse=True)[1]
    return Components(labels, joining.low, joining.high)


class _Joining:
    """Labels of items, joined by what is seen of their similarities."""

    def __init__(self, n: int, threshold: float) -> None:
        self.labels: Indices = np.arange(n)
        self.low, self.high = np.inf, -np.inf
        self._threshold = threshold

    def see(self, low: float, high: float) -> float:
        """Note a range; return the least similarity that joins."""
        self.low, self.high = min(self.low, low), max(self.high, high)
        if not np.isfinite(self.low):
            return self._threshold
        return self._threshold - _ROUNDING * max(abs(self.low), abs(self.high))

    def join(self, i: Indices, j: Indices) -> None:
        """Give items that are connected by pairs one label."""
        if len(i):
            n = len(self.labels)
            ends = (self.labels[i], self.labels[j])
            graph = sparse.coo_array((np.ones(len(i)), ends), shape=(n, n))
            found = csgraph.connected_components(graph, directed=False)[1]
            self.labels = found.astype(np.int64)[self.labels]


def _reach(values: NDArray[Any], least: float) -> NDArray[np.bool_]:
    with np.errstate(over="ignore"):  # in single precision 1e300 is infinite
        return np.asarray(values >= least)


def _compare_all(items: Linked, joining: _Joining, progress: Progress) -> None:
    n, start = items.n, 0
    while start < n:
        step = max(1, _BLOCK // (n - start))
        rows, columns = np.arange(start, min(n, start + step)), np.arange(start, n)
        block = items.block(rows, columns)
        ahead = rows[:, None] < columns[None, :]
        least = joining.see(
            float(np.min(block, initial=np.inf, where=ahead)),
            float(np.max(block, initial=-np.inf, where=ahead)),
        )
        labels = joining.labels
        near = _reach(block, least) & ahead
        near &= labels[rows][:, None] != labels[columns][None, :]
        i, j = np.nonzero(near)
        joining.join(rows[i], columns[j])
        progress.advance(len(rows))
        start += step


def _compare_candidates(items: Linked, joining: _Joining, progress: Progress) -> None:
    n = items.n
    i, j = np.random.default_rng(0).integers(n, size=(2, _RANGE))
    i, j = i[i != j], j[i != j]
    some = items.pairs(i, j)
    joining.see(float(some.min()), float(some.max()))
    proposing, known = items.candidates(), known_best(items.known, _KNOWN)
    for rows in chunks(n, 2 * _PROPOSED + 2 * _KNOWN):
        found = np.hstack([proposing.of(rows, _PROPOSED), known[rows]])
        partner, good = distinct(rows, found)
        at, place = np.nonzero(good)
        i, j = rows[at], partner[at, place]
        values = items.pairs(i, j)
        least = joining.see(
            float(values.min(initial=np.inf)), float(values.max(initial=-np.inf))
        )
        near = _reach(values, least) & (joining.labels[i] != joining.labels[j])
        joining.join(i[near], j[near])
        progress.advance(len(rows))
