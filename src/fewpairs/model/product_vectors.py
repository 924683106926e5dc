"""Product vectors: their inner products rank pairs nearly as a model does.

What finds largest products among many items, an index or a GPU, finds a model's most
similar pairs that way. Prior and low rank lie side by side, each scaled by how much it
counts where pairs are most similar: the curve's slope there may be many times that
among most pairs.

Both come from the same embeddings, so side by side they are of lower rank than they are
wide: V diag(s) Vᵀ = Q Λ Qᵀ, by the eigenvalues of a matrix as small as V is wide, and
only eigenvectors that count are kept. A search takes as much less time.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.kernels.linalg.blas_threads import in_threads
from fewpairs.model.model import Model

__all__ = ["beside", "narrowing", "product_vectors"]

_STEEP = 2.0  # standard deviations of the prior at which its curve's slope is taken
_ROWS = 4_096  # items looked at at once
_NOTHING, _LITTLE = 1e-6, 1e-3  # of the largest eigenvalues, of VᵀV and of Λ

Array = NDArray[np.float32]


def product_vectors(model: Model) -> tuple[Array, Array]:
    """Return (n, d) vectors V and signs s: V diag(s) Vᵀ ranks as the model does.

    A correction says how much low rank and prior count (`Correction.slopes`), and every
    direction of the prior (`Correction.form`).
    """
    sides, signs = beside(model)

    def side_by_side(start: int) -> NDArray[np.float64]:
        rows = slice(start, start + _ROWS)
        parts = [side[rows] for side in sides]
        return np.hstack(parts, dtype=np.float64, casting="same_kind")

    return _narrowed(side_by_side, model.n, signs)


def beside(model: Model) -> tuple[list[NDArray[Any]], NDArray[np.float64]]:
    """Return what lies side by side, and s for every column.

    Low rank, prior, and the directions of a correction's form.
    """
    of_low_rank, of_prior = _slopes(model)
    sides, prior = [model.left], model.prior
    signs = [of_low_rank * np.asarray(model.low_rank.signature)]
    if prior is not None and prior.vectors is not None and of_prior > 0:
        sides.append(prior.vectors)
        signs.append(np.full(prior.vectors.shape[1], of_prior))
    form = None if model.correction is None else model.correction.form
    if form is not None and len(form.weights):
        sides.append(form.features[:, : len(form.weights)])
        signs.append(form.weights.astype(np.float64))
    return sides, np.concatenate(signs)


def _narrowed(
    part: Callable[[int], NDArray[np.float64]], n: int, s: NDArray[np.float64]
) -> tuple[Array, Array]:
    """Return fewer columns with nearly the same products.

    ``part`` gives some rows of V, from one on.
    """
    starts = range(0, n, _ROWS)
    grams: dict[int, NDArray[np.float64]] = {}

    def count(start: int) -> None:
        rows = part(start)
        grams[start] = rows.T @ rows

    in_threads(count, starts)
    # In their order: sums are the same on any number of cores.
    W, signs = narrowing(np.sum([grams[start] for start in starts], axis=0), s)
    out = np.empty((n, len(signs)), dtype=np.float32)

    def narrow(start: int) -> None:
        out[start : start + _ROWS] = part(start) @ W

    in_threads(narrow, starts)
    return out, signs


def narrowing(
    gram: NDArray[np.float64], s: NDArray[np.float64]
) -> tuple[NDArray[np.float64], Array]:
    """Return W and signs: V W has fewer columns, and nearly the products of V diag(s).

    With VᵀV = E D Eᵀ and R = √D Eᵀ, V = (V E/√D) R = Q R with QᵀQ = 1, so the
    eigenvalues are those of R diag(s) Rᵀ.
    """
    D, E = np.linalg.eigh(gram)
    there = _NOTHING * D.max(initial=0.0) < D
    root = np.sqrt(D[there])
    R = root[:, None] * E[:, there].T
    values, U = np.linalg.eigh((R * s) @ R.T)
    size = np.abs(values)
    kept = size > _LITTLE * size.max(initial=0.0)
    if not kept.any():  # all products are 0
        return np.zeros((len(gram), 1)), np.ones(1, dtype=np.float32)
    W = (E[:, there] / root) @ (U[:, kept] * np.sqrt(size[kept]))
    return W, np.sign(values[kept]).astype(np.float32)


def _slopes(model: Model) -> tuple[float, float]:
    """Return how much low rank and prior count among the most similar."""
    found = None if model.correction is None else model.correction.slopes
    if found is not None and max(found) > 0:
        return found
    curve = model.curve
    if curve is None:
        return 1.0, 0.0
    low, high = curve(np.array([0.0, _STEEP]) * curve.scale + curve.center)
    return 1.0, max(float(high - low) / (_STEEP * curve.scale), 0.0)
