"""A lean forward pass over pairs that lie one after another, for a CPU.

Products take all tokens as rows of one matrix, whatever the pairs' lengths are;
attention alone looks at one pair at a time. Nothing is padded, and products come in few
shapes, for which weights are packed and code is generated once.
"""

from typing import Any

import numpy as np

from fewpairs.similarity.cross_encoder.bert_forward import agree
from fewpairs.similarity.cross_encoder.encoder_parts import parts_of
from fewpairs.similarity.cross_encoder.flat_layers import (
    LastLayer,
    RelativeLastLayer,
    TorchLayer,
)
from fewpairs.similarity.cross_encoder.flat_pairs import (
    BIN,
    Bin,
    FlatAssembler,
    FlatInputs,
    KnownRows,
)
from fewpairs.similarity.cross_encoder.pair_batches import (
    Batch,
    PairTemplate,
    TokenTable,
)

__all__ = ["FlatForward", "flat_way"]


def flat_way(
    model: Any, template: PairTemplate, texts: TokenTable, cuts: Any, logits: Any
) -> "tuple[FlatAssembler, FlatForward] | None":
    """Return an assembler and a forward pass that give ``logits`` for ``cuts``.

    None for models that are no BERT, or one with a difference that is not known here.
    """
    try:
        forward = FlatForward(model)
        assembler = FlatAssembler(
            template,
            texts,
            model.device,
            first=forward.first,
            width=forward.width,
        )
        every = Batch(0, len(logits), 0, full=False)
        got = forward(assembler.assemble(assembler.prepare(cuts), every))
    except (AttributeError, TypeError, RuntimeError, ValueError):
        return None
    return (assembler, forward) if agree(got, logits) else None


class FlatForward:
    """The forward pass of a classifier of two layers or more.

    Raises ``AttributeError`` where the model is built differently.
    """

    backend = "torch, packed pairs"

    def __init__(self, model: Any) -> None:
        parts = parts_of(model)
        self._embed, self._classify = parts.embed, parts.classify
        self._place = parts.place
        *others, last = parts.layers
        if not others:
            msg = "a single layer has no queries of all tokens"
            raise AttributeError(msg)
        self._layers = [TorchLayer(layer) for layer in others]
        relative = last.relative is not None
        self._last = RelativeLastLayer(last) if relative else LastLayer(last)
        self.width = 4 * int(model.config.hidden_size)

    def first(self, ids: Any, types: Any, places: Any) -> KnownRows:
        """Return what the first layer reads of tokens, and makes of it."""
        import torch

        kinds = None if types is None else types[None]
        states = self._embed(ids[None], kinds, places[None] + self._place)[0]
        parts = torch.empty(len(states), 3 * states.shape[1], dtype=states.dtype)
        for rows, out in zip(states.split(BIN), parts.split(BIN), strict=True):
            out.copy_(self._layers[0].parts(rows))
        return KnownRows(states, parts)

    def __call__(self, inputs: FlatInputs) -> Any:
        """Return the logits, shape (pairs, labels)."""
        import torch

        seen = [self._see(each, inputs.parts) for each in inputs.bins]
        first, mixed = (torch.cat(rows) for rows in zip(*seen, strict=True))
        return self._classify(self._last.rest(first, mixed)[:, None])

    def _see(self, tokens: Bin, parts: Any) -> tuple[Any, Any]:
        """Return the first token of every pair, and what it sees in the last layer."""
        first, *others = self._layers
        x = first.rest(tokens.states, parts, tokens.rows, tokens.lengths)
        rows = np.arange(len(x))
        for layer in others:
            x = layer.rest(x, layer.parts(x), rows, tokens.lengths)
        return self._last.see(x, tokens.lengths)
