"""Transport by SciPy's linear programming: slow, and what is right by definition."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog

__all__ = ["document_distance", "transport"]


def transport(supply: NDArray[Any], demand: NDArray[Any], cost: NDArray[Any]) -> float:
    """Return the least Σ cost·flow with row sums ``supply`` and column sums ``demand``.

    The twin of ``kernels.transport.solve``, and its stand-in where that gives up.
    """
    n, m = cost.shape
    if n == 1 or m == 1:
        return float(np.sum(cost * supply[:, None] * demand[None, :]) / supply.sum())
    rows = sparse.kron(sparse.eye_array(n), np.ones((1, m)))
    columns = sparse.kron(np.ones((1, n)), sparse.eye_array(m))
    # One of the n + m equations follows from the others; leaving it out lets masses
    # whose sums differ by rounding still be feasible.
    equations: Any = sparse.vstack([rows, columns]).tocsr()[:-1]
    sums = np.concatenate([supply, demand * (supply.sum() / demand.sum())])[:-1]
    # Its tolerances are absolute: costs and masses are brought to a fitting size.
    size, mass = float(np.abs(cost).max()) or 1.0, float(supply.sum()) * 1e-6
    found = linprog(
        cost.ravel() / size,
        A_eq=equations,
        b_eq=sums / mass,
        method="highs",
        options={
            "primal_feasibility_tolerance": 1e-10,
            "dual_feasibility_tolerance": 1e-10,
        },
    )
    if found.status != 0:
        msg = f"linear programming failed: {found.message}"
        raise ArithmeticError(msg)
    return float(cost.ravel() @ found.x) * mass


def document_distance(
    vectors: NDArray[Any],
    a: tuple[NDArray[Any], NDArray[Any]],
    b: tuple[NDArray[Any], NDArray[Any]],
) -> float:
    """Return the word mover's distance of two bags (words, masses)."""
    steps = vectors[a[0]][:, None, :] - vectors[b[0]][None, :, :]
    return transport(a[1], b[1], np.sqrt(np.sum(steps**2, axis=2)))
