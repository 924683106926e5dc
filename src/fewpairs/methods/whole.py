"""Whole: all of two sets' matrix is read, and factored without loss."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fewpairs.kernels.linalg.spectral import pseudo_inverse_factors
from fewpairs.matrix.cost import Cost
from fewpairs.methods.base import Method
from fewpairs.methods.cur import join, read_lines
from fewpairs.model.model import Model
from fewpairs.reading.oracle import Oracle

__all__ = ["Whole"]


@dataclass(frozen=True)
class Whole(Method):
    """Read all m·n pairs of two sets: K = C · W⁺ · R with all lines of the smaller one.

    Evaluations: m·n.
    """

    needs_symmetric: ClassVar[bool] = False
    takes_two_sets: ClassVar[bool] = True

    def price(self, cost: Cost) -> int:
        """Price of everything."""
        return cost.everything()

    def fit(self, oracle: Oracle, rng: np.random.Generator) -> Model:
        """Read all rows or all columns, whichever are fewer, and as many across."""
        m, n = oracle.cost.shape
        k = min(m, n)
        rows = rng.permutation(m)[:k]
        columns = m + rng.permutation(n)[:k]
        C, R = read_lines(oracle, columns, rows)
        return join(
            C,
            pseudo_inverse_factors(C[rows], 1e-10),
            R,
            columns=columns,
            rows=rows,
            split=m,
            words="all pairs were read",
        )
