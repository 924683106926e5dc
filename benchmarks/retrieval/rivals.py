"""What else could be done with the same evaluations: functions (reader, rng) → found.

Everything that a rival reads is counted, anchors' rows too. All but re-ranking are of
Yadav et al.; the figures in their papers leave out what the index cost.
"""

from collections.abc import Callable

import numpy as np

from benchmarks.retrieval.sets import Array, Reader

__all__ = ["RIVALS"]

ROUNDS = 5
DAMPINGS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
BATCH = 256  # items whose ridges are solved together


def reranked(reader: Reader, rng: np.random.Generator) -> Array:  # noqa: ARG001
    """Read the prior's best (Nogueira and Cho 2019)."""
    data = reader.data
    cosine = data.left @ data.right.T
    reader.take_best(cosine, reader.budget // len(cosine))
    return reader.best_read(cosine)


def anncur(reader: Reader, rng: np.random.Generator) -> Array:
    """Join rows and columns of fixed anchors by their crossing, re-rank the best.

    A third of the budget each for anchor items' columns, anchor queries' rows and what
    the factors rank highest (Yadav et al. 2022, EMNLP).
    """
    m, n = reader.data.K.shape
    third = reader.budget // 3
    rows = rng.permutation(m)[: max(1, third // n)]
    columns = rng.permutation(n)[: max(1, third // m)]
    R = _rows(reader, rows)
    C = _rows(reader, np.arange(m), columns)
    score = C @ np.linalg.pinv(R[:, columns], rcond=1e-3) @ R
    reader.take_best(score, reader.remaining // m)
    return reader.best_read(score)


def adacur(reader: Reader, rng: np.random.Generator) -> Array:
    """Take every item's own best so far as its anchors, in rounds.

    Rows of anchor queries are a third of the budget. The first round reads the prior's
    best, every other one what a fit of the item's scores to the anchor queries' rows
    ranks highest (Yadav et al. 2023).
    """
    data = reader.data
    m, n = data.K.shape
    rows = rng.permutation(m)[: max(1, reader.budget // 3 // n)]
    R = _rows(reader, rows)
    each = reader.remaining // m
    cosine = score = data.left @ data.right.T
    rounds = max(1, min(ROUNDS, each))
    for turn in range(rounds):
        reader.take_best(score, each // rounds + (turn < each % rounds))
        score = np.empty((m, n))
        for item in range(m):
            at = np.flatnonzero(reader.read[item])
            weights = np.linalg.pinv(R[:, at].T, rcond=1e-2) @ data.K[item, at]
            score[item] = weights @ R
    return reader.best_read(score if each else cosine)


def axn(reader: Reader, rng: np.random.Generator) -> Array:  # noqa: ARG001
    """Fit a vector to every item's scores, read its best, and so on in rounds.

    s(i, j) ≈ a·cos(i, j) + b + u_i·z_j, z the right items' embeddings; a and b are
    those of all that was read, and u_i is a ridge whose damping is chosen by leaving
    out one (Yadav et al. 2024). The first round reads the prior's best.
    """
    data = reader.data
    m = len(data.K)
    each = reader.budget // m
    cosine = score = data.left @ data.right.T
    rounds = max(1, min(ROUNDS, each))
    for turn in range(rounds):
        reader.take_best(score, each // rounds + (turn < each % rounds))
        score = _ridges(reader, cosine)
    return reader.best_read(score)


def _rows(reader: Reader, rows: Array, columns: Array | None = None) -> Array:
    columns = np.arange(reader.data.K.shape[1]) if columns is None else columns
    i, j = np.repeat(rows, len(columns)), np.tile(columns, len(rows))
    return reader.take(i, j).reshape(len(rows), len(columns))


def _ridges(reader: Reader, cosine: Array) -> Array:
    """Return what every item's own ridge says of all others."""
    data = reader.data
    z = data.right - data.right.mean(axis=0)
    z = z / np.sqrt(np.mean(np.sum(z**2, axis=1)))
    i, j = np.nonzero(reader.read)
    slope, level = np.polyfit(cosine[i, j], data.K[i, j], 1)
    score = slope * cosine + level
    sizes = reader.read.sum(axis=1)
    width = int(sizes.max())
    at = np.full((len(sizes), width), -1)
    at[i, np.arange(len(i)) - (np.cumsum(sizes) - sizes)[i]] = j
    real = at >= 0
    missing = np.where(real, np.take_along_axis(data.K - score, at, axis=1), 0)

    def system(part: slice, damping: float) -> tuple[Array, Array, Array]:
        near = np.where(real[part][..., None], z[at[part]], 0)
        both = real[part][:, :, None] & real[part][:, None, :]
        gram = near @ near.transpose(0, 2, 1) + both + damping * np.eye(width)
        inverse = np.linalg.inv(gram)
        return near, inverse, np.einsum("tab,tb->ta", inverse, missing[part])

    def left_out(damping: float) -> float:
        _, inverse, weights = system(slice(0, 600), damping)
        errors = weights / np.einsum("taa->ta", inverse)
        return float(np.mean(errors[real[:600]] ** 2))

    damping = min(DAMPINGS, key=left_out)
    for start in range(0, len(sizes), BATCH):
        part = slice(start, start + BATCH)
        near, _, weights = system(part, damping)
        vectors = np.einsum("ta,tad->td", weights, near)
        score[part] += vectors @ z.T + weights.sum(axis=1)[:, None]
    return np.asarray(score)


RIVALS: dict[str, Callable[[Reader, np.random.Generator], Array]] = {
    "reranked": reranked,
    "anncur": anncur,
    "adacur": adacur,
    "axn": axn,
}
