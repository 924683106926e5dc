"""Thresholds: what each would give, so that one can be chosen."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.answers.across import refuse_two_sets
from fewpairs.answers.frames import as_arrow, as_pandas, as_polars
from fewpairs.cards import table_card
from fewpairs.checks import check_array
from fewpairs.errors import InputError
from fewpairs.plotting import axes_of
from fewpairs.result.approximation import Approximation
from fewpairs.types import Indices

__all__ = ["Thresholds", "thresholds"]

_NUMBER = 9
_ROWS = 500  # whose pairs are counted


@dataclass(frozen=True, eq=False)
class Thresholds:
    """What clusters and pairs there would be at some thresholds.

    Attributes
    ----------
    threshold
        Ascending.
    clusters, grouped
        Clusters of average linkage, singletons included, and items that share one.
    pairs
        Pairs at least so similar, estimated from the answers of 500 random rows.
    stability
        How little the clusters change to the thresholds next to it: the mean adjusted
        Rand index, 1 where nothing does. A threshold inside a stretch of high values
        is a safe one.

    References
    ----------
    Hubert and Arabie, Comparing partitions, Journal of Classification, 1985.
    """

    threshold: NDArray[np.float64]
    clusters: Indices
    grouped: Indices
    pairs: Indices
    stability: NDArray[np.float64]

    def to_pandas(self) -> Any:
        """Return a pandas DataFrame, a row a threshold."""
        return as_pandas(vars(self), "Thresholds")

    def to_polars(self) -> Any:
        """Return a polars DataFrame, a row a threshold."""
        return as_polars(vars(self), "Thresholds")

    def to_arrow(self) -> Any:
        """Return a pyarrow Table, a row a threshold."""
        return as_arrow(vars(self), "Thresholds")

    def plot(self, ax: Any = None) -> Any:
        """Draw clusters and stability against the threshold; needs Matplotlib."""
        ax = axes_of(ax, "Thresholds.plot")
        ax.plot(self.threshold, self.clusters, marker="o", label="clusters")
        ax.set_xlabel("threshold")
        ax.set_ylabel("clusters")
        beside = ax.twinx()
        beside.plot(self.threshold, self.stability, color="C1", marker="s")
        beside.set_ylabel("stability", color="C1")
        return ax

    def __str__(self) -> str:
        head = "  threshold  clusters  grouped items       pairs  stability"
        rows = zip(*vars(self).values(), strict=True)
        return "\n".join(
            ["what thresholds give", head]
            + [f"  {t:9.3g} {c:9,} {g:14,} {p:11,} {s:10.2f}" for t, c, g, p, s in rows]
        )

    def _repr_html_(self) -> str:
        columns = (np.asarray(values).tolist() for values in vars(self).values())
        rows = zip(*columns, strict=True)
        return table_card("what thresholds give", list(vars(self)), rows)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Let polars, Arrow and others make a table of it."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)


def thresholds(approx: Approximation, values: Sequence[float] | None) -> Thresholds:
    """Return what thresholds give; see ``Approximation.thresholds``."""
    from scipy.cluster.hierarchy import fcluster

    call = "Approximation.thresholds"
    refuse_two_sets(approx, call)
    chosen = _chosen(approx, values, call)
    # Beyond every similarity that clusters can be joined at.
    highest = float(approx.neighbors(1).similarities.max())
    top = 2.0 * max(1.0, abs(highest))
    tree = approx.linkage(top=top)
    # A merge at the threshold itself counts, whatever rounding has done to it.
    heights = top - chosen + 1e-9
    labels = [fcluster(tree, t=height, criterion="distance") for height in heights]
    sizes = [np.bincount(one)[1:] for one in labels]
    return Thresholds(
        threshold=chosen,
        clusters=np.array([len(size) for size in sizes]),
        grouped=np.array([int(size[size > 1].sum()) for size in sizes]),
        pairs=_pairs(approx, chosen),
        stability=_stability(labels),
    )


def _chosen(
    approx: Approximation, values: Sequence[float] | None, call: str
) -> NDArray[np.float64]:
    if values is None:
        best = approx.neighbors(1).similarities
        found = np.linspace(np.median(best), best.max(), _NUMBER)
        return np.unique(np.round(found, 3)).astype(np.float64)
    given = check_array(call, "values", values, "thresholds")
    if given.ndim != 1 or not given.size or given.dtype.kind not in "biuf":
        msg = f"{call}: values has shape {given.shape}; pass a list of thresholds."
        raise InputError(msg)
    return np.unique(given.astype(np.float64))


def _pairs(approx: Approximation, chosen: NDArray[np.float64]) -> Indices:
    """Count pairs above thresholds in some rows, and scale up."""
    n = len(approx)
    rows = np.sort(np.random.default_rng(0).permutation(n)[:_ROWS])
    values = approx.block(rows, slice(None))
    values[np.arange(len(rows)), rows] = -np.inf
    counts = np.array([int((values >= least).sum()) for least in chosen])
    return np.asarray(np.rint(counts * (n / len(rows)) / 2), dtype=np.int64)


def _stability(labels: list[Any]) -> NDArray[np.float64]:
    from sklearn.metrics import adjusted_rand_score

    if len(labels) == 1:
        return np.ones(1)
    pairs = pairwise(labels)
    steps = np.array([adjusted_rand_score(a, b) for a, b in pairs])
    return np.asarray([steps[max(0, t - 1) : t + 1].mean() for t in range(len(labels))])
