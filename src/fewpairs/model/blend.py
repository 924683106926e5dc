"""Blend: how far a student answers, by region, and how far closed forms do.

These are prior and low rank, bent to what was read.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Blend"]

_EDGES = 0.5, 0.85  # quantiles of the student's predictions that part the regions
_USUAL, _WORTH = 0.7, 20  # a share before anything is known, and the pairs it counts as


@dataclass(frozen=True, eq=False)
class Blend:
    """base + share·(student − base), a share for every region of student's values.

    Attributes
    ----------
    edges
        Values of the student at which regions end.
    shares
        One more than edges, each from 0 to 1.
    """

    edges: NDArray[np.float64]
    shares: NDArray[np.float64]

    @classmethod
    def by(
        cls,
        student: NDArray[Any],
        base: NDArray[Any],
        truth: NDArray[Any],
        *,
        most: float = 1.0,
    ) -> "Blend":
        """Return the shares that pairs which neither has seen call for.

        Least squares in every region, drawn towards the usual share as if 20 more
        pairs spoke for it. ``most``: that the last one may be, as random pairs do not
        say who is right about the very top.
        """
        student, base = student.astype(np.float64), base.astype(np.float64)
        edges = np.quantile(student, _EDGES)
        region = np.searchsorted(edges, student)
        shares = np.full(len(edges) + 1, _USUAL)
        for number in range(len(shares)):
            where = region == number
            apart, wanted = (student - base)[where], (truth - base)[where]
            if len(apart) < 2 or float(apart @ apart) == 0:
                continue
            more = _WORTH * float(np.mean(apart**2))
            shares[number] = (apart @ wanted + more * _USUAL) / (apart @ apart + more)
        shares[-1] = min(shares[-1], most)
        return cls(edges, np.clip(shares, 0.0, 1.0))

    def __call__(self, student: NDArray[Any], base: NDArray[Any]) -> NDArray[Any]:
        """Return the blend of two arrays of predictions."""
        shares = self.shares.astype(base.dtype)[np.searchsorted(self.edges, student)]
        return np.asarray(base + shares * (student - base))
