"""Layers of BERT-like classifiers over tokens of pairs that lie one after another."""

from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.similarity.cross_encoder.bert_layers import (
    Layer,
    Linear,
    PackedLinear,
)

__all__ = ["LastLayer", "TorchLayer"]

Integers = NDArray[np.int64]


class TorchLayer:
    """A layer of torch's own operations."""

    def __init__(self, layer: Any) -> None:
        try:
            self._layer = Layer(layer, PackedLinear)
        except (AttributeError, RuntimeError):
            self._layer = Layer(layer, Linear)

    def parts(self, x: Any) -> Any:
        """Return queries, keys and values of all tokens, side by side."""
        return self._layer.parts(x)

    def rest(self, x: Any, parts: Any, rows: Integers, lengths: Integers) -> Any:
        """Return the output, of the input and its queries, keys and values.

        Those of token t are row ``rows[t]`` of ``parts``.
        """
        import torch
        from torch.nn import functional

        parts = parts.index_select(0, torch.from_numpy(rows))
        done, start = [], 0
        for length, pairs in _runs(lengths):
            here = parts[start : start + length * pairs]
            cut = here.view(pairs, length, 3, self._layer.heads, -1)
            mixed = functional.scaled_dot_product_attention(*cut.permute(2, 0, 3, 1, 4))
            done.append(mixed.transpose(1, 2).reshape(len(here), -1))
            start += length * pairs
        done.append(torch.zeros_like(x[start:]))
        return self._layer.rest(x, torch.cat(done))


class LastLayer:
    """The last layer, at the first token of every pair: the classifier reads no other.

    There is one query per pair and head, so it is the query that is multiplied by the
    weights of the keys, q·(W x) = (Wᵀq)·x, and the mixed input by those of the values,
    Σ pₜ W xₜ = W Σ pₜ xₜ: products of one row per pair, not per token. The bias of the
    keys adds the same to all scores, that of the values is added once.
    """

    def __init__(self, layer: Any) -> None:
        own = layer.attention.self
        self._layer = Layer(layer, Linear, last=True)
        heads, width = int(own.num_attention_heads), own.key.weight.shape[1]
        weights = [
            part.weight.detach().view(heads, -1, width) for part in (own.key, own.value)
        ]
        self._key, self._value = weights[0], weights[1].transpose(1, 2)
        self._value_bias = own.value.bias.detach()
        self._scale = float(weights[0].shape[1] ** -0.5)

    def see(self, x: Any, lengths: Integers) -> tuple[Any, Any]:
        """Return the first token of every pair, and what it makes of all."""
        import torch

        first = x.index_select(0, torch.from_numpy(np.cumsum(lengths) - lengths))
        query = self._layer.query(first).mul_(self._scale)
        # (heads, pairs, width): what each head looks for.
        wanted = query.view(len(first), len(self._key), -1).transpose(0, 1) @ self._key
        wanted = wanted.transpose(0, 1)
        done, start, pair = [], 0, 0
        for length, pairs in _runs(lengths):
            tokens = x[start : start + length * pairs].view(pairs, length, -1)
            scores = wanted[pair : pair + pairs] @ tokens.transpose(1, 2)
            done.append(scores.softmax(dim=-1) @ tokens)
            start, pair = start + length * pairs, pair + pairs
        mixed = torch.cat(done).transpose(0, 1) @ self._value
        return first, mixed.transpose(0, 1).flatten(1) + self._value_bias

    def rest(self, first: Any, mixed: Any) -> Any:
        """Return the output, a row per pair."""
        return self._layer.rest(first, mixed)


def _runs(lengths: Integers) -> list[tuple[int, int]]:
    """Return lengths, and how many pairs in a row have them."""
    return [(length, len(list(same))) for length, same in groupby(lengths.tolist())]
