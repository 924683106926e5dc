"""A lean forward pass for BERT-like classifiers, equal to the model's own.

Three things differ from the general code of transformers: query, key and value are one
product; a batch without padding needs no mask; and of the last layer only the first
token is computed, since the classifier reads nothing else (Evaluations: the same).
"""

from collections.abc import Callable
from typing import Any

from fewpairs.similarity.pair_assembly import Inputs

__all__ = ["BertForward", "forward_of", "plain_forward"]

Forward = Callable[[Inputs], Any]


def forward_of(model: Any, probes: list[Inputs]) -> Forward:
    """Return the fastest forward pass that gives what ``model`` gives on ``probes``.

    Models that are no BERT, or one with a difference that this module does not know
    of, run as they are.
    """
    plain = plain_forward(model)
    try:
        lean = BertForward(model)
        same = all(_agree(lean(probe), plain(probe)) for probe in probes)
    except (AttributeError, TypeError, RuntimeError, ValueError):
        return plain
    return lean if same else plain


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

    Raises ``AttributeError`` where the model is built differently.
    """

    def __init__(self, model: Any) -> None:
        encoder = getattr(model, model.base_model_prefix)
        if model.training or getattr(model.config, "is_decoder", False):
            msg = "only an encoder in evaluation mode"
            raise AttributeError(msg)
        self._embeddings = encoder.embeddings
        self._pooler = getattr(encoder, "pooler", None)
        self._classifier = model.classifier
        layers = list(encoder.encoder.layer)
        self._layers = [_Layer(layer) for layer in layers]

    def __call__(self, inputs: Inputs) -> Any:
        """Return the logits, shape (pairs, labels)."""
        x = self._embeddings(input_ids=inputs.ids, token_type_ids=inputs.types)
        mask = None if inputs.mask is None else inputs.mask[:, None, None, :]
        for layer in self._layers[:-1]:
            x = layer(x, mask)
        x = self._layers[-1].first_token(x, mask)
        # BERT pools the first token; RoBERTa's classifier takes it by itself.
        return self._classifier(x if self._pooler is None else self._pooler(x))


class _Layer:
    """One layer: attention, then the feed-forward part, each with its residual."""

    def __init__(self, layer: Any) -> None:
        import torch

        attention = layer.attention.self
        parts = (attention.query, attention.key, attention.value)
        self._weight = torch.cat([part.weight for part in parts]).detach()
        self._bias = torch.cat([part.bias for part in parts]).detach()
        self._heads = int(attention.num_attention_heads)
        self._projection = layer.attention.output
        self._activated = layer.intermediate
        self._output = layer.output

    def __call__(self, x: Any, mask: Any) -> Any:
        from torch.nn import functional

        pairs, length, _ = x.shape
        qkv = functional.linear(x, self._weight, self._bias)
        q, k, v = qkv.view(pairs, length, 3, self._heads, -1).permute(2, 0, 3, 1, 4)
        return self._rest(x, q, k, v, mask)

    def first_token(self, x: Any, mask: Any) -> Any:
        """Return the output at the first token alone, shape (pairs, 1, width)."""
        from torch.nn import functional

        pairs, length, width = x.shape
        first = x[:, :1]
        q = functional.linear(first, self._weight[:width], self._bias[:width])
        kv = functional.linear(x, self._weight[width:], self._bias[width:])
        q = q.view(pairs, 1, self._heads, -1).transpose(1, 2)
        k, v = kv.view(pairs, length, 2, self._heads, -1).permute(2, 0, 3, 1, 4)
        return self._rest(first, q, k, v, mask)

    def _rest(self, x: Any, q: Any, k: Any, v: Any, mask: Any) -> Any:
        from torch.nn import functional

        mixed = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        mixed = mixed.transpose(1, 2).reshape(x.shape)
        x = self._projection(mixed, x)
        return self._output(self._activated(x), x)
