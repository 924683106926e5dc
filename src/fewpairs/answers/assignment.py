"""Assignment: one partner for every row, so that all together are most similar."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewpairs.answers.evaluated import Pairs
from fewpairs.types import Indices

__all__ = ["Assignment", "assign"]


class Assignment(NamedTuple):
    """Which candidates were taken.

    Attributes
    ----------
    chosen
        One flag a candidate.
    ties
        Rows that were matched and have another candidate of the very same similarity:
        which of them is taken is then a matter of their order.
    """

    chosen: NDArray[np.bool_]
    ties: int


def assign(candidates: Pairs, *, most: bool) -> Assignment:
    """Choose candidates so that no row comes twice and their similarities sum to most.

    Solved to the optimum by shortest augmenting paths on the candidates alone (LAPJVsp,
    Jonker & Volgenant 1987, by SciPy). Every left row has a place of its own where it
    stays unmatched, so that a solution always exists.
    Similarities count from 0, or from the least candidate where that is negative.

    Parameters
    ----------
    candidates
        Evaluated pairs, each once.
    most
        Match as many rows as can be, and of all ways to do that take the most similar.
        If not, a row stays unmatched where the sum is larger so.

    Examples
    --------
    >>> import numpy as np
    >>> from fewpairs.answers.assignment import assign
    >>> from fewpairs.answers.evaluated import Pairs
    >>> left, right = np.array([0, 0, 1]), np.array([0, 1, 0])
    >>> assign(Pairs(left, right, np.array([0.9, 0.8, 0.85])), most=False).chosen
    array([False,  True,  True])
    """
    chosen = np.zeros(candidates.number, dtype=bool)
    if not candidates.number:
        return Assignment(chosen, 0)
    values = candidates.similarity
    gain = values - min(0.0, float(values.min()))
    spread = float(gain.max())
    if most:  # another pair is worth more than any exchange among the others
        gain = gain / (spread or 1.0) + min(candidates.number, _rows(candidates)) + 1.0
        spread = float(gain.max())
    chosen[_solve(candidates, gain / (spread or 1.0))] = True
    return Assignment(chosen, _ties(candidates, chosen))


def _rows(candidates: Pairs) -> int:
    return len(np.unique(candidates.left))


def _solve(candidates: Pairs, gain: NDArray[np.float64]) -> Indices:
    """Return which candidates an optimal matching takes; gains are within 0 and 1."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    rows, left = np.unique(candidates.left, return_inverse=True)
    columns, right = np.unique(candidates.right, return_inverse=True)
    number = len(rows)
    # A place of its own for every row that stays unmatched; SciPy takes weights of 0
    # for missing edges, so all are moved up by the same.
    weights = np.concatenate([1.0 - gain + 1.0, np.full(number, 2.0)])
    i = np.concatenate([left, np.arange(number)])
    j = np.concatenate([right, len(columns) + np.arange(number)])
    graph = csr_array((weights, (i, j)), shape=(number, len(columns) + number))
    taken_rows, taken_columns = min_weight_full_bipartite_matching(graph)
    partner = np.empty(number, dtype=np.int64)
    partner[taken_rows] = taken_columns
    return np.flatnonzero(partner[left] == right)


def _ties(candidates: Pairs, chosen: NDArray[np.bool_]) -> int:
    """Count matched left rows with another candidate as similar as the one taken."""
    taken = candidates.at(chosen)
    size = int(candidates.left.max()) + 1
    value = np.full(size, np.nan)
    value[taken.left] = taken.similarity
    same = candidates.similarity == value[candidates.left]
    return int((np.bincount(candidates.left[same], minlength=size) > 1).sum())
