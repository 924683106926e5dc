"""The best approximation of a given rank: the cap, at the full price."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fewpairs.checks import check_whole
from fewpairs.kernels.linalg.spectral import largest_eigen
from fewpairs.matrix.cost import Cost
from fewpairs.methods.base import Method
from fewpairs.model.low_rank import LowRank
from fewpairs.model.model import Model
from fewpairs.reading.oracle import Oracle

__all__ = ["Optimal"]


@dataclass(frozen=True)
class Optimal(Method):
    """Approximate K by its best rank-k part: the k eigenvalues largest in magnitude.

    It reads all of K (singular values instead, where K is not symmetric), so it
    saves nothing: it is the yardstick for what a rank can do. Answers come from the
    factors alone, although every entry has been read.

    Evaluations: n(n+1)/2 for symmetric K, n² otherwise; n fewer when the diagonal is
    known; m·n of two sets.

    Parameters
    ----------
    rank
        k; at most n.

    References
    ----------
    Eckart & Young (1936), "The approximation of one matrix by another of lower
    rank", Psychometrika.

    Examples
    --------
    >>> import numpy as np, fewpairs as fp
    >>> K = np.diag([5.0, -4.0, 1.0, 0.5])
    >>> fp.approximate(None, K, method=fp.Optimal(rank=2), budget=1.0).dense().round(6)
    array([[ 5.,  0.,  0.,  0.],
           [ 0., -4.,  0.,  0.],
           [ 0.,  0.,  0.,  0.],
           [ 0.,  0.,  0.,  0.]])
    """

    rank: int = 100

    needs_symmetric: ClassVar[bool] = False
    takes_two_sets: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_whole("fewpairs.Optimal", "rank", self.rank, least=1)

    def price(self, cost: Cost) -> int:
        """Price of everything."""
        return cost.everything()

    def fit(self, oracle: Oracle, rng: np.random.Generator) -> Model:  # noqa: ARG002
        """Read everything and keep the best rank."""
        everything = np.arange(oracle.n)
        rank = min(self.rank, *oracle.cost.shape)
        words = f"best rank {rank:,} (has read all of the matrix)"
        if oracle.cost.split is not None:
            both = _best_across(_read_across(oracle), rank)
            return Model(LowRank(both, np.ones(rank)), everything, words, exact=False)
        K = oracle.columns(everything)
        if oracle.symmetric:
            values, vectors = largest_eigen(K, rank)
            left = (vectors * np.sqrt(np.abs(values))).astype(K.dtype)
            signs = np.where(values < 0, -1.0, 1.0)
            return Model(LowRank(left, signs), everything, words, exact=False)
        U, s, Vt = np.linalg.svd(K.astype(np.float64))
        root = np.sqrt(s[:rank])
        left = (U[:, :rank] * root).astype(K.dtype)
        other = (Vt[:rank].T * root).astype(K.dtype)
        return Model(LowRank(left, other=other), everything, words, exact=False)


def _read_across(oracle: Oracle) -> NDArray[Any]:
    """Read all of two sets' matrix, by the lines of the smaller one."""
    m, n = oracle.cost.shape
    if m <= n:
        return oracle.rows(np.arange(m))[:, m:]
    return oracle.columns(m + np.arange(n))[:m]


def _best_across(K: NDArray[Any], rank: int) -> NDArray[Any]:
    """Return the factors of the best rank, those of left items first."""
    U, s, Vt = np.linalg.svd(K.astype(np.float64), full_matrices=False)
    root = np.sqrt(s[:rank])
    both = np.vstack([U[:, :rank] * root, Vt[:rank].T * root])
    return np.asarray(both, dtype=K.dtype)
