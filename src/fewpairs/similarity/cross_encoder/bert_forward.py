"""A lean forward pass for BERT-like classifiers, equal to the model's own.

Four things differ from the general code of transformers: query, key and value are one
product; a batch without padding needs no mask; of the last layer only the first token
is computed, since the classifier reads nothing else; and GELU is applied inside the
product. On a GPU in half precision attention runs in the kernel that is quickest for
short texts. A CPU in float32 goes further, see `similarity.flat_forward`. Evaluations:
the same.
"""

import warnings
from collections.abc import Callable
from typing import Any

from fewpairs.similarity.cross_encoder.encoder_parts import parts_of
from fewpairs.similarity.cross_encoder.layers import attend, layers_of
from fewpairs.similarity.cross_encoder.modern_forward import ModernForward
from fewpairs.similarity.cross_encoder.pair_assembly import PaddedInputs
from fewpairs.similarity.cross_encoder.products import (
    HalfLinear,
    Int8Linear,
    Linear,
    PackedLinear,
    Product,
)

__all__ = [
    "BertForward",
    "agree",
    "forward_of",
    "int8_forward",
    "lean_forward",
    "plain_forward",
]

Forward = Callable[[PaddedInputs], Any]


def forward_of(model: Any, probes: list[PaddedInputs]) -> Forward:
    """Return the fastest forward pass that gives what ``model`` gives on ``probes``.

    Models that are no BERT, or one with a difference that this module does not know
    of, run as they are.
    """
    plain = plain_forward(model)
    for product in (PackedLinear, HalfLinear, Linear):
        try:
            lean = lean_forward(model, product)
            same = all(agree(lean(probe), plain(probe)) for probe in probes)
        except (AttributeError, TypeError, RuntimeError, ValueError):
            continue
        if same:
            return lean
    return plain


def lean_forward(model: Any, product: Product) -> "BertForward | ModernForward":
    """Return the lean forward pass for a model's family, made of such products.

    Raises ``AttributeError`` for a family that has none.
    """
    modern = model.config.model_type == "modernbert"
    return (ModernForward if modern else BertForward)(model, product)


def int8_forward(model: Any) -> Forward:
    """Return a forward pass with products of 8-bit integers, for a CPU."""
    import torch

    with warnings.catch_warnings():  # of a successor that PyTorch does not have yet
        warnings.simplefilter("ignore")
        try:
            return lean_forward(model, Int8Linear)
        except (AttributeError, TypeError, RuntimeError):
            quantize = torch.ao.quantization.quantize_dynamic
            return plain_forward(quantize(model, {torch.nn.Linear}, dtype=torch.qint8))


def plain_forward(model: Any) -> Forward:
    """Return the model's own forward pass."""

    def forward(inputs: PaddedInputs) -> Any:
        arguments = {"input_ids": inputs.ids}
        if inputs.types is not None:
            arguments["token_type_ids"] = inputs.types
        if inputs.mask is not None:
            arguments["attention_mask"] = inputs.mask.long()
        return model(**arguments).logits

    forward.backend = "transformers"  # type: ignore[attr-defined]
    return forward


def agree(a: Any, b: Any) -> bool:
    """Tell whether logits are the same, to what their precision allows."""
    import torch

    # bfloat16 has three bits less than float16.
    tolerances = {torch.float32: 1e-5, torch.float16: 2e-2, torch.bfloat16: 8e-2}
    tolerance = tolerances.get(a.dtype, 1e-5)
    scale = max(1.0, float(b.abs().max()))
    return bool((a - b).abs().max() <= tolerance * scale)


class BertForward:
    """The forward pass of a classifier that `encoder_parts` can read.

    ``product`` is the kind of linear layer. Raises ``AttributeError`` where the model
    is built differently, or is not of the device and precision that the product is for.
    """

    def __init__(self, model: Any, product: Product) -> None:
        parts = parts_of(model)
        self._embed, self._classify = parts.embed, parts.classify
        self._attention = product.attention
        self.backend = f"torch, padded pairs, {product.words}"
        *self._layers, self._last = layers_of(parts, product)

    def __call__(self, inputs: PaddedInputs) -> Any:
        """Return the logits, shape (pairs, labels)."""
        x = self._embed(inputs.ids, inputs.types, None)
        mask = None if inputs.mask is None else inputs.mask[:, None, None, :]
        with self._attention(x.shape[1]):
            for layer in self._layers:
                three = _by_head(layer.parts(x), 3, layer.heads)
                mixed = attend(*three, mask=mask, relative=layer.relative)
                x = layer.rest(x, mixed)
            first, last = x[:, :1], self._last
            (q,) = _by_head(last.query(first), 1, last.heads)
            k, v = _by_head(last.key_value(x), 2, last.heads)
            mixed = attend(q, k, v, mask=mask, relative=last.relative)
            x = last.rest(first, mixed)
        return self._classify(x)


def _by_head(parts: Any, count: int, heads: int) -> Any:
    """Cut rows into so many parts, each of shape (pairs, heads, tokens, width)."""
    return parts.view(*parts.shape[:2], count, heads, -1).permute(2, 0, 3, 1, 4)
