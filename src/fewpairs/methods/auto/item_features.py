"""Features of the items that cost no evaluation: principal components of the prior."""

import numpy as np
from numpy.typing import NDArray

from fewpairs.model.model import Model
from fewpairs.similarity.priors import Prior

__all__ = ["beside", "item_features", "student_features"]

_DIRECTIONS = 96  # of the embeddings that a student starts from
_PROBED = 128  # items whose priors with all others stand in for embeddings


def item_features(
    prior: Prior | None, directions: int, rng: np.random.Generator
) -> NDArray[np.float32] | None:
    """Return (n, d) features of the items that cost no evaluation, rows of norm ~1.

    Principal components of the prior's embeddings; of a prior without embeddings those
    of its values at a few items.
    """
    if prior is None:
        return None
    found = prior.directions
    if found is None:
        some = rng.permutation(prior.n)[:_PROBED]
        values = prior.block(np.arange(prior.n), some).astype(np.float32)
        values -= values.mean(axis=0)
        squares, vectors = np.linalg.eigh((values.T @ values).astype(np.float64))
        found = values @ vectors[:, np.argsort(-squares)].astype(np.float32)
    found = np.asarray(found[:, :directions], dtype=np.float32)
    size = float(np.sqrt(np.mean(np.sum(found.astype(np.float64) ** 2, axis=1))))
    return None if size == 0 or not np.isfinite(size) else found / np.float32(size)


def beside(
    features: NDArray[np.float32] | None, profiles: NDArray[np.float32] | None
) -> NDArray[np.float32] | None:
    """Return features of the items and what landmarks tell of them, on one scale."""
    if features is None or profiles is None:
        return features
    return np.hstack([features, profiles / np.float32(np.sqrt(profiles.shape[1]))])


def student_features(
    model: Model, prior: Prior | None, rng: np.random.Generator
) -> NDArray[np.float32]:
    """Return features of unit variance: the prior's directions and the items' effects.

    The last columns of the low rank stand for the effects.
    """
    effects = np.zeros((model.n, 1))
    if model.left.shape[1] >= 2:  # not a line through the prior alone
        effects = model.left[:, -2:-1] - model.left[:, -1:]
    sets = [effects - effects.mean()]
    directions = item_features(prior, _DIRECTIONS, rng)
    if directions is not None:
        sets.insert(0, directions)
    spread = [float(part.std()) or 1.0 for part in sets]
    together = [part / s for part, s in zip(sets, spread, strict=True)]
    return np.hstack(together).astype(np.float32)
