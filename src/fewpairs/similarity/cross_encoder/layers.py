"""Layers of BERT-like classifiers, made of products."""

from typing import Any

from fewpairs.similarity.cross_encoder.encoder_parts import EncoderParts, LayerParts
from fewpairs.similarity.cross_encoder.products import Product

__all__ = ["Layer", "attend", "layers_of"]


def layers_of(parts: EncoderParts, product: Product) -> "list[Layer]":
    """Return the layers of an encoder, made of such products."""
    *others, last = parts.layers
    layers = [Layer(layer, product) for layer in others]
    return [*layers, Layer(last, product, last=True)]


class Layer:
    """One layer: attention, then the feed-forward part, each with its residual."""

    def __init__(
        self, layer: LayerParts, product: Product, *, last: bool = False
    ) -> None:
        import torch

        parts = (layer.query, layer.key, layer.value)
        weight = torch.cat([part.weight for part in parts])
        bias = torch.cat([part.bias for part in parts])
        width = weight.shape[1]
        self.heads = layer.heads
        self.relative = layer.relative
        if last:  # asks one question of all tokens
            self._query = product(weight[:width], bias[:width])
            self._key_value = product(weight[width:], bias[width:])
        else:
            self._all_parts = product(weight, bias)
        self._projection = product(layer.projection.weight, layer.projection.bias)
        self._up = product(layer.up.weight, layer.up.bias, layer.activation)
        self._down = product(layer.down.weight, layer.down.bias)
        self._norms = layer.norms

    def parts(self, x: Any) -> Any:
        """Return queries, keys and values of all tokens, side by side."""
        return self._all_parts(x)

    def query(self, first: Any) -> Any:
        """Return queries of the first tokens, of the last layer."""
        return self._query(first)

    def key_value(self, x: Any) -> Any:
        """Return keys and values of all tokens, of the last layer."""
        return self._key_value(x)

    def rest(self, x: Any, mixed: Any, *, add_norm: Any = None) -> Any:
        """Return what comes after attention; ``add_norm`` does a residual at once."""
        if add_norm is not None:
            x = add_norm(self._projection(mixed), x, self._norms[0])
            return add_norm(self._down(self._up(x)), x, self._norms[1])
        x = self._norms[0](self._projection.plus(mixed, x))
        return self._norms[1](self._down.plus(self._up(x), x))


def attend(q: Any, k: Any, v: Any, *, mask: Any = None, relative: Any = None) -> Any:
    """Return what queries make of values, (pairs, tokens, width of all heads).

    ``q``, ``k`` and ``v`` have shape (pairs, heads, tokens, width); of ``mask``, which
    broadcasts to the scores, false is not looked at.
    """
    from torch.nn import functional

    scale = None
    if relative is not None:
        bias, scale = relative.bias(q, k), relative.scale
        mask = bias if mask is None else bias.masked_fill(~mask, float("-inf"))
    mixed = functional.scaled_dot_product_attention(
        q, k, v, attn_mask=mask, scale=scale
    )
    return mixed.transpose(1, 2).flatten(2)
