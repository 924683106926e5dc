"""Proposals: candidates of every item without a look at all pairs.

Below 20,000 items every item is compared with every other in blocks. Above, largest
inner products come from an index or a GPU (`fewpairs.kernels.linalg.top_products`): of
the model's own vectors, and of the prior's. Neighbors of neighbors join them
(`fewpairs.methods.auto.expansion`).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.errors import StoreError
from fewpairs.kernels.linalg.blas_threads import in_threads
from fewpairs.kernels.linalg.top_products import (
    EXACT,
    gpu,
    searched_by,
    top_inner_products,
)
from fewpairs.matrix.entries import Entries
from fewpairs.methods.auto import candidates
from fewpairs.methods.auto.candidates import Candidates
from fewpairs.methods.auto.expansion import fill
from fewpairs.model.model import Model
from fewpairs.model.product_vectors import product_vectors
from fewpairs.reading.oracle import Oracle
from fewpairs.similarity.priors import Prior

__all__ = ["placed", "propose", "searching"]

_ROWS = 1 << 14  # items whose candidates are looked up at once
_PLACED_BY = 256  # items at which a prior without embeddings is asked
_SMALLEST = 1e-3  # eigenvalues, as a share of the largest, that stand for noise


def searching(oracle: Oracle) -> str | None:
    """Return what finds largest products for this run: a GPU, an index, or blocks.

    They find nearly the same, not the same: a run that goes on elsewhere has what it
    began with, or says why it cannot. ``None`` where all pairs are looked at.
    """
    m, n = oracle.cost.shape
    if m * n <= EXACT**2:
        return None
    by = str(oracle.decide("search", lambda: searched_by(m, n, gpu())))
    if by == "cuda" and gpu() is None:
        msg = (
            "this run was begun with candidates found on a GPU, as its store says, and "
            "torch sees none here: an index finds others. Go on where there is one; or "
            "begin another run here, with another seed=, which pays for what is new "
            "alone."
        )
        raise StoreError(msg)
    return by


def propose(
    model: Model,
    known: Entries,
    most: int,
    *,
    by: str | None = None,
    before: Candidates | None = None,
    seed: int = 0,
) -> Candidates:
    """Return every item's candidates by prior and low rank, and by the prior alone.

    ``by`` says what finds them above 20,000 items; see `searching`. A prior without
    embeddings is searched there by vectors whose products are near it (`placed`).
    ``before``: candidates of another model, whose lists by the prior are taken over.

    Price: n² products below 20,000 items, above that what an index takes; memory
    O(n · most).
    """
    items, others = known.seekers
    first = int(others[0])
    if len(items) * len(others) <= EXACT**2:
        return candidates.find(model, known, most)
    most = max(1, min(most, len(others) - 1))

    def top(held: NDArray[np.float32], asked: NDArray[Any], k: int) -> NDArray[Any]:
        queries = asked[: len(items)]
        found = top_inner_products(held[first:], k, queries=queries, by=by, seed=seed)
        positions = found[0].astype(np.int32)
        return np.where(positions < 0, positions, positions + first)

    vectors, signs = product_vectors(model)
    found = top(vectors, vectors * signs, most + 1)
    del vectors
    nearest: NDArray[np.int32] | None = None
    if before is not None and before.nearest is not None:
        nearest = before.nearest
    elif model.prior is not None:
        extra = max(1, most // 2)
        held = model.prior.vectors
        if held is None:
            held = placed(model.prior, np.random.default_rng(seed))
        nearest = top(held, held, extra + 1)
    lists = [found] if nearest is None else [found, nearest]
    out = _scored(model, known, np.hstack(lists))
    out.by, out.nearest, out.depth = by, nearest, most
    return out


def placed(prior: Prior, rng: np.random.Generator) -> NDArray[np.float32]:
    """Return vectors of the items whose products are near a prior's values.

    Nyström: with C the values at 256 items and W their own block, C·V₊·λ₊^(−½) for the
    positive eigenvalues λ₊ of W. Price: 256·n values of the prior.
    """
    n = prior.n
    some = np.sort(rng.permutation(n)[:_PLACED_BY])
    values, V = np.linalg.eigh(prior.block(some, some).astype(np.float64))
    large = values > _SMALLEST * np.abs(values).max()
    root = (V[:, large] / np.sqrt(values[large])).astype(np.float32)
    out = np.empty((n, root.shape[1]), dtype=np.float32)
    for start in range(0, n, _ROWS):
        rows = np.arange(start, min(start + _ROWS, n))
        out[rows] = prior.block(rows, some) @ root
    return out


def _scored(model: Model, known: Entries, partner: NDArray[np.int32]) -> Candidates:
    """Return candidates with what is predicted of them; −∞ for what is no candidate."""
    n, m = partner.shape
    cheap = None if model.prior is None else np.zeros((n, m), dtype=np.float32)
    out = Candidates(
        partner,
        np.full((n, m), -np.inf, dtype=np.float32),
        np.zeros((n, m), dtype=np.float32),
        cheap,
    )
    for start in range(0, n, _ROWS):
        at = np.arange(start * m, min(start + _ROWS, n) * m)
        at = at[_live(partner, start).ravel()]
        item, other = at // m, partner.ravel()[at].astype(np.int64)
        unread = known.unread(item, other)
        fill(out, item[unread], other[unread], at[unread], model)
    return out


def _live(partner: NDArray[np.int32], start: int) -> NDArray[np.bool_]:
    """Tell which candidates of some rows count: others, each once."""
    some = partner[start : start + _ROWS]
    own = np.arange(start, start + len(some))[:, None]
    good = np.empty(some.shape, dtype=bool)

    def look(first: int) -> None:
        part = slice(first, first + 1_024)
        order = np.argsort(some[part], axis=1, kind="stable")
        sorted_ = np.take_along_axis(some[part], order, axis=1)
        once = np.ones(sorted_.shape, dtype=bool)
        once[:, 1:] = sorted_[:, 1:] != sorted_[:, :-1]
        np.put_along_axis(good[part], order, once, axis=1)

    in_threads(look, range(0, len(some), 1_024))
    good &= (some != own) & (some >= 0)
    return good
