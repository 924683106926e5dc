"""Crossing: rows and columns of two sets, joined by a damped core.

K ≈ C · V diag(σ/(σ² + μ²)) Uᵀ · R with C = K[:, S₁], R = K[S₂, :] and K[S₂, S₁] =
U diag(σ) Vᵀ, of K as it is or less a mean and the effects of rows and columns. Pairs
that were drawn at random say which, and how large μ is.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.methods.auto.spending import Spending
from fewpairs.methods.cur import read_lines
from fewpairs.model.low_rank import LowRank
from fewpairs.model.row_maps import RowMap
from fewpairs.similarity.priors import Prior
from fewpairs.similarity.unit_vectors import UnitDots
from fewpairs.types import Indices

__all__ = ["Crossing", "buy_lines", "known_lines"]

_DAMPINGS = 0.0, 1e-3, 1e-2, 0.03, 0.1, 0.3, 1.0  # μ, as shares of the largest σ
_SMALLEST = 1e-10  # σ, as a share of the largest, that counts
_ENTRIES = 3  # of lines per item that a regression is told

Drawn = tuple[Indices, Indices, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class _Core:
    """C and R, less an offset, and their crossing's singular vectors.

    ``level``, ``rows`` and ``columns`` are the mean and the effects taken off.
    """

    C: NDArray[np.float64]
    R: NDArray[np.float64]
    U: NDArray[np.float64]
    s: NDArray[np.float64]
    V: NDArray[np.float64]
    level: float
    rows: NDArray[np.float64]
    columns: NDArray[np.float64]

    @classmethod
    def of(
        cls, C: NDArray[Any], R: NDArray[Any], S2: Indices, *, centered: bool
    ) -> "_Core":
        C, R = C.astype(np.float64), R.astype(np.float64)
        level = 0.0
        rows, columns = np.zeros(len(C)), np.zeros(R.shape[1])
        own = np.zeros(C.shape[1])
        if centered:
            level = float(C.mean() + R.mean()) / 2
            rows, columns = C.mean(axis=1) - level, R.mean(axis=0) - level
            own = C.mean(axis=0) - level  # the columns' own effects
            R = R - level - rows[S2][:, None] - columns
            C = C - level - rows[:, None] - own
        U, s, Vt = np.linalg.svd(C[S2], full_matrices=False)
        keep = s > _SMALLEST * s.max(initial=0.0)
        return cls(C, R, U[:, keep], s[keep], Vt[keep].T, level, rows, columns)

    def factors(self, damping: float) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the factors of both sides, effects beside them."""
        mu = damping * float(self.s.max(initial=0.0))
        root = np.sqrt(self.s / (self.s**2 + mu**2)) if len(self.s) else self.s
        left, right = self.C @ (self.V * root), self.R.T @ (self.U * root)
        ones = np.ones((len(left), 1)), np.ones((len(right), 1))
        if self.level or self.rows.any() or self.columns.any():
            left = np.hstack([left, ones[0], self.rows[:, None] + self.level])
            right = np.hstack([right, self.columns[:, None], ones[1]])
        return left, right


@dataclass(frozen=True, eq=False)
class Crossing:
    """What lines of both sides say of all pairs.

    Attributes
    ----------
    left, right
        Factors of left and of right items.
    error
        Share of the variance of random pairs that is left unexplained.
    """

    left: NDArray[np.float64]
    right: NDArray[np.float64]
    error: float
    words: str
    rows: Indices
    columns: Indices

    @classmethod
    def fit(
        cls, spending: Spending, S1: Indices, S2: Indices, drawn: Drawn
    ) -> "Crossing":
        """Choose centering and damping by random pairs; ``S1`` are right items."""
        m = spending.oracle.cost.shape[0]
        C, R = read_lines(spending.oracle, S1, S2)
        i, j, values = drawn
        spread = float(np.sum((values - values.mean()) ** 2)) or 1.0
        best: Crossing | None = None
        for centered in (False, True):
            core = _Core.of(C, R, S2, centered=centered)
            for damping in _DAMPINGS:
                left, right = core.factors(damping)
                guess = np.einsum("tr,tr->t", left[i], right[j - m])
                error = float(np.sum((values - guess) ** 2)) / spread
                if best is None or error < best.error:
                    kind = "row and column effects, " * centered
                    words = (
                        f"{len(S2):,} rows and {len(S1):,} columns, {kind}"
                        f"damping {damping:g}"
                    )
                    best = cls(left, right, error, words, S2, S1)
        if best is None:
            msg = "Crossing: no damping"
            raise AssertionError(msg)
        return best

    @property
    def landmarks(self) -> Indices:
        """Positions of the items whose lines were read."""
        return np.concatenate([self.rows, self.columns])

    def low_rank(self) -> LowRank:
        """Return the factors of both sides on one axis."""
        both = np.vstack([self.left, self.right])
        # New left items: what explains their entries at the columns best.
        own = self.right[self.columns - len(self.left)]
        maps = RowMap(self.columns, np.linalg.pinv(own, rcond=1e-8).T)
        return LowRank(both, np.ones(both.shape[1]), left_map=maps)

    def prior(self) -> Prior:
        """Return the products of the factors as a prior, for want of a given one."""
        both = np.vstack([self.left, self.right])
        size = float(np.sqrt(np.mean(np.sum(both**2, axis=1)))) or 1.0
        vectors = (both / size).astype(np.float32)
        name = "rows and columns that were read"
        return Prior(UnitDots(vectors), name, symmetric=True, embeddings=vectors)

    def some(self, spending: Spending, rng: np.random.Generator) -> Drawn:
        """Return some entries of the lines, each of them a pair of random items."""
        m, n = spending.oracle.cost.shape
        rows = np.repeat(self.rows, n), np.tile(m + np.arange(n), len(self.rows))
        columns = np.tile(np.arange(m), len(self.columns)), np.repeat(self.columns, m)
        i = np.concatenate([rows[0], columns[0]])
        j = np.concatenate([rows[1], columns[1]])
        chosen = rng.permutation(len(i))[: _ENTRIES * (m + n)]
        i, j = i[chosen], j[chosen]
        return i, j, spending.oracle.pairs(i, j)


def buy_lines(
    spending: Spending, evaluations: int, rng: np.random.Generator
) -> tuple[Indices, Indices]:
    """Buy as many columns as rows, for so many evaluations; return which.

    Those of an earlier run come first: they are paid for.
    """
    cost = spending.oracle.cost
    m, n = cost.shape
    columns, rows = known_lines(spending)
    have = cost.cross(len(columns), len(rows))
    allowed = have + min(evaluations, spending.left)
    size = 0
    while size < min(m, n) and _price(cost, columns, rows, size + 1) <= allowed:
        size += 1
    rows = _more(rows, rng.permutation(m), size)
    columns = _more(columns, m + rng.permutation(n), size)
    spending.left -= cost.cross(len(columns), len(rows)) - have
    return columns, rows


def known_lines(spending: Spending) -> tuple[Indices, Indices]:
    """Return the columns and rows that are known as a whole."""
    known, m = spending.oracle.read.line_indices(), spending.oracle.cost.shape[0]
    return known[known >= m], known[known < m]


def _price(cost: Any, columns: Indices, rows: Indices, size: int) -> int:
    return int(cost.cross(max(len(columns), size), max(len(rows), size)))


def _more(have: Indices, order: Indices, size: int) -> Indices:
    fresh = order[~np.isin(order, have)]
    return np.concatenate([have, fresh[: max(0, size - len(have))]])
