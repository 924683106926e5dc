"""A lean forward pass for BERT-like classifiers, equal to the model's own.

Four things differ from the general code of transformers: query, key and value are one
product; a batch without padding needs no mask; of the last layer only the first token
is computed, since the classifier reads nothing else; and on a CPU weights are brought
into the order that matrix products want once, not in every call, and GELU is applied
inside the product (a tenth of the time). Evaluations: the same.
"""

from collections.abc import Callable
from typing import Any

from fewpairs.similarity.pair_assembly import Inputs

__all__ = ["BertForward", "forward_of", "plain_forward"]

Forward = Callable[[Inputs], Any]

_TOKENS_EXPECTED = 1_024  # of a batch: a hint for the order of packed weights


def forward_of(model: Any, probes: list[Inputs]) -> Forward:
    """Return the fastest forward pass that gives what ``model`` gives on ``probes``.

    Models that are no BERT, or one with a difference that this module does not know
    of, run as they are.
    """
    plain = plain_forward(model)
    for packed in (True, False):
        try:
            lean = BertForward(model, packed=packed)
            same = all(_agree(lean(probe), plain(probe)) for probe in probes)
        except (AttributeError, TypeError, RuntimeError, ValueError):
            continue
        if same:
            return lean
    return plain


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

    Raises ``AttributeError`` where the model is built differently, and with ``packed``
    where it is not in float32 on a CPU or PyTorch lacks what is needed.
    """

    def __init__(self, model: Any, *, packed: bool = False) -> None:
        encoder = getattr(model, model.base_model_prefix)
        if model.training or getattr(model.config, "is_decoder", False):
            msg = "only an encoder in evaluation mode"
            raise AttributeError(msg)
        self._embeddings = encoder.embeddings
        self._pooler = getattr(encoder, "pooler", None)
        self._classifier = model.classifier
        layers = list(encoder.encoder.layer)
        product = _PackedLinear if packed else _Linear
        self._layers = [_Layer(layer, product) for layer in layers[:-1]]
        self._last = _Layer(layers[-1], product, last=True)

    def __call__(self, inputs: Inputs) -> Any:
        """Return the logits, shape (pairs, labels)."""
        x = self._embeddings(input_ids=inputs.ids, token_type_ids=inputs.types)
        mask = None if inputs.mask is None else inputs.mask[:, None, None, :]
        for layer in self._layers:
            x = layer(x, mask)
        x = self._last.first_token(x, mask)
        # BERT pools the first token; RoBERTa's classifier takes it by itself.
        return self._classifier(x if self._pooler is None else self._pooler(x))


class _Linear:
    """A linear layer and its activation."""

    def __init__(self, weight: Any, bias: Any, activation: Any = None) -> None:
        self._weight, self._bias = weight.detach(), bias.detach()
        self._activation = activation

    def __call__(self, x: Any) -> Any:
        from torch.nn import functional

        y = functional.linear(x, self._weight, self._bias)
        return y if self._activation is None else self._activation(y)


class _PackedLinear:
    """The same on a CPU in float32, by the products that torch.compile would take."""

    def __init__(self, weight: Any, bias: Any, activation: Any = None) -> None:
        import torch

        if weight.device.type != "cpu" or weight.dtype != torch.float32:
            msg = "packed weights are for float32 on a CPU"
            raise AttributeError(msg)
        pack = torch.ops.mkldnn._reorder_linear_weight
        self._weight = pack(weight.detach().contiguous(), _TOKENS_EXPECTED)
        self._bias = bias.detach()
        self._product = torch.ops.mkldnn._linear_pointwise
        self._fused = "gelu" if _is_gelu(activation) else "none"
        self._activation = None if self._fused == "gelu" else activation

    def __call__(self, x: Any) -> Any:
        # The last two arguments: no parameters, GELU by the error function.
        x = x.contiguous()
        y = self._product(x, self._weight, self._bias, self._fused, [], "none")
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

    def __init__(self, layer: Any, product: Any, *, last: bool = False) -> None:
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
