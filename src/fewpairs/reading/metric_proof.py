"""MetricProof: what the triangle inequality says of pairs, through a few landmarks."""

import numpy as np
from numpy.typing import NDArray

from fewpairs.errors import SimilarityError
from fewpairs.reading.oracle import Oracle
from fewpairs.similarity.base import Similarity
from fewpairs.types import Indices

__all__ = ["MetricProof", "metric_proof"]

_TRIPLES = 32
_LANDMARKS, _SHARE = 16, 40  # at most, and one item in so many
_ROUNDING = 1e-9  # share of the largest distance


class MetricProof:
    """Excludes pairs by |d(i, l) − d(j, l)| ≤ d(i, j) for all landmarks l.

    Parameters
    ----------
    distances
        (landmarks, n) distances.
    top
        The similarity at distance 0.
    """

    def __init__(self, distances: NDArray[np.float64], top: float) -> None:
        self._distances, self._top = distances, top
        self._slack = _ROUNDING * float(np.abs(distances).max(initial=1.0))

    def may_reach(
        self, rows: Indices, columns: Indices, least: float
    ) -> NDArray[np.bool_]:
        """Tell which pairs of a block may be as similar as ``least``."""
        farthest = self._top - least + self._slack
        found = np.ones((len(rows), len(columns)), dtype=bool)
        for line in self._distances:
            gaps = np.abs(line[rows][:, None] - line[columns][None, :])
            found &= gaps <= farthest
        return found


def metric_proof(
    oracle: Oracle, similarity: Similarity, rng: np.random.Generator
) -> MetricProof | None:
    """Check a declared metric on sampled triples, and read a few landmarks.

    Evaluations: up to three for each of 32 triples, and a column for one item in 40, at
    most 16; a pass does not read them again. ``None`` where there are too few items.

    Raises
    ------
    SimilarityError
        Where three items contradict the triangle inequality.
    """
    n = oracle.n
    count = min(_LANDMARKS, n // _SHARE)
    top = similarity.diagonal
    if count < 1 or top is None:
        return None
    triples = np.array([rng.choice(n, 3, replace=False) for _ in range(_TRIPLES)])
    sides = [
        top - oracle.pairs(triples[:, a], triples[:, b])
        for a, b in ((0, 1), (1, 2), (0, 2))
    ]
    _check(similarity, triples, np.array(sides).T)
    landmarks = np.sort(rng.choice(n, count, replace=False))
    distances = top - np.asarray(oracle.columns(landmarks), dtype=np.float64).T
    return MetricProof(distances, top)


def _check(
    similarity: Similarity, triples: Indices, sides: NDArray[np.float64]
) -> None:
    """Refuse distances of which one is longer than the other two together."""
    longest = sides.max(axis=1)
    over = longest - (sides.sum(axis=1) - longest)
    bad = np.flatnonzero(
        (over > _ROUNDING * np.abs(sides).max(initial=1.0)) | (sides.min(axis=1) < 0)
    )
    if not len(bad):
        return
    a, b, c = (int(t) for t in triples[bad[0]])
    ab, bc, ac = sides[bad[0]]
    msg = (
        f"{similarity.name} is declared a metric; items {a}, {b} and {c} contradict "
        f"that: their distances are d({a}, {b}) = {ab:.6g}, d({b}, {c}) = {bc:.6g} and "
        f"d({a}, {c}) = {ac:.6g}. Leave metric=True out."
    )
    raise SimilarityError(msg)
