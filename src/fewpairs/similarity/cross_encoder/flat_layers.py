"""Layers of BERT-like classifiers over tokens of pairs that lie one after another."""

import ctypes
import threading
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.similarity.cross_encoder.bert_forward import agree
from fewpairs.similarity.cross_encoder.bert_layers import (
    Layer,
    Linear,
    PackedLinear,
    is_gelu,
)
from fewpairs.similarity.cross_encoder.flat_pairs import BIN

__all__ = ["LastLayer", "NativeLayer", "TorchLayer"]

Integers = NDArray[np.int64]


class TorchLayer:
    """A layer of torch's own operations."""

    words = "torch layers"

    def __init__(self, layer: Any) -> None:
        try:
            self._layer = Layer(layer, PackedLinear)
        except (AttributeError, RuntimeError):
            self._layer = Layer(layer, Linear)

    @classmethod
    def all_of(cls, layers: list[Any]) -> "list[TorchLayer]":
        """Return layers of torch's operations."""
        return [cls(layer) for layer in layers]

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


class NativeLayer:
    """A layer of compiled code: one call for the parts of a full bin, one for the rest.

    Products leave out the biases, which is a tenth quicker; what comes after adds them.
    Raises ``AttributeError`` where torch has no MKL that can be called, or the layer is
    of another kind.
    """

    words = "compiled layers"

    def __init__(self, layer: Any, packing: Any, buffers: "_ThreadBuffers") -> None:
        import torch

        from fewpairs.kernels.transformer import encoder_layer, vectors

        own, output = layer.attention.self, layer.attention.output
        up, down = layer.intermediate, layer.output
        inner, width = up.dense.weight.shape
        heads = int(own.num_attention_heads)
        odd = inner % vectors.LANES or width % (heads * vectors.LANES)
        if odd or not is_gelu(up.intermediate_act_fn):
            msg = "for GELU, and widths of whole vectors"
            raise AttributeError(msg)
        self._address, self._buffers = packing.address, buffers
        parts = torch.cat([part.weight for part in (own.query, own.key, own.value)])
        others = [part.dense.weight.detach() for part in (output, up, down)]
        # As they are, for bins that are not full, and packed, for those that are.
        self._plain = [parts.detach(), *others]
        packed = [packing.pack(_array(weight), rows=BIN) for weight in self._plain]
        self._parts, projection, up_product, down_product = packed
        # Shares of attention add up to 1: the bias of values comes out as it is.
        bias = output.dense.weight @ own.value.bias + output.dense.bias
        self._weights = encoder_layer.LayerWeights(
            heads=heads,
            query_bias=_array(own.query.bias),
            projection=projection,
            projection_norm=_norm(bias, output.LayerNorm),
            up=up_product,
            up_bias=_array(up.dense.bias),
            down=down_product,
            down_norm=_norm(down.dense.bias, down.LayerNorm),
        )

    @classmethod
    def all_of(cls, layers: list[Any]) -> "list[NativeLayer]":
        """Return layers that share what they write to, a thread at a time."""
        import torch

        from fewpairs.kernels.transformer.packed_products import Packing

        if any(weight.dtype != torch.float32 for weight in layers[0].parameters()):
            msg = "packed weights are for float32"
            raise AttributeError(msg)
        # Whatever torch was linked with is found from there.
        packing = Packing(ctypes.CDLL(torch._C.__file__))
        buffers = _ThreadBuffers(*layers[0].intermediate.dense.weight.shape)
        made = [cls(layer, packing, buffers) for layer in layers]
        made[0]._check()
        return made

    def _check(self) -> None:
        """Compare a full bin with the same tokens taken step by step.

        The few pairs that a model is tried out on are no full bin.
        """
        import torch

        drawn = np.random.default_rng(0).standard_normal((BIN, self._plain[0].shape[1]))
        x = torch.from_numpy(drawn.astype(np.float32))
        rows, lengths = np.arange(BIN), np.array([BIN // 3, BIN - BIN // 3])
        parts = torch.nn.functional.linear(x, self._plain[0])
        step_by_step = self._rest_of_few(x, parts, rows, lengths)
        at_once = self.rest(x, parts, rows, lengths)
        if not (agree(self.parts(x), parts) and agree(at_once, step_by_step)):
            msg = "packed products of a full bin are others than plain ones"
            raise AttributeError(msg)

    def parts(self, x: Any) -> Any:
        """Return queries, keys and values of all tokens, without their biases.

        Those of a full bin are overwritten by the next one of the same thread.
        """
        import torch
        from torch.nn import functional

        from fewpairs.kernels.transformer.packed_products import multiply

        if len(x) != BIN:
            return functional.linear(x, self._plain[0])
        out = self._buffers.arrays.parts
        multiply(self._address, x.numpy(), self._parts, out)
        return torch.from_numpy(out)

    def rest(self, x: Any, parts: Any, rows: Integers, lengths: Integers) -> Any:
        """Return the output, of the input and its queries, keys and values.

        Those of token t are row ``rows[t]`` of ``parts``. The output of a full bin is
        overwritten by the next one of the same thread.
        """
        import torch

        from fewpairs.kernels.transformer.encoder_layer import finish_layer

        if len(x) != BIN:
            return self._rest_of_few(x, parts, rows, lengths)
        buffers = self._buffers.arrays
        finish_layer(
            self._address,
            x.numpy(),
            parts.numpy(),
            rows,
            lengths,
            self._weights,
            buffers,
        )
        return torch.from_numpy(buffers.out)

    def _rest_of_few(
        self, x: Any, parts: Any, rows: Integers, lengths: Integers
    ) -> Any:
        """Do the same step by step, for any number of tokens."""
        import torch
        from torch.nn import functional

        from fewpairs.kernels.transformer import layer_functions as code

        own, mixed = self._weights, torch.empty_like(x)
        _, projection, up, down = self._plain
        code.attend(
            parts.numpy(), rows, own.query_bias, lengths, own.heads, mixed.numpy()
        )
        y = functional.linear(mixed, projection)
        code.add_and_normalize(y.numpy(), x.numpy(), *own.projection_norm)
        hidden = functional.linear(y, up)
        code.gelu_in_place(hidden.numpy(), own.up_bias)
        z = functional.linear(hidden, down)
        code.add_and_normalize(z.numpy(), y.numpy(), *own.down_norm)
        return z


class _ThreadBuffers(threading.local):
    """Arrays of a full bin, one per thread."""

    def __init__(self, inner: int, width: int) -> None:
        from fewpairs.kernels.transformer.encoder_layer import LayerBuffers

        self.arrays = LayerBuffers.of(BIN, width, inner)


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


def _array(weight: Any) -> Any:
    """Return a parameter as an array, in one piece."""
    return weight.detach().contiguous().numpy()


def _norm(bias: Any, norm: Any) -> Any:
    """Return what a layer norm adds, scales and shifts by."""
    from fewpairs.kernels.transformer.encoder_layer import Norm

    return Norm(_array(bias), _array(norm.weight), _array(norm.bias), float(norm.eps))


def _runs(lengths: Integers) -> list[tuple[int, int]]:
    """Return lengths, and how many pairs in a row have them."""
    return [(length, len(list(same))) for length, same in groupby(lengths.tolist())]
