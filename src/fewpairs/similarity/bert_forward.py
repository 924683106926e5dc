"""A lean forward pass for BERT-like classifiers, equal to the model's own.

Four things differ from the general code of transformers: query, key and value are one
product; a batch without padding needs no mask; of the last layer only the first token
is computed, since the classifier reads nothing else; and GELU is applied inside the
product. On a CPU weights are brought into the order that matrix products want once, not
in every call; on a GPU in half precision attention runs in the kernel that is quickest
for short texts. Evaluations: the same.
"""

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from fewpairs.similarity.pair_assembly import Inputs

__all__ = ["BertForward", "forward_of", "int8_forward", "plain_forward"]

Forward = Callable[[Inputs], Any]

_TOKENS_EXPECTED = 1_024  # of a batch: a hint for the order of packed weights


def forward_of(model: Any, probes: list[Inputs]) -> Forward:
    """Return the fastest forward pass that gives what ``model`` gives on ``probes``.

    Models that are no BERT, or one with a difference that this module does not know
    of, run as they are.
    """
    plain = plain_forward(model)
    for product in (_PackedLinear, _HalfLinear, _Linear):
        try:
            lean = BertForward(model, product)
            same = all(_agree(lean(probe), plain(probe)) for probe in probes)
        except (AttributeError, TypeError, RuntimeError, ValueError):
            continue
        if same:
            return lean
    return plain


def int8_forward(model: Any) -> Forward:
    """Return a forward pass with products of 8-bit integers, for a CPU."""
    import torch

    with warnings.catch_warnings():  # of a successor that PyTorch does not have yet
        warnings.simplefilter("ignore")
        try:
            return BertForward(model, _Int8Linear)
        except (AttributeError, TypeError, RuntimeError):
            quantize = torch.ao.quantization.quantize_dynamic
            return plain_forward(quantize(model, {torch.nn.Linear}, dtype=torch.qint8))


def plain_forward(model: Any) -> Forward:
    """Return the model's own forward pass."""

    def forward(inputs: Inputs) -> Any:
        arguments = {"input_ids": inputs.ids}
        if inputs.types is not None:
            arguments["token_type_ids"] = inputs.types
        if inputs.mask is not None:
            arguments["attention_mask"] = inputs.mask.long()
        return model(**arguments).logits

    return forward


def _agree(a: Any, b: Any) -> bool:
    import torch

    tolerance = 1e-5 if a.dtype == torch.float32 else 2e-2
    scale = max(1.0, float(b.abs().max()))
    return bool((a - b).abs().max() <= tolerance * scale)


class BertForward:
    """The forward pass of a BERT or RoBERTa sequence classifier.

    ``product`` is the kind of linear layer. Raises ``AttributeError`` where the model
    is built differently, or is not of the device and precision that the product is for.
    """

    def __init__(self, model: Any, product: "type[_Linear]") -> None:
        encoder = getattr(model, model.base_model_prefix)
        if model.training or getattr(model.config, "is_decoder", False):
            msg = "only an encoder in evaluation mode"
            raise AttributeError(msg)
        self._embeddings = encoder.embeddings
        self._pooler = getattr(encoder, "pooler", None)
        self._classifier = model.classifier
        layers = list(encoder.encoder.layer)
        self._attention = product.attention
        self._layers = [_Layer(layer, product) for layer in layers[:-1]]
        self._last = _Layer(layers[-1], product, last=True)

    def __call__(self, inputs: Inputs) -> Any:
        """Return the logits, shape (pairs, labels)."""
        x = self._embeddings(input_ids=inputs.ids, token_type_ids=inputs.types)
        mask = None if inputs.mask is None else inputs.mask[:, None, None, :]
        with self._attention():
            for layer in self._layers:
                x = layer(x, mask)
            x = self._last.first_token(x, mask)
        # BERT pools the first token; RoBERTa's classifier takes it by itself.
        return self._classifier(x if self._pooler is None else self._pooler(x))


class _Linear:
    """A linear layer and its activation."""

    attention: Callable[[], AbstractContextManager[Any]] = nullcontext

    def __init__(self, weight: Any, bias: Any, activation: Any = None) -> None:
        self._weight, self._bias = weight.detach(), bias.detach()
        self._activation = activation

    def __call__(self, x: Any) -> Any:
        from torch.nn import functional

        y = functional.linear(x, self._weight, self._bias)
        return y if self._activation is None else self._activation(y)


def _for_short_texts() -> AbstractContextManager[Any]:
    """Prefer the attention kernel that wastes least on a few dozen tokens.

    The others compute tiles of 64 × 128 tokens: a third of the time of a small model.
    """
    from torch.nn.attention import SDPBackend, sdpa_kernel

    kernels = ("EFFICIENT_ATTENTION", "FLASH_ATTENTION", "CUDNN_ATTENTION", "MATH")
    order = [getattr(SDPBackend, kernel) for kernel in kernels]
    quick: AbstractContextManager[Any] = sdpa_kernel(order, set_priority=True)
    return quick


class _HalfLinear(_Linear):
    """The same on a GPU in half precision, GELU inside the product.

    There GELU is the approximation by tanh, which differs from it by less than what
    half precision rounds away (3e-4).
    """

    attention = staticmethod(_for_short_texts)

    def __init__(self, weight: Any, bias: Any, activation: Any = None) -> None:
        import torch

        if weight.device.type != "cuda" or weight.dtype == torch.float32:
            msg = "for half precision on a GPU"
            raise AttributeError(msg)
        super().__init__(weight, bias, activation)
        self._fused = _is_gelu(activation)

    def __call__(self, x: Any) -> Any:
        import torch

        if not self._fused:
            return super().__call__(x)
        flat = x.reshape(-1, x.shape[-1])
        weight = self._weight.t()
        y = torch._addmm_activation(self._bias, flat, weight, use_gelu=True)
        return y.view(*x.shape[:-1], -1)


class _PackedLinear(_Linear):
    """The same on a CPU in float32, by the products that torch.compile would take."""

    def __init__(self, weight: Any, bias: Any, activation: Any = None) -> None:
        import torch

        if weight.device.type != "cpu" or weight.dtype != torch.float32:
            msg = "packed weights are for float32 on a CPU"
            raise AttributeError(msg)
        pack = torch.ops.mkldnn._reorder_linear_weight
        fused = _is_gelu(activation)
        super().__init__(weight, bias, None if fused else activation)
        self._weight = pack(weight.detach().contiguous(), _TOKENS_EXPECTED)
        self._product = torch.ops.mkldnn._linear_pointwise
        self._fused = "gelu" if fused else "none"

    def __call__(self, x: Any) -> Any:
        # The last two arguments: no parameters, GELU by the error function.
        x = x.contiguous()
        y = self._product(x, self._weight, self._bias, self._fused, [], "none")
        return y if self._activation is None else self._activation(y)


class _Int8Linear(_Linear):
    """The same on a CPU with 8-bit integers: one scale an output, one a batch.

    The scale of a batch makes a value depend a little on what else is in the batch.
    """

    def __init__(self, weight: Any, bias: Any, activation: Any = None) -> None:
        import torch

        super().__init__(weight, bias, activation)
        exact = self._weight.float().contiguous()
        scales = (exact.abs().amax(dim=1).clamp_min(1e-12) / 127).double()
        middle = torch.zeros(len(scales), dtype=torch.long)
        small = torch.quantize_per_channel(exact, scales, middle, 0, torch.qint8)
        self._weight = torch.ops.quantized.linear_prepack(small, self._bias.float())
        # Without these instructions sums of 16 bits overflow, and one bit is given up.
        wide = getattr(torch.cpu, "_is_vnni_supported", lambda: False)
        self._reduce = not wide()

    def __call__(self, x: Any) -> Any:
        import torch

        product = torch.ops.quantized.linear_dynamic
        y = product(x.contiguous(), self._weight, self._reduce)
        return y if self._activation is None else self._activation(y)


def _is_gelu(activation: Any) -> bool:
    """Whether this is GELU by the error function, not one of its approximations."""
    import torch

    if activation is None:
        return False
    x = torch.linspace(-4.0, 4.0, 33)
    return bool(torch.equal(activation(x), torch.nn.functional.gelu(x)))


class _Layer:
    """One layer: attention, then the feed-forward part, each with its residual."""

    def __init__(
        self, layer: Any, product: type[_Linear], *, last: bool = False
    ) -> None:
        import torch

        attention = layer.attention.self
        parts = (attention.query, attention.key, attention.value)
        weight = torch.cat([part.weight for part in parts])
        bias = torch.cat([part.bias for part in parts])
        width = weight.shape[1]
        self._heads = int(attention.num_attention_heads)
        if last:  # asks one question of all tokens
            self._query = product(weight[:width], bias[:width])
            self._key_value = product(weight[width:], bias[width:])
        else:
            self._all_parts = product(weight, bias)
        projection, up, down = layer.attention.output, layer.intermediate, layer.output
        self._projection = product(projection.dense.weight, projection.dense.bias)
        self._up = product(up.dense.weight, up.dense.bias, up.intermediate_act_fn)
        self._down = product(down.dense.weight, down.dense.bias)
        self._norms = projection.LayerNorm, down.LayerNorm

    def __call__(self, x: Any, mask: Any) -> Any:
        pairs, length, _ = x.shape
        qkv = self._all_parts(x)
        q, k, v = qkv.view(pairs, length, 3, self._heads, -1).permute(2, 0, 3, 1, 4)
        return self._rest(x, q, k, v, mask)

    def first_token(self, x: Any, mask: Any) -> Any:
        """Return the output at the first token alone, shape (pairs, 1, width)."""
        pairs, length, _ = x.shape
        first = x[:, :1]
        q = self._query(first).view(pairs, 1, self._heads, -1).transpose(1, 2)
        kv = self._key_value(x)
        k, v = kv.view(pairs, length, 2, self._heads, -1).permute(2, 0, 3, 1, 4)
        return self._rest(first, q, k, v, mask)

    def _rest(self, x: Any, q: Any, k: Any, v: Any, mask: Any) -> Any:
        from torch.nn import functional

        mixed = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        mixed = mixed.transpose(1, 2).reshape(x.shape)
        x = self._norms[0](self._projection(mixed).add_(x))
        return self._norms[1](self._down(self._up(x)).add_(x))
