"""A lean forward pass for ModernBERT classifiers, equal to the model's own.

Norms come before each part, places are rotations of queries and keys, two layers of
three look at a window of neighbors, and the feed-forward part is gated. Of the last
layer only the first token is computed where the classifier reads nothing else.

Warner et al., Smarter, Better, Faster, Longer, 2024 (ModernBERT); Su et al., RoFormer,
2021 (rotations).
"""

from typing import Any

from fewpairs.similarity.cross_encoder.encoder_parts import encoder_of
from fewpairs.similarity.cross_encoder.layers import attend
from fewpairs.similarity.cross_encoder.pair_assembly import PaddedInputs
from fewpairs.similarity.cross_encoder.products import Product

__all__ = ["ModernForward"]


class ModernForward:
    """The forward pass of a ModernBERT classifier.

    ``product`` is the kind of linear layer. Raises ``AttributeError`` where the model
    is built differently, or is not of the device and precision that the product is for.
    """

    def __init__(self, model: Any, product: Product) -> None:
        encoder = encoder_of(model)
        self._embeddings, self._rotary = encoder.embeddings, encoder.rotary_emb
        self._layers = [_ModernLayer(layer, product) for layer in encoder.layers]
        self._norm = encoder.final_norm
        self._head, self._classifier = model.head, model.classifier
        self._first = model.config.classifier_pooling == "cls"
        self._window = int(model.config.sliding_window)
        self._attention = product.attention
        self.backend = f"torch, padded pairs, {product.words}"

    def __call__(self, inputs: PaddedInputs) -> Any:
        """Return the logits, shape (pairs, labels)."""
        x = self._embeddings(input_ids=inputs.ids)
        masks, turns = self._masks(inputs), self._turns(x)
        *others, last = self._layers
        with self._attention(x.shape[1]):
            for layer in others:
                x = layer(x, masks[layer.kind], turns[layer.kind])
            x = last(x, masks[last.kind], turns[last.kind], first=self._first)
        x = self._norm(x)
        if self._first:
            x = x[:, 0]
        elif inputs.mask is None:
            x = x.mean(dim=1)
        else:
            seen = inputs.mask[:, :, None]
            x = (x * seen).sum(dim=1) / seen.sum(dim=1)
        return self._classifier(self._head(x))

    def _masks(self, inputs: PaddedInputs) -> dict[str, Any]:
        """Return what each kind of layer may look at, ``None`` for everything."""
        import torch

        real = None if inputs.mask is None else inputs.mask[:, None, None, :]
        near, length = real, inputs.ids.shape[1]
        if length > self._window + 1:
            place = torch.arange(length, device=inputs.ids.device)
            near = (place[:, None] - place).abs() <= self._window
            near = near if real is None else near & real
        return {"full_attention": real, "sliding_attention": near}

    def _turns(self, x: Any) -> dict[str, Any]:
        """Return cosines and sines of all places for each kind of layer."""
        import torch

        places = torch.arange(x.shape[1], device=x.device)[None]
        kinds = {layer.kind for layer in self._layers}
        return {kind: _turn(*self._rotary(x, places, kind)) for kind in kinds}


class _ModernLayer:
    """One layer: attention and the gated feed-forward part, each after a norm."""

    def __init__(self, layer: Any, product: Product) -> None:
        attention, feed = layer.attn, layer.mlp
        self.kind = layer.attention_type
        width = int(attention.head_dim)
        self._width = width
        self._all_parts = product(attention.Wqkv.weight, attention.Wqkv.bias)
        self._projection = product(attention.Wo.weight, attention.Wo.bias)
        self._up = product(feed.Wi.weight, feed.Wi.bias)
        self._down = product(feed.Wo.weight, feed.Wo.bias)
        self._activation = feed.act
        self._norms = layer.attn_norm, layer.mlp_norm

    def __call__(self, x: Any, mask: Any, turn: Any, *, first: bool = False) -> Any:
        """Return the output; with ``first`` of the first tokens alone."""
        parts = self._all_parts(self._norms[0](x))
        q, k, v = parts.view(*x.shape[:2], 3, -1, self._width).permute(2, 0, 3, 1, 4)
        q, k = _turned(q, turn), _turned(k, turn)
        if first:
            x, q = x[:, :1], q[:, :, :1]
            mask = None if mask is None else mask[..., :1, :]
        x = self._projection.plus(attend(q, k, v, mask=mask), x)
        up, gate = self._up(self._norms[1](x)).chunk(2, dim=-1)
        return self._down.plus(self._activation(up) * gate, x)


def _turn(cosine: Any, sine: Any) -> tuple[Any, Any]:
    """Return a rotation as x ↦ x·cosine + swapped halves of x · sine."""
    half = sine.shape[-1] // 2
    sine = sine.clone()
    sine[..., :half].neg_()
    return cosine[:, None], sine[:, None]


def _turned(x: Any, turn: tuple[Any, Any]) -> Any:
    """Return queries or keys, rotated by their places; rounded once."""
    cosine, sine = turn
    half = x.shape[-1] // 2
    exact = x.float()
    return (exact * cosine + exact.roll(half, dims=-1) * sine).to(x.dtype)
