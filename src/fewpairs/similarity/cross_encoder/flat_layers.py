"""Layers of BERT-like classifiers over tokens of pairs that lie one after another."""

from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.similarity.cross_encoder.encoder_parts import LayerParts
from fewpairs.similarity.cross_encoder.layers import Layer, attend
from fewpairs.similarity.cross_encoder.products import Linear, PackedLinear

__all__ = ["LastLayer", "RelativeLastLayer", "TorchLayer"]

Integers = NDArray[np.int64]


class TorchLayer:
    """A layer of torch's own operations."""

    def __init__(self, layer: LayerParts) -> None:
        self._layer = _packed(layer)

    def parts(self, x: Any) -> Any:
        """Return queries, keys and values of all tokens, side by side."""
        return self._layer.parts(x)

    def rest(self, x: Any, parts: Any, rows: Integers, lengths: Integers) -> Any:
        """Return the output, of the input and its queries, keys and values.

        Those of token t are row ``rows[t]`` of ``parts``.
        """
        import torch

        parts = parts.index_select(0, torch.from_numpy(rows))
        done, start = [], 0
        for length, pairs in _runs(lengths):
            here = parts[start : start + length * pairs]
            cut = here.view(pairs, length, 3, self._layer.heads, -1)
            three = cut.permute(2, 0, 3, 1, 4)
            mixed = attend(*three, relative=self._layer.relative)
            done.append(mixed.reshape(len(here), -1))
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

    def __init__(self, layer: LayerParts) -> None:
        self._layer = Layer(layer, Linear, last=True)
        width = layer.key.weight.shape[1]
        weights = [
            part.weight.detach().view(layer.heads, -1, width)
            for part in (layer.key, layer.value)
        ]
        self._key, self._value = weights[0], weights[1].transpose(1, 2)
        self._value_bias = layer.value.bias.detach()
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


class RelativeLastLayer:
    """The same where distances matter: keys are then needed by themselves."""

    def __init__(self, layer: LayerParts) -> None:
        self._layer = _packed(layer, last=True)

    def see(self, x: Any, lengths: Integers) -> tuple[Any, Any]:
        """Return the first token of every pair, and what it makes of all."""
        import torch

        first = x.index_select(0, torch.from_numpy(np.cumsum(lengths) - lengths))
        heads = self._layer.heads
        query = self._layer.query(first).view(len(first), heads, 1, -1)
        both = self._layer.key_value(x)
        done, start, pair = [], 0, 0
        for length, pairs in _runs(lengths):
            here = both[start : start + length * pairs]
            k, v = here.view(pairs, length, 2, heads, -1).permute(2, 0, 3, 1, 4)
            q = query[pair : pair + pairs]
            done.append(attend(q, k, v, relative=self._layer.relative)[:, 0])
            start, pair = start + length * pairs, pair + pairs
        return first, torch.cat(done)

    def rest(self, first: Any, mixed: Any) -> Any:
        """Return the output, a row per pair."""
        return self._layer.rest(first, mixed)


def _packed(layer: LayerParts, *, last: bool = False) -> Layer:
    """Return a layer of packed products, or of plain ones where there are none."""
    try:
        return Layer(layer, PackedLinear, last=last)
    except (AttributeError, RuntimeError):
        return Layer(layer, Linear, last=last)


def _runs(lengths: Integers) -> list[tuple[int, int]]:
    """Return lengths, and how many pairs in a row have them."""
    return [(length, len(list(same))) for length, same in groupby(lengths.tolist())]
