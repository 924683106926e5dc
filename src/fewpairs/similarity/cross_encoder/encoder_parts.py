"""What a sequence classifier is made of, read off a model of transformers.

BERT, RoBERTa, XLM-RoBERTa and ELECTRA name their parts alike; DistilBERT and DeBERTa
(v2 and v3) have names of their own. All of them put a layer norm after each residual.
Whatever is read here wrongly shows when the forward pass made of it is compared with
the model's own.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from fewpairs.similarity.cross_encoder.relative_attention import (
    RelativeAttention,
    RelativePlaces,
)

__all__ = ["EmbeddingTables", "EncoderParts", "LayerParts", "encoder_of", "parts_of"]


class LayerParts(NamedTuple):
    """One layer: linear parts, what comes between them, and the two norms.

    ``relative`` is DeBERTa's addition to attention; others have none.
    """

    query: Any
    key: Any
    value: Any
    projection: Any
    up: Any
    activation: Any
    down: Any
    norms: tuple[Any, Any]
    heads: int
    relative: RelativeAttention | None = None


class EmbeddingTables(NamedTuple):
    """Embeddings as a sum of three tables' rows, normed.

    ``rows`` are the tables of words, types and places and the number of the first
    place; ``narrow`` is a product that follows, or ``None``.
    """

    rows: tuple[Any, Any, Any, int]
    norm: Any
    narrow: Any = None


class EncoderParts(NamedTuple):
    """A classifier: what it makes of tokens, its layers, and its head.

    ``embed`` takes tokens, their types and their places (or ``None``: 0, 1, …), each of
    shape (pairs, tokens). ``classify`` takes the first token's states, of shape
    (pairs, 1, width). ``place`` is what the model calls the first place. ``tables`` is
    what ``embed`` is made of, where it is that simple.
    """

    embed: Callable[[Any, Any, Any], Any]
    layers: list[LayerParts]
    classify: Callable[[Any], Any]
    place: int
    tables: EmbeddingTables | None = None


def encoder_of(model: Any) -> Any:
    """Return the encoder of a classifier, or raise ``AttributeError``."""
    if model.training or getattr(model.config, "is_decoder", False):
        msg = "only an encoder in evaluation mode"
        raise AttributeError(msg)
    return getattr(model, model.base_model_prefix)


def parts_of(model: Any) -> EncoderParts:
    """Return the parts of a classifier.

    Raises ``AttributeError`` for a model that is built in another way.
    """
    encoder = encoder_of(model)
    if hasattr(encoder, "transformer"):
        return _distilbert(model, encoder)
    if hasattr(encoder.encoder, "rel_embeddings"):
        return _deberta(model, encoder)
    return _bert(model, encoder)


def _bert(model: Any, encoder: Any) -> EncoderParts:
    table = encoder.embeddings
    narrow = getattr(encoder, "embeddings_project", None)  # ELECTRA's

    def embed(ids: Any, types: Any, places: Any) -> Any:
        x = table(input_ids=ids, token_type_ids=types, position_ids=places)
        return x if narrow is None else narrow(x)

    layers = []
    for layer in encoder.encoder.layer:
        own = layer.attention.self
        three = own.query, own.key, own.value
        layers.append(_layer(layer, three, int(own.num_attention_heads)))
    # BERT pools the first token; the classifier of others takes it by itself.
    pooler = getattr(encoder, "pooler", None)
    head = model.classifier

    def classify(first: Any) -> Any:
        return head(first if pooler is None else pooler(first))

    # RoBERTa counts places from its padding token on.
    padding = table.position_embeddings.padding_idx
    place = 0 if padding is None else int(padding) + 1
    three = (
        table.word_embeddings.weight.detach(),
        table.token_type_embeddings.weight.detach(),
        table.position_embeddings.weight.detach(),
    )
    tables = EmbeddingTables((*three, place), table.LayerNorm, narrow)
    return EncoderParts(embed, layers, classify, place, tables)


def _layer(
    layer: Any, three: tuple[Any, Any, Any], heads: int, relative: Any = None
) -> LayerParts:
    """Return the parts of a layer that is named as BERT's are, but for ``three``."""
    projection, up, down = layer.attention.output, layer.intermediate, layer.output
    return LayerParts(
        *three,
        projection=projection.dense,
        up=up.dense,
        activation=up.intermediate_act_fn,
        down=down.dense,
        norms=(projection.LayerNorm, down.LayerNorm),
        heads=heads,
        relative=relative,
    )


def _distilbert(model: Any, encoder: Any) -> EncoderParts:
    from torch.nn import functional

    table = encoder.embeddings

    def embed(ids: Any, types: Any, places: Any) -> Any:  # noqa: ARG001 - has no types
        return table(input_ids=ids, position_ids=places)

    layers = []
    for layer in encoder.transformer.layer:
        own, feed = layer.attention, layer.ffn
        parts = LayerParts(
            own.q_lin,
            own.k_lin,
            own.v_lin,
            projection=own.out_lin,
            up=feed.lin1,
            activation=feed.activation,
            down=feed.lin2,
            norms=(layer.sa_layer_norm, layer.output_layer_norm),
            heads=int(own.n_heads),
        )
        layers.append(parts)
    before, head = model.pre_classifier, model.classifier

    def classify(first: Any) -> Any:
        return head(functional.relu(before(first[:, 0])))

    words = table.word_embeddings.weight.detach()
    none = words.new_zeros(1, words.shape[1])
    spots = table.position_embeddings.weight.detach()
    tables = EmbeddingTables((words, none, spots, 0), table.LayerNorm)
    return EncoderParts(embed, layers, classify, 0, tables)


def _deberta(model: Any, encoder: Any) -> EncoderParts:
    stack = encoder.encoder
    if stack.conv is not None or getattr(encoder, "z_steps", 0) > 1:
        msg = "a convolution, or layers that are passed twice"
        raise AttributeError(msg)
    table = encoder.embeddings
    places = RelativePlaces(stack)

    def embed(ids: Any, types: Any, at: Any) -> Any:
        return table(input_ids=ids, token_type_ids=types, position_ids=at)

    layers = []
    for layer in stack.layer:
        own = layer.attention.self
        three = own.query_proj, own.key_proj, own.value_proj
        relative = RelativeAttention(own, places)
        layers.append(_layer(layer, three, int(own.num_attention_heads), relative))
    pooler, head = model.pooler, model.classifier
    return EncoderParts(embed, layers, lambda first: head(pooler(first)), 0)
