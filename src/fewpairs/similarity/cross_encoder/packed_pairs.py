"""Pairs one after another in one list of tokens, assembled on a GPU."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewpairs.similarity.cross_encoder.pair_batches import (
    Batch,
    PairTemplate,
    TokenTable,
)

__all__ = ["PackedAssembler", "PackedInputs", "plan_packed"]

Integers = NDArray[np.int64]


class PackedInputs(NamedTuple):
    """Tokens of all pairs of a batch, their types and their places in their pair.

    Pair t begins at ``starts[t]`` and ends at ``starts[t + 1]``; none has more than
    ``longest`` tokens.
    """

    ids: Any
    types: Any
    places: Any
    starts: Any
    longest: int


class PackedPairs(NamedTuple):
    """Pairs as four rows on the device, and their tokens on the host."""

    cuts: Any
    totals: Integers


class PackedAssembler:
    """Joins pairs by indexing into a token tensor that lives on the device."""

    def __init__(self, template: PairTemplate, texts: TokenTable, device: Any) -> None:
        import torch

        special = (*template.prefix, *template.middle, *template.suffix)
        flat = np.concatenate([np.array(special, dtype=np.int32), texts.tokens])
        self.device = device
        self._template = template
        self._base = len(special)
        self.longest = 2 * int(texts.lengths.max(initial=0)) + len(special)
        self._flat = torch.from_numpy(flat).to(device)
        self._types = None
        if template.types is not None:
            self._types = torch.tensor(template.types, dtype=torch.int32, device=device)

    def prepare(self, cuts: Integers) -> PackedPairs:
        """Put ``cuts``, shape (4, pairs), on the device."""
        import torch

        totals = cuts[1] + cuts[3] + self._template.special
        there = torch.from_numpy(np.ascontiguousarray(cuts)).to(self.device)
        return PackedPairs(there, totals)

    def assemble(self, pairs: PackedPairs, batch: Batch) -> PackedInputs:
        """Return the tokens of a batch."""
        import torch

        here = slice(batch.start, batch.stop)
        start_a, keep_a, start_b, keep_b = pairs.cuts[:, here]
        tokens = int(pairs.totals[here].sum())  # known here: nothing waits for it
        template = self._template
        first, gap = len(template.prefix), len(template.middle)
        end_a = first + keep_a
        begin_b = end_a + gap
        end_b = begin_b + keep_b
        ends = (end_b + len(template.suffix)).cumsum(0)
        starts = torch.cat([ends.new_zeros(1), ends])
        pair = torch.repeat_interleave(
            torch.arange(len(end_a), device=self.device),
            starts.diff(),
            output_size=tokens,
        )
        place = torch.arange(tokens, device=self.device) - starts[pair]
        # The part that every place lies in: prefix, a, middle, b, suffix.
        part = (place >= first).long()
        for edge in (end_a, begin_b, end_b):
            part += place >= edge[pair]
        # Within a part, places and tokens of the flat tensor differ by a constant.
        shifts = torch.stack(
            [
                torch.zeros_like(end_a),
                start_a + (self._base - first),
                first - end_a,
                start_b + self._base - begin_b,
                (first + gap) - end_b,
            ]
        )
        source = place + shifts.view(-1)[part * len(end_a) + pair]
        ids = self._flat.index_select(0, source)
        types = None if self._types is None else self._types[part]
        longest = int(pairs.totals[here].max())
        return PackedInputs(ids, types, place, starts.int(), longest)

    def blank(self, pairs: int, length: int) -> PackedInputs:
        """Return pairs of one length that say nothing, to try kernels with."""
        import torch

        ids = self._flat[:1].expand(pairs * length).contiguous()
        types = None if self._types is None else torch.zeros_like(ids)
        places = torch.arange(length, device=self.device).repeat(pairs)
        edges = torch.arange(pairs + 1, device=self.device, dtype=torch.int32)
        return PackedInputs(ids, types, places, edges * length, length)


def plan_packed(totals: Integers, *, tokens: int) -> tuple[Integers, list[Batch]]:
    """Return an order of the pairs by length, and batches of at most ``tokens``."""
    # Numbers of 16 bits are sorted by counting, which takes a tenth of the time.
    small = totals.astype(np.uint16) if totals.max() < 1 << 16 else totals
    order = np.argsort(small, kind="stable")
    ends = np.cumsum(totals[order])
    batches, start, used = [], 0, 0
    while start < len(order):
        stop = int(np.searchsorted(ends, used + tokens, side="right"))
        stop = max(stop, start + 1)
        size = int(ends[stop - 1]) - used
        batches.append(Batch(start, stop, max(1, size // (stop - start)), full=False))
        start, used = stop, int(ends[stop - 1])
    return order, batches
