"""Pairs one after another in one flat list of tokens: no padding, and no mask.

What a transformer's first layer reads of a token, and the queries, keys and values that
it makes of it, depend on the token, its place and its type alone. In a block of pairs
the same text stands at the same place again and again: the first text of every pair
right at the start, the second one after as many tokens as the first one has. So they
are computed once for all pairs, and batches pick their rows.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewpairs.similarity.cross_encoder.pair_batches import (
    Batch,
    PairTemplate,
    TokenTable,
)

__all__ = [
    "BIN",
    "Bin",
    "FlatAssembler",
    "FlatInputs",
    "FlatPairs",
    "plan_flat",
    "spread",
]

Integers = NDArray[np.int64]

BIN = 512  # tokens: products of fewer are slower, those of more are not faster
_ROUND = 32  # tokens: a small bin is filled up to a multiple of this many
_SHARES = 4  # batches per thread, at least, that what is left is cut into
_KNOWN_BYTES = 1 << 28  # that a table of known rows may take


class Bin(NamedTuple):
    """Tokens of some pairs: what the first layer reads of them.

    What it makes of token t is row ``rows[t]`` of the known ones. A few rows at the end
    may belong to no pair, so that bins have few sizes.
    """

    states: Any
    rows: Integers
    lengths: Integers


class FlatInputs(NamedTuple):
    """Bins of a batch, and queries, keys and values of the first layer."""

    bins: list[Bin]
    parts: Any


class KnownRows(NamedTuple):
    """States and queries, keys and values of the first layer, a row a token."""

    states: Any
    parts: Any


# Of tokens, their types and their places.
FirstLayer = Callable[[Any, Any, Any], KnownRows]


class FlatPairs(NamedTuple):
    """Pairs as five segments each: prefix, a, middle, b, suffix.

    ``rows`` tells where each segment begins in ``known``, if there is one for all.
    """

    sources: Integers  # (pairs, 5): where the tokens of a segment begin
    sizes: Integers
    known: KnownRows | None
    rows: Integers


class FlatAssembler:
    """Joins pairs by indexing into rows that are known for whole texts.

    ``first`` computes these rows; ``width`` is how many numbers a row has.
    """

    def __init__(
        self,
        template: PairTemplate,
        texts: TokenTable,
        device: Any,
        *,
        first: FirstLayer,
        width: int,
    ) -> None:
        special = (*template.prefix, *template.middle, *template.suffix)
        self.device = device
        self._template = template
        self._first = first
        self._flat = np.concatenate([np.array(special, dtype=np.int32), texts.tokens])
        self._most = max(1, _KNOWN_BYTES // (4 * width))

    def prepare(self, cuts: Integers) -> FlatPairs:
        """Take ``cuts``, shape (4, pairs); compute what they share, if that pays."""
        template = self._template
        start_a, keep_a, start_b, keep_b = cuts
        first, gap, end = (
            len(part) for part in (template.prefix, template.middle, template.suffix)
        )
        base = first + gap + end
        same = np.ones_like(keep_a)
        sources = [0 * same, base + start_a, first * same]
        sources += [base + start_b, (first + gap) * same]
        sizes = [first * same, keep_a, gap * same, keep_b, end * same]
        pairs = FlatPairs(np.stack(sources, 1), np.stack(sizes, 1), None, sizes[0])
        which, of = _different(pairs)
        rows = int(pairs.sizes.ravel()[which].sum())
        pays = 2 * rows <= pairs.sizes.sum() and rows <= self._most
        return self._know(pairs, which, of) if pays else pairs

    def assemble(self, pairs: FlatPairs, batch: Batch) -> FlatInputs:
        """Return the bins of the pairs of a batch."""
        here = slice(batch.start, batch.stop)
        if pairs.known is None:
            part = FlatPairs(pairs.sources[here], pairs.sizes[here], None, pairs.rows)
            part = self._know(part, *_different(part))
        else:
            part = pairs._replace(sizes=pairs.sizes[here], rows=pairs.rows[here])
        known: Any = part.known
        cuts = _cuts(part.sizes.sum(axis=1).tolist())
        bins = [
            _bin(known, part.rows[start:stop], part.sizes[start:stop])
            for start, stop in pairwise(cuts)
        ]
        return FlatInputs(bins, known.parts)

    def _know(self, pairs: FlatPairs, which: Integers, of: Integers) -> FlatPairs:
        """Compute the rows of the different segments ``which``."""
        import torch

        sizes = pairs.sizes.ravel()[which]
        places = _offsets(pairs.sizes).ravel()[which]
        tokens = self._flat[spread(pairs.sources.ravel()[which], sizes)]
        types = self._template.types
        kinds = None
        if types is not None:
            kinds = np.repeat(np.array(types, dtype=np.int64)[which % 5], sizes)
            kinds = torch.from_numpy(kinds)
        known = self._first(
            torch.from_numpy(tokens.astype(np.int64)),
            kinds,
            torch.from_numpy(spread(places, sizes)),
        )
        begins = np.cumsum(sizes) - sizes
        return pairs._replace(known=known, rows=begins[of].reshape(pairs.sizes.shape))


def _cuts(lengths: list[int]) -> list[int]:
    """Return where bins begin, and the end: as `plan_flat` laid them one by one."""
    cuts, used = [0], 0
    for pair, length in enumerate(lengths):
        if used and used + length > BIN:
            cuts.append(pair)
            used = 0
        used += length
    return [*cuts, len(lengths)]


def _bin(known: KnownRows, rows: Integers, sizes: Integers) -> Bin:
    """Return a bin; one that is almost full is filled up."""
    import torch

    total = int(sizes.sum())
    almost = 0.8 * BIN < total < BIN
    at = np.zeros(BIN if almost else -(-total // _ROUND) * _ROUND, dtype=np.int64)
    at[:total] = spread(rows.ravel(), sizes.ravel())
    states = known.states.index_select(0, torch.from_numpy(at))
    return Bin(states, at, sizes.sum(axis=1))


def plan_flat(
    totals: Integers, *, tokens: int, threads: int
) -> tuple[Integers, list[Batch]]:
    """Put pairs into bins of BIN tokens, and bins into batches of at most ``tokens``.

    A bin takes the longest pair that is left, then always the longest that still fits:
    where there are short ones and long ones, bins are full. Batches become smaller
    towards the end, so that all ``threads`` come to it at the same time. Returns an
    order of the pairs in which bins lie together, and its batches, those of long pairs
    last.
    """
    room = min(BIN, tokens)
    bins = list(_bins(totals, room))
    batches, start, stop, used = [], 0, 0, 0
    left = int(totals.sum())
    for pairs in bins:
        size = int(totals[pairs].sum())
        most = min(tokens, max(room, left // (_SHARES * threads)))
        if used and used + size > most:
            batches.append(_batch(start, stop, used))
            start, left, used = stop, left - used, 0
        stop, used = stop + len(pairs), used + size
    batches.append(_batch(start, stop, used))
    return np.concatenate(bins), batches[::-1]


def _batch(start: int, stop: int, tokens: int) -> Batch:
    return Batch(start, stop, max(1, tokens // (stop - start)), full=False)


def _bins(totals: Integers, room: int) -> Iterator[Integers]:
    """Yield the pairs of each bin; a pair that is over ``room`` has one of its own."""
    order = np.argsort(totals, kind="stable")
    lengths, starts = np.unique(totals[order], return_index=True)
    waiting = [
        deque(pairs.tolist()) for pairs in np.split(order, starts[1:])
    ]  # fmt: skip
    sizes: list[int] = lengths.tolist()
    while sizes:
        left, at, chosen = max(room, sizes[-1]), len(sizes) - 1, []
        while at >= 0:
            count = min(left // sizes[at], len(waiting[at]))
            chosen += [waiting[at].popleft() for _ in range(count)]
            left -= count * sizes[at]
            if not waiting[at]:
                del sizes[at], waiting[at]
            at = bisect_right(sizes, left, hi=at) - 1
        yield np.array(chosen)


def _offsets(sizes: Integers) -> Integers:
    """Return at which place of its pair each segment begins."""
    return np.cumsum(sizes, axis=1) - sizes


def _different(pairs: FlatPairs) -> tuple[Integers, Integers]:
    """Return which segments are different, and which of them every one is."""
    sizes, offsets = pairs.sizes, _offsets(pairs.sizes)
    longest = int(sizes.sum(axis=1).max()) + 1
    key = (pairs.sources * longest + sizes) * longest + offsets
    key = key * sizes.shape[1] + np.arange(sizes.shape[1])
    _, which, of = np.unique(key.ravel(), return_index=True, return_inverse=True)
    return which, of


def spread(starts: Integers, sizes: Integers) -> Integers:
    """Return start, start + 1, … of every segment, as many as its size."""
    ends = np.cumsum(sizes)
    total = int(ends[-1])
    return np.repeat(starts - (ends - sizes), sizes) + np.arange(total)
