"""Expansion: neighbors of neighbors become candidates, as in NN-descent.

Dong, Moses & Li (2011), "Efficient k-nearest neighbor graph construction for generic
similarity measures": what is similar to something similar is likely similar. A network
that is no inner product finds its own most similar pairs that way. As there, only what
goes through a neighbor that is new since the last time is looked at again.
"""

from collections.abc import Callable
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.kernels.linalg.blas_threads import in_threads
from fewpairs.kernels.linalg.selection import largest
from fewpairs.kernels.linalg.top_products import gpu
from fewpairs.matrix.entries import Entries
from fewpairs.methods.auto.candidates import Candidates
from fewpairs.model.model import Model
from fewpairs.model.pair_inputs import PairInputs
from fewpairs.model.product_vectors import product_vectors
from fewpairs.types import Indices

__all__ = ["PROMISING", "best_known", "expand", "fill"]

Scorer = Callable[[PairInputs], NDArray[Any]]

_REACHED = 2_048  # items whose neighbors of neighbors are gathered at once
_PART = 1 << 17  # items whose candidates are merged at once
PROMISING = 24  # of these per item that are scored, by products of vectors
_SCORED = 1 << 16  # candidates scored at once
_GATHER = 1 << 19  # numbers gathered at once: near the cache, and few calls


def expand(
    found: Candidates, model: Model, known: Entries, scorer: Scorer, hops: int
) -> Candidates:
    """Return the candidates with neighbors of neighbors among them, all scored.

    An item's neighbors are the ``hops`` best of what was read and what is proposed.
    As many candidates stay per item as there were; ``found`` itself is changed.

    Price: (2·hops)² positions sorted per item the first time, later those that go
    through new neighbors; memory O(n).
    """
    if known.sides is not None:
        return found  # neighbors of neighbors are of the same side
    n, m = found.partner.shape
    hops = min(hops, m)
    near = np.hstack([best_known(known, n, hops), _top(found, hops)])
    fresh = _fresh(near, found.near)
    found.near = near
    sides = product_vectors(model)
    # Part by part: what is found of all items at once is as much as the candidates.
    step = n if found.by == "cuda" else _PART
    for start in range(0, n, step):
        rows = range(start, min(start + step, n))
        item, other = _reached(found, near, fresh, sides, known=known, rows=rows)
        if len(item):
            _merge(found, _in_rows(rows, item, other, model, scorer), rows)
    return found


def _merge(found: Candidates, more: Candidates, rows: range) -> None:
    """Keep the best of both; ``more`` are of some rows alone."""
    m = found.partner.shape[1]

    def merge(start: int) -> None:
        end = min(start + _REACHED, rows.stop)
        part, own = slice(start, end), slice(start - rows.start, end - rows.start)
        score = np.hstack([found.score[part], more.score[own]])
        at = largest(score, m)
        found.score[part] = np.take_along_axis(score, at, axis=1)
        for name in ("partner", "base", "cheap"):
            mine, others = getattr(found, name), getattr(more, name)
            if mine is not None and others is not None:
                both = np.hstack([mine[part], others[own]])
                mine[part] = np.take_along_axis(both, at, axis=1)

    in_threads(merge, range(rows.start, rows.stop, _REACHED))


def best_known(known: Entries, n: int, k: int) -> NDArray[np.int32]:
    """Return (n, k) partners: the most similar that were read of every item.

    Items with fewer of them are their own partners, which is no pair.
    """
    out = np.tile(np.arange(n, dtype=np.int32)[:, None], (1, k))

    def look(start: int) -> None:
        rows = np.arange(start, min(start + _REACHED, n))
        line, where, values = known.scattered_in_lines(rows, "rows")
        off = where != rows[line]
        line, where, values = line[off], where[off], values[off]
        order = np.lexsort((-values, line))
        line, where = line[order], where[order]
        rank = np.arange(len(line)) - np.searchsorted(line, line)
        top = rank < k
        out[rows[line[top]], rank[top]] = where[top]

    known.scattered_in_lines(np.arange(1), "rows")  # made before several threads look
    in_threads(look, range(0, n, _REACHED))
    return out


def _top(found: Candidates, k: int) -> NDArray[np.int32]:
    """Return the best k candidates of every item; itself where they are read."""
    out = np.empty((len(found.partner), k), dtype=np.int32)

    def look(start: int) -> None:
        part = slice(start, start + _REACHED)
        at = largest(found.score[part], k)
        partner = np.take_along_axis(found.partner[part], at, axis=1)
        dead = ~np.isfinite(np.take_along_axis(found.score[part], at, axis=1))
        own = np.arange(start, start + len(partner), dtype=np.int32)[:, None]
        out[part] = np.where(dead, own, partner)

    in_threads(look, range(0, len(out), _REACHED))
    return out


def _fresh(
    near: NDArray[np.int32], before: NDArray[np.int32] | None
) -> NDArray[np.bool_]:
    """Tell which neighbors were none the last time."""
    out = np.ones(near.shape, dtype=bool)
    if before is None:
        return out

    def look(start: int) -> None:
        part = slice(start, start + _REACHED)
        same = near[part][:, :, None] == before[part][:, None, :]
        out[part] = ~same.any(axis=2)

    in_threads(look, range(0, len(near), _REACHED))
    return out


def _reached(
    found: Candidates,
    near: NDArray[np.int32],
    fresh: NDArray[np.bool_],
    sides: tuple[NDArray[np.float32], NDArray[np.float32]],
    *,
    known: Entries,
    rows: range,
) -> tuple[Indices, Indices]:
    """Return the promising among the neighbors of some items' neighbors, by item.

    Those that are no candidates yet.
    """
    whole = np.zeros(len(near), dtype=bool)
    whole[known.line_indices()] = True
    if found.by == "cuda":
        item, other = _on_device(found, near, fresh, sides, known)
        unread = ~(whole[item] | whole[other]) & (item >= known.old)
        return item[unread], other[unread]
    vectors, signs = sides
    parts: dict[int, tuple[Indices, Indices]] = {}

    def reach(start: int) -> None:
        some = np.arange(max(start, known.old), min(start + _REACHED, rows.stop))
        at, other = _distinct(some, near, fresh, found.partner, known)
        if whole.any():
            unread = ~(whole[some[at]] | whole[other])
            at, other = at[unread], other[unread]
        number = np.bincount(at, minlength=len(some))
        crowded = number[at] > PROMISING
        if crowded.any():
            score = np.full(len(at), np.inf, dtype=np.float32)
            score[crowded] = _products(
                vectors, signs, some[at[crowded]], other[crowded]
            )
            keep = _best_of_each(at, score, number)
            at, other = at[keep], other[keep]
        parts[start] = some[at], other

    known.scattered_in_lines(np.arange(1), "rows")  # made before several threads look
    # Old items gain by new ones' candidates.
    starts = range(rows.start, rows.stop, _REACHED)
    in_threads(reach, [start for start in starts if start + _REACHED > known.old])
    none = np.empty(0, dtype=np.int64)
    item = np.concatenate([none, *(parts[start][0] for start in sorted(parts))])
    other = np.concatenate([none, *(parts[start][1] for start in sorted(parts))])
    return item, other


def _on_device(
    found: Candidates,
    near: NDArray[np.int32],
    fresh: NDArray[np.bool_],
    sides: tuple[NDArray[np.float32], NDArray[np.float32]],
    known: Entries,
) -> tuple[Indices, Indices]:
    """Return what the rest of `_reached` does, by the GPU that found the candidates."""
    from fewpairs.kernels.linalg.second_neighbors_torch import second_neighbors

    def old(rows: Indices) -> tuple[Indices, Indices]:
        line, where, _ = known.scattered_in_lines(rows, "rows")
        have = found.partner[rows]
        own = np.repeat(np.arange(len(rows)), have.shape[1])
        return np.concatenate([own, line]), np.concatenate([have.ravel(), where])

    return second_neighbors(
        near, fresh, old, *sides, most=PROMISING, device=gpu() or "cpu"
    )


def _distinct(
    rows: Indices,
    near: NDArray[np.int32],
    fresh: NDArray[np.bool_],
    have: NDArray[np.int32],
    known: Entries,
) -> tuple[Indices, Indices]:
    """Return neighbors of neighbors, once each: which of these rows, and who.

    Not the items themselves, nor candidates that they have, nor what was read.
    """
    n = len(near)
    own = np.arange(len(rows))[:, None]
    between = near[rows]
    reached = near[between]
    new = fresh[rows][:, :, None] | fresh[between]
    new &= reached != rows[:, None, None]
    found = np.broadcast_to(own[:, :, None] * n, reached.shape)[new] + reached[new]
    line, where, _ = known.scattered_in_lines(rows, "rows")
    old = np.concatenate([(own * n + have[rows]).ravel(), line * n + where])
    # What is old sorts before the same as found, so one look back tells all.
    keys = np.sort(np.concatenate([2 * old, 2 * found + 1]))
    fresh_ones = (keys & 1).astype(bool)
    keys >>= 1
    fresh_ones[1:] &= keys[1:] != keys[:-1]
    at, other = np.divmod(keys[fresh_ones], n)
    return at, other


def _products(
    vectors: NDArray[np.float32],
    signs: NDArray[np.float32],
    i: Indices,
    j: Indices,
) -> NDArray[np.float32]:
    out = np.empty(len(i), dtype=np.float32)
    step = max(1, _GATHER // max(1, len(signs)))
    for start in range(0, len(i), step):
        part = slice(start, start + step)
        np.einsum(
            "td,td,d->t", vectors[i[part]], vectors[j[part]], signs, out=out[part]
        )
    return out


def _best_of_each(at: Indices, score: NDArray[np.float32], number: Indices) -> Indices:
    """Return where the promising of every row are; ``at`` is sorted."""
    begin = np.cumsum(number) - number
    place = np.arange(len(at)) - begin[at]
    packed = np.full((len(number), int(number.max())), -np.inf, dtype=np.float32)
    packed[at, place] = score
    top = largest(packed, PROMISING)
    kept = np.zeros(packed.shape, dtype=bool)
    np.put_along_axis(kept, top, True, axis=1)
    return np.flatnonzero(kept[at, place])


def _in_rows(
    rows: range, item: Indices, other: Indices, model: Model, scorer: Scorer
) -> Candidates:
    """Return flat candidates, sorted by item, as rows; the item itself fills up."""
    row = item - rows.start
    number = np.bincount(row, minlength=len(rows))
    width = int(number.max())
    place = np.arange(len(row)) - (np.cumsum(number) - number)[row]
    shape = len(rows), width
    out = Candidates(
        np.tile(np.arange(rows.start, rows.stop, dtype=np.int32)[:, None], (1, width)),
        np.full(shape, -np.inf, dtype=np.float32),
        np.zeros(shape, dtype=np.float32),
        None if model.prior is None else np.zeros(shape, dtype=np.float32),
    )
    out.partner[row, place] = other
    fill(out, item, other, row * width + place, model, scorer=scorer)
    return out


def fill(
    out: Candidates,
    item: Indices,
    other: Indices,
    at: Indices,
    model: Model,
    *,
    scorer: Scorer = attrgetter("base"),
) -> None:
    """Write what is said of pairs to their places in the raveled arrays."""

    def score(start: int) -> None:
        part = slice(start, start + _SCORED)
        inputs = model.inputs(item[part], other[part])
        out.base.ravel()[at[part]] = inputs.base
        out.score.ravel()[at[part]] = scorer(inputs)
        if out.cheap is not None:
            out.cheap.ravel()[at[part]] = inputs.cheap

    in_threads(score, range(0, len(at), _SCORED))
