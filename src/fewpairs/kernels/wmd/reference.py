"""Transport by SciPy's linear programming: slow, and what is right by definition."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.kernels.wmd.bags import Corpus

__all__ = [
    "block_distances",
    "document_distance",
    "pair_distances",
    "prepare",
    "relaxed_distance",
    "transport",
]


def transport(supply: NDArray[Any], demand: NDArray[Any], cost: NDArray[Any]) -> float:
    """Return the least Σ cost·flow with row sums ``supply`` and column sums ``demand``.

    The twin of ``kernels.transport.solve``, and its stand-in where that gives up.
    """
    from scipy import sparse
    from scipy.optimize import linprog

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


def document_distance(corpus: Corpus, a: int, b: int) -> float:
    """Return the word mover's distance of two documents."""
    if a == b:
        return 0.0
    (start, word, mass), vectors = corpus.bags, corpus.vectors
    one, two = (slice(start[d], start[d + 1]) for d in (a, b))
    if one.start == one.stop or two.start == two.stop:
        return 0.0  # nothing to move; the kernel says the same
    steps = vectors[word[one]][:, None, :] - vectors[word[two]][None, :, :]
    return transport(mass[one], mass[two], np.sqrt(np.sum(steps**2, axis=2)))


def relaxed_distance(corpus: Corpus, a: int, b: int) -> float:
    """Return a lower bound: what is not shared goes to the nearest word, both ways."""
    (start, word, mass), vectors = corpus.bags, corpus.vectors
    one, two = (np.zeros(len(vectors)) for _ in range(2))
    for masses, d in ((one, a), (two, b)):
        part = slice(start[d], start[d + 1])
        masses[word[part]] = mass[part]
    x, y = (np.flatnonzero(d > 1e-15) for d in (one - two, two - one))
    if not (x.size and y.size):
        return 0.0
    steps = vectors[x][:, None, :] - vectors[y][None, :, :]
    cost = np.sqrt(np.sum(steps**2, axis=2))
    forth, back = (one - two)[x] @ cost.min(axis=1), (two - one)[y] @ cost.min(axis=0)
    return float(max(forth, back))


def prepare(tell: Callable[[str], None]) -> None:
    """Do nothing: there is nothing to compile."""


def block_distances(
    corpus: Corpus,
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    *,
    threads: int,  # noqa: ARG001 - the twin's signature; this one takes its time
    relaxed: bool,
) -> NDArray[np.float64]:
    """Return the distances, or lower bounds, of all rows to all columns."""
    distance = relaxed_distance if relaxed else document_distance
    found = [[distance(corpus, i, j) for j in columns] for i in rows]
    return np.array(found, dtype=np.float64).reshape(len(rows), len(columns))


def pair_distances(
    corpus: Corpus,
    i: NDArray[np.int64],
    j: NDArray[np.int64],
    *,
    threads: int,  # noqa: ARG001
    relaxed: bool = False,
) -> NDArray[np.float64]:
    """Return the distances, or lower bounds, of single pairs."""
    distance = relaxed_distance if relaxed else document_distance
    pairs = zip(i, j, strict=True)
    return np.array([distance(corpus, a, b) for a, b in pairs], dtype=float)
