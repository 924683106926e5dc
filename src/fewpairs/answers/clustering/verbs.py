"""The verbs of clustering: arguments checked, progress shown, labels returned."""

import math
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fewpairs.answers.across import refuse_two_sets
from fewpairs.answers.candidates import Proposer, views
from fewpairs.answers.clustering import linkage as tree
from fewpairs.answers.clustering.components import (
    Linked,
    components,
    find_components,
)
from fewpairs.answers.clustering.exact_merges import read_merges
from fewpairs.answers.clustering.factored import FactoredPart
from fewpairs.answers.labels import Labels
from fewpairs.answers.sides import sides_of
from fewpairs.checks import check_choice, check_number, check_whole
from fewpairs.errors import InputError
from fewpairs.kernels.linalg.average_linkage import Merges
from fewpairs.matrix.entries import Entries
from fewpairs.model.model import Model
from fewpairs.progress import Progress, as_progress
from fewpairs.reading.reader import Reader
from fewpairs.result.approximation import Approximation
from fewpairs.types import Indices

__all__ = ["cluster", "linkage"]

BY = ("average", "components", "spectral")
OF = ("factors", "answers")
_BELOW = 0.3  # of the similarities' range: how far below a threshold they are read


class Sourced(Protocol):
    """What an approximation was made of."""

    @property
    def reader(self) -> Reader:
        """Exact values of its pairs."""


class Answering(Protocol):
    """What is needed of an approximation."""

    @property
    def model(self) -> Model:
        """What the method returned."""

    @property
    def known(self) -> Entries:
        """The entries that were read."""

    @property
    def source(self) -> "Sourced | None":
        """What it was made of."""

    def block(self, rows: Any, columns: Any) -> NDArray[Any]:
        """Return the similarities of all rows to all columns."""

    def pairs(self, i: Any, j: Any) -> NDArray[Any]:
        """Return the similarities of pairs."""

    def reader(self, call: str) -> Reader:
        """Return what reads exact values."""

    def graph(
        self, k: int, *, connected: bool, progress: bool | Progress
    ) -> sparse.csr_matrix:
        """Return distances to the nearest neighbors."""


@dataclass(frozen=True)
class Answers:
    """All answers of an approximation, averaged over both orders."""

    approx: Answering

    @property
    def n(self) -> int:
        """Number of items."""
        return self.approx.known.n

    def block(self, rows: Indices, columns: Indices) -> NDArray[Any]:
        """Return the symmetric similarities of rows to columns."""
        there = self.approx.block(rows, columns)
        back = self.approx.block(columns, rows).T
        return np.asarray((there + back) * there.dtype.type(0.5))

    @property
    def known(self) -> Entries:
        """The entries that were read."""
        return self.approx.known

    def pairs(self, i: Indices, j: Indices) -> NDArray[Any]:
        """Return the symmetric similarities of pairs."""
        there, back = self.approx.pairs(i, j), self.approx.pairs(j, i)
        return np.asarray((there + back) * there.dtype.type(0.5))

    def candidates(self) -> Proposer:
        """Return what proposes partners of items."""
        return Proposer(views(self.approx.model))

    def corrected(self) -> None:
        """Return nothing: a student or a clipped value has no factors."""
        return

    def possible(self) -> tuple[float, float]:
        """Return the declared range of the similarities."""
        return _declared(self.approx)


def linkage(
    approx: Answering,
    *,
    of: str = "factors",
    top: float | None = None,
    progress: bool | Progress = False,
) -> NDArray[np.float64]:
    """Return SciPy's linkage matrix; see ``Approximation.linkage``."""
    call = "Approximation.linkage"
    refuse_two_sets(approx, call)
    items = _linked(approx, of, call)
    shown = as_progress(progress, call, unit="merges")
    check_number(call, "top", top, none=True)
    try:
        Z = tree.linkage_tree(items, call, shown)
    finally:
        shown.finish()
    diagonal = approx.known.diagonal
    reached = float(Z[0, 2])
    least = max(1.0 if diagonal is None else diagonal, reached)
    if top is not None and top < reached:
        msg = (
            f"{call}: top is {top:g}, and two clusters are joined at a similarity of "
            f"{reached:g}: their distance would be negative. Pass top={least:g} or "
            "more, or None."
        )
        raise InputError(msg)
    Z[:, 2] = (least if top is None else top) - Z[:, 2]
    return Z


def cluster(
    approx: Approximation,
    threshold: float | None,
    *,
    clusters: int | None,
    n_clusters: int | None,
    by: str,
    of: str,
    evaluations: int,
    neighbors: int,
    seed: int,
    progress: bool | Progress,
) -> Labels:
    """Return labels; see ``Approximation.cluster``."""
    call = "Approximation.cluster"
    refuse_two_sets(approx, call)
    if n_clusters is not None and clusters is not None:
        msg = f"{call}: n_clusters is another name of clusters. Pass one of them."
        raise InputError(msg)
    numbers = _numbers(
        approx,
        threshold,
        clusters=clusters if n_clusters is None else n_clusters,
        by=by,
        of=of,
        evaluations=evaluations,
        neighbors=neighbors,
        seed=seed,
        progress=progress,
        call=call,
    )
    return Labels.of(numbers, sides_of(approx)[0])


def _numbers(
    approx: Answering,
    threshold: float | None,
    *,
    clusters: int | None,
    by: str,
    of: str,
    evaluations: int,
    neighbors: int,
    seed: int,
    progress: bool | Progress,
    call: str,
) -> Indices:
    """Check what is asked for, and link."""
    check_choice(call, "by", by, BY)
    neighbors = check_whole(call, "neighbors", neighbors, least=1)
    seed = check_whole(call, "seed", seed)
    items = _linked(approx, of if by == "average" else "answers", call)
    _check_choice(threshold, clusters, by, items.n, call)
    shown = as_progress(progress, call, unit="items")
    evaluations = check_whole(call, "evaluations", evaluations)
    if evaluations and (threshold is None or by != "average" or of != "factors"):
        msg = (
            f"{call}: evaluations read exact merges of average linkage of factors near "
            "a threshold. Pass threshold=, by='average' and of='factors' with them."
        )
        raise InputError(msg)
    if by == "spectral":
        graph = approx.graph(
            min(neighbors, items.n - 1), connected=True, progress=progress
        )
        return tree.spectral_labels(graph, clusters or 1, seed)
    try:
        if evaluations and threshold is not None:
            items = _with_exact_merges(
                approx, float(threshold), evaluations, call, shown
            )
        if clusters is not None:
            Z = tree.linkage_tree(items, call, shown)
            return tree.tree_labels(Z, clusters)
        labels = tree.component_labels if by == "components" else tree.average_labels
        return labels(items, float(threshold or 0.0), call, shown)
    finally:
        shown.finish()


def _with_exact_merges(
    approx: Answering,
    threshold: float,
    evaluations: int,
    call: str,
    progress: Progress,
) -> Linked:
    """Read pairs that decide merges; return the factored part with them in it."""

    def part(known: Entries) -> FactoredPart:
        return FactoredPart.of(approx.model, known, call, _declared(approx))

    # A threshold that tells nothing is to be found out before anything is paid for.
    range_of = components(part(approx.known), threshold, call, progress)
    floor = range_of.low
    if approx.known.n > tree.SMALL:  # else the whole tree is quickly made
        floor = max(floor, threshold - _BELOW * (range_of.high - range_of.low))

    def link(known: Entries) -> Merges:
        items = part(known)
        found = find_components(items, floor, progress)
        return tree.average_merges(items, found, floor, call, progress)

    with approx.reader("cluster").allow(evaluations) as oracle:
        rng = np.random.default_rng(0)
        known = read_merges(link, oracle, threshold, evaluations=evaluations, rng=rng)
    return part(known)


def _linked(approx: Answering, of: str, call: str) -> Linked:
    check_choice(call, "of", of, OF)
    if of == "answers":
        return Answers(approx)
    return FactoredPart.of(approx.model, approx.known, call, _declared(approx))


def _declared(approx: Answering) -> tuple[float, float]:
    """Return the range that similarities are declared to have, or (∞, −∞)."""
    low, high = math.inf, -math.inf
    if approx.known.diagonal is not None:
        low = high = approx.known.diagonal
    bounds = None if approx.source is None else approx.source.reader.similarity.bounds
    return (
        (low, high) if bounds is None else (min(low, bounds[0]), max(high, bounds[1]))
    )


def _check_choice(threshold: Any, clusters: Any, by: str, n: int, call: str) -> None:
    if (threshold is None) == (clusters is None):
        got = "neither" if threshold is None else "both"
        msg = (
            f"{call}: got {got} of threshold and clusters. Pass one: the similarity "
            "down to which clusters are joined, or how many there are to be."
        )
        raise InputError(msg)
    if threshold is not None:
        check_number(call, "threshold", threshold)
    if (by == "components" and threshold is None) or (
        by == "spectral" and clusters is None
    ):
        what = "threshold" if by == "components" else "clusters"
        msg = f"{call}: by={by!r} takes {what}=, and nothing else."
        raise InputError(msg)
    if clusters is not None and not (_whole(clusters) and 1 <= clusters <= n):
        msg = f"{call}: clusters is {clusters!r:.60}; pass a number from 1 to {n}."
        raise InputError(msg)


def _whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)
