"""Proposals: candidates of every item without a look at all pairs.

Below 20,000 items every item is compared with every other in blocks. Above, largest
inner products come from an index (`fewpairs.kernels.linalg.top_products`): of the
model's own vectors, and of the prior's. Then neighbors of neighbors join, by what was
read and by what the scorer makes of them, as in NN-descent (Dong, Moses & Li 2011,
"Efficient k-nearest neighbor graph construction for generic similarity measures"): a
network that is no inner product finds its own most similar pairs that way.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.kernels.linalg.blas_threads import in_threads
from fewpairs.kernels.linalg.selection import largest
from fewpairs.kernels.linalg.top_products import EXACT, top_inner_products
from fewpairs.matrix.entries import Entries
from fewpairs.methods.auto import candidates
from fewpairs.methods.auto.candidates import Candidates
from fewpairs.model.model import Model
from fewpairs.model.pair_inputs import PairInputs

__all__ = ["best_known", "expand", "propose"]

Scorer = Callable[[PairInputs], NDArray[Any]]

_SCORED = 1 << 16  # candidates scored at once
_REACHED = 4_096  # items whose neighbors of neighbors are gathered at once
_PROMISING = 24  # of these per item that are scored, by prior and low rank
_STEEP = 2.0  # standard deviations of the prior at which its curve's slope is taken


def propose(model: Model, known: Entries, most: int, seed: int = 0) -> Candidates:
    """Return every item's candidates by prior and low rank, and by the prior alone.

    Price: n² products below 20,000 items, above that what an index takes; memory
    O(n · most).
    """
    n = known.n
    if n <= EXACT:
        return candidates.find(model, known, most)
    most = max(1, min(most, n - 1))
    left, right = _vectors(model)
    found = [top_inner_products(left, most + 1, queries=right, seed=seed)[0]]
    prior = model.prior
    if prior is not None and prior.vectors is not None:
        extra = max(1, most // 2)
        found.append(top_inner_products(prior.vectors, extra + 1, seed=seed)[0])
    return _scored(model, known, np.hstack(found).astype(np.int32))


def expand(
    found: Candidates, model: Model, known: Entries, scorer: Scorer, hops: int
) -> Candidates:
    """Return the candidates with neighbors of neighbors among them, all scored.

    An item's neighbors are the ``hops`` best of what was read and what is proposed.
    As many candidates stay per item as there were.
    """
    n, m = found.partner.shape
    hops = min(hops, m)
    near = np.hstack([best_known(known, n, hops), _top(found, hops)])
    fresh = _distinct(near, found.partner)
    if not fresh.shape[1]:
        return found
    more = _scored(model, known, fresh)
    if fresh.shape[1] > _PROMISING:
        more = _taken(more, largest(more.score, _PROMISING))
    more.score_anew(scorer)
    cheap = None
    if found.cheap is not None and more.cheap is not None:
        cheap = np.hstack([found.cheap, more.cheap])
    both = Candidates(
        np.hstack([found.partner, more.partner]),
        np.hstack([found.score, more.score]),
        np.hstack([found.base, more.base]),
        cheap,
    )
    return _taken(both, largest(both.score, m))


def best_known(known: Entries, n: int, k: int) -> NDArray[np.int32]:
    """Return (n, k) partners: the most similar that were read of every item.

    Items with fewer of them are their own partners, which is no pair.
    """
    i, j, values = known.uncovered()
    item, other = np.concatenate([i, j]), np.concatenate([j, i])
    order = np.lexsort((-np.concatenate([values, values]), item))
    item, other = item[order], other[order]
    rank = np.arange(len(item)) - np.searchsorted(item, item)
    out = np.tile(np.arange(n, dtype=np.int32)[:, None], (1, k))
    top = rank < k
    out[item[top], rank[top]] = other[top]
    return out


def _vectors(model: Model) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return vectors whose inner products rank as prior and low rank together do.

    The curve counts with its slope among similar pairs.
    """
    left, right = [model.low_rank.left], [model.low_rank.right]
    prior, curve = model.prior, model.curve
    if prior is not None and prior.vectors is not None and curve is not None:
        ends = np.array([0.0, _STEEP]) * curve.scale + curve.center
        low, high = curve(ends)
        slope = max(float(high - low) / (_STEEP * curve.scale), 0.0)
        left.append(prior.vectors)
        right.append(prior.vectors * np.float32(slope))
    return (
        np.hstack(left).astype(np.float32, copy=False),
        np.hstack(right).astype(np.float32, copy=False),
    )


def _taken(found: Candidates, at: NDArray[np.int64]) -> Candidates:
    """Return the candidates at these places of every row."""

    def some(array: NDArray[Any]) -> NDArray[Any]:
        return np.take_along_axis(array, at, axis=1)

    cheap = None if found.cheap is None else some(found.cheap)
    return Candidates(some(found.partner), some(found.score), some(found.base), cheap)


def _top(found: Candidates, k: int) -> NDArray[np.int32]:
    """Return the best k candidates of every item; itself where they are read."""
    at = largest(found.score, k)
    partner = np.take_along_axis(found.partner, at, axis=1)
    dead = ~np.isfinite(np.take_along_axis(found.score, at, axis=1))
    own = np.arange(len(partner), dtype=np.int32)[:, None]
    return np.where(dead, own, partner)


def _distinct(near: NDArray[np.int32], have: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return what the neighbors of every item's neighbors are anew, once each.

    The item itself fills what is left of a row.
    """
    n, width = len(near), near.shape[1] ** 2
    out = np.empty((n, width), dtype=np.int32)
    longest = [0]

    def reach(start: int) -> None:
        part = slice(start, start + _REACHED)
        own = np.arange(n, dtype=np.int32)[part, None]
        both = np.hstack([have[part], own, near[near[part]].reshape(len(own), -1)])
        order = np.argsort(both, axis=1, kind="stable")
        in_order = np.take_along_axis(both, order, axis=1)
        again = np.zeros(both.shape, dtype=bool)
        again[:, 1:] = in_order[:, 1:] == in_order[:, :-1]
        old = np.empty_like(again)
        np.put_along_axis(old, order, again, axis=1)
        old[:, : have.shape[1] + 1] = True
        # Those that stay come first, so that columns of nothing can go.
        first = np.argsort(old, axis=1, kind="stable")[:, :width]
        gone = np.take_along_axis(old, first, axis=1)
        out[part] = np.where(gone, own, np.take_along_axis(both, first, axis=1))
        longest.append(int((~gone).sum(axis=1).max(initial=0)))

    in_threads(reach, range(0, n, _REACHED))
    return out[:, : max(longest)]


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

    def score(start: int) -> None:
        at = np.arange(start, min(start + _SCORED, n * m))
        item, other = at // m, partner.ravel()[at].astype(np.int64)
        live = (item != other) & (other >= 0)
        at, item, other = at[live], item[live], other[live]
        unread = ~known.lookup(item, other)[0]
        at, item, other = at[unread], item[unread], other[unread]
        inputs = model.inputs(item, other)
        out.base.ravel()[at] = inputs.base
        if out.cheap is not None:
            out.cheap.ravel()[at] = inputs.cheap
        out.score.ravel()[at] = inputs.base

    known.scattered()  # sorted before several threads look
    in_threads(score, range(0, n * m, _SCORED))
    return out
