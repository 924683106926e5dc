"""Assembling batches of pairs on the device that scores them."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewpairs.similarity.cross_encoder.pair_batches import (
    Batch,
    PairTemplate,
    TokenTable,
)

__all__ = ["PaddedInputs", "PairAssembler"]


class PaddedInputs(NamedTuple):
    """What a model is called with; ``mask`` is ``None`` where nothing is padded."""

    ids: Any
    types: Any
    mask: Any


class PairAssembler:
    """Joins pairs by indexing into a token tensor that lives on the device.

    The tensor holds the padding token, the special tokens and then all texts, so that
    a batch is one ``index_select``: no loop over pairs, no copy from the host.
    """

    def __init__(self, template: PairTemplate, texts: TokenTable, device: Any) -> None:
        import torch

        special = (template.pad, *template.prefix, *template.middle, *template.suffix)
        flat = np.concatenate([np.array(special, dtype=np.int32), texts.tokens])
        self.device = device
        self._template = template
        self._base = len(special)
        self._flat = torch.from_numpy(flat).to(device)
        self._types = None
        if template.types is not None:
            self._types = torch.tensor(template.types, dtype=torch.int64, device=device)

    def prepare(self, cuts: NDArray[np.int64]) -> Any:
        """Put ``cuts``, shape (4, pairs), on the device."""
        import torch

        return torch.from_numpy(np.ascontiguousarray(cuts)).to(self.device)

    def assemble(self, cuts: Any, batch: Batch) -> PaddedInputs:
        """Return the padded tokens, token types and mask of a batch of ``cuts``."""
        import torch

        start_a, keep_a, start_b, keep_b = cuts[:, batch.start : batch.stop]
        template = self._template
        first, gap = len(template.prefix), len(template.middle)
        end_a = first + keep_a
        begin_b = end_a + gap
        end_b = begin_b + keep_b
        total = end_b + len(template.suffix)
        place = torch.arange(batch.length, device=self.device).expand(len(end_a), -1)
        if template.pad_left and not batch.full:
            place = place - (batch.length - total)[:, None]
        # The part that every place lies in: prefix, a, middle, b, suffix, padding.
        part = (place >= first).long()
        edges = (
            (end_a, begin_b, end_b) if batch.full else (end_a, begin_b, end_b, total)
        )
        for edge in edges:
            part += place >= edge[:, None]
        if template.pad_left and not batch.full:
            part.masked_fill_(place < 0, 5)
        # Within a part, places and tokens of the flat tensor differ by a constant.
        shifts = torch.stack(
            [
                torch.ones_like(end_a),
                start_a + (self._base - first),
                (1 + first) - end_a,
                start_b + self._base - begin_b,
                (1 + first + gap) - end_b,
                torch.zeros_like(end_a),
            ],
            dim=1,
        )
        source = place + shifts.gather(1, part)
        mask = None
        if not batch.full:
            mask = part < 5
            source = source.masked_fill(~mask, 0)
        ids = self._flat.index_select(0, source.view(-1)).view(source.shape).long()
        types = None if self._types is None else self._types[part]
        return PaddedInputs(ids, types, mask)
