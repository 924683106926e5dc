"""The factored part of an approximation with its exact entries: what linkage is of."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fewpairs.answers.candidates import Proposer, View
from fewpairs.errors import InputError
from fewpairs.kernels.linalg.average_linkage import Corrected, Rows
from fewpairs.matrix.entries import Entries
from fewpairs.model.model import Model
from fewpairs.types import Indices

__all__ = ["FactoredPart"]


@dataclass(frozen=True)
class FactoredPart:
    """Rows F and signs with K ≈ F · signs · Fᵀ, exact where entries were read.

    For a method of the paper that is its whole answer: left @ right.T, averaged with
    its transpose where it is not symmetric. Of the default it is the low rank with the
    row effects, the linear part of a prior's curve, and the guard's scale; a student,
    the bend of the curve and all clipping have no factors and are not in it.

    Attributes
    ----------
    model, known
        Those of an approximation.
    rows, signs
        (n, r) factors in float64; ``signs`` is ``None`` where the two halves of a row
        are the two sides: K ≈ ½(A·Bᵀ + B·Aᵀ) for F = [A, B].
    declared
        The range that similarities are declared to have; (∞, −∞) if none is.
    """

    model: Model
    known: Entries
    rows: Rows
    signs: Rows | None
    declared: tuple[float, float] = (np.inf, -np.inf)

    @classmethod
    def of(
        cls,
        model: Model,
        known: Entries,
        call: str,
        declared: tuple[float, float] = (np.inf, -np.inf),
    ) -> "FactoredPart":
        """Return the factored part, or say that there is none."""
        if not model.is_low_rank:
            return cls(model, known, *_factored_rows(model, call), declared)
        if model.signature is not None:
            signs = np.asarray(model.signature, dtype=np.float64)
            left = model.left.astype(np.float64)
            return cls(model, known, left, signs, declared)
        both = np.hstack([model.left, model.right]).astype(np.float64)
        return cls(model, known, both, None, declared)

    def possible(self) -> tuple[float, float]:
        """Return the declared range of the similarities."""
        return self.declared

    @property
    def n(self) -> int:
        """Number of items."""
        return self.known.n

    def block(self, rows: Indices, columns: Indices) -> NDArray[Any]:
        """Return the symmetric similarities of rows to columns."""
        out = self._bare(rows, columns)
        self.known.overlay(out, rows, columns)
        if self.known.symmetric and self.signs is not None:
            return out
        back = self._bare(columns, rows)
        self.known.overlay(back, columns, rows)
        return np.asarray((out + back.T) * out.dtype.type(0.5))

    def pairs(self, i: Indices, j: Indices) -> Rows:
        """Return the symmetric similarities of pairs."""
        there = self._directed(i, j)
        if self.known.symmetric and self.signs is not None:
            return there
        return np.asarray((there + self._directed(j, i)) / 2)

    def candidates(self) -> Proposer:
        """Return what proposes partners of items."""
        if self.signs is not None:
            return Proposer([View(self.rows, self.signs)])
        return Proposer([View(self.rows, other=_mirrored(self.rows, signs=None))])

    def corrected(self) -> Corrected:
        """Return the rows, and what the exact entries add to their products."""
        n = self.n
        everything = np.arange(n)
        columns, rows = (self.known.line_indices(a) for a in ("columns", "rows"))
        hubs = np.union1d(columns, rows)
        lines = self.block(hubs, everything) - self._products(hubs, everything)
        i, j, _ = self.known.uncovered()
        off = (i != j) & ~np.isin(i, hubs) & ~np.isin(j, hubs)
        keys = np.unique(np.minimum(i, j)[off] * n + np.maximum(i, j)[off])
        i, j = np.divmod(keys, n)
        added = self._pairs(i, j) - self._product_pairs(i, j)
        table = sparse.csr_array(
            (np.r_[added, added], (np.r_[i, j], np.r_[j, i])), shape=(n, n)
        )
        mirror = partial(_mirrored, signs=self.signs)
        return Corrected(self.rows, mirror, hubs, lines.astype(np.float64), table)

    def _pairs(self, i: Indices, j: Indices) -> Rows:
        """Return the symmetric similarities of known pairs; one order may be unread."""
        known, values = self.known.lookup(i, j)
        if self.known.symmetric:
            return values
        back_known, back = self.known.lookup(j, i)
        values[~known] = self.model.pairs(i[~known], j[~known])
        back[~back_known] = self.model.pairs(j[~back_known], i[~back_known])
        return np.asarray((values + back) / 2)

    def _directed(self, i: Indices, j: Indices) -> Rows:
        """Return the similarities of pairs in this order, one-sided where they are."""
        low_rank = self.model.is_low_rank
        out = self.model.pairs(i, j) if low_rank else self._product_pairs(i, j)
        known, values = self.known.lookup(i, j)
        return np.where(known, values, out)

    def _bare(self, rows: Indices, columns: Indices) -> NDArray[Any]:
        """Return the factored part alone, one-sided where the method's is."""
        if self.model.is_low_rank:
            return self.model.block(rows, columns)
        return self._products(rows, columns)

    def _products(self, rows: Indices, columns: Indices) -> Rows:
        mirrored = _mirrored(self.rows[rows], signs=self.signs)
        return np.asarray(mirrored @ self.rows[columns].T)

    def _product_pairs(self, i: Indices, j: Indices) -> Rows:
        out = np.empty(len(i))
        for start in range(0, len(i), 1 << 14):
            part = slice(start, start + (1 << 14))
            mirrored = _mirrored(self.rows[i[part]], signs=self.signs)
            np.einsum("tr,tr->t", mirrored, self.rows[j[part]], out=out[part])
        return out


def _mirrored(rows: Rows, *, signs: Rows | None) -> Rows:
    if signs is not None:
        return rows * signs
    return np.asarray(0.5 * np.roll(rows, rows.shape[-1] // 2, axis=-1))


def _factored_rows(model: Model, call: str) -> tuple[Rows, Rows]:
    """Return the rows of the default, a constant and the guard's scale among them."""
    rows = model.features.astype(np.float64)
    signs = np.asarray(model.signature, dtype=np.float64)
    constant, curve = 0.0, model.curve
    if curve is not None:
        if model.prior is None or model.prior.embeddings is None:
            msg = (
                f"{call}: the prior is a similarity without embeddings and has no "
                "model. Pass of='answers', or a prior of embeddings to "
                "fewpairs.approximate."
            )
            raise InputError(msg)
        constant = float(curve.coefficients[0]) - curve.slope * curve.center
    bare = model.student is None and model.correction is None
    if bare and model.guard is not None:  # else it is theirs
        scale = model.guard.slope
        rows = rows * np.sqrt(abs(scale))
        signs = signs * np.sign(scale)
        constant = model.guard.offset + scale * constant
    if constant != 0.0:
        column = np.full((len(rows), 1), np.sqrt(abs(constant)))
        rows, signs = np.hstack([rows, column]), np.append(signs, np.sign(constant))
    return rows, signs
