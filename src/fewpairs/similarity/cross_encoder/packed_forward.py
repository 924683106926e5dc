"""A lean forward pass over packed pairs, for a GPU in half precision.

Products take all tokens as rows of one matrix, whatever the pairs' lengths are. What
lies between them is one pass over memory each: the sum of embeddings with its norm, a
residual with its norm, and attention, which looks at one pair at a time.
"""

from typing import Any

from fewpairs.errors import InputError
from fewpairs.similarity.cross_encoder.bert_forward import (
    BertForward,
    agree,
    lean_forward,
)
from fewpairs.similarity.cross_encoder.encoder_parts import parts_of
from fewpairs.similarity.cross_encoder.fp8 import Fp8Products
from fewpairs.similarity.cross_encoder.layers import Layer, layers_of
from fewpairs.similarity.cross_encoder.modern_forward import ModernForward
from fewpairs.similarity.cross_encoder.packed_pairs import PackedAssembler, PackedInputs
from fewpairs.similarity.cross_encoder.pair_batches import (
    Batch,
    PairTemplate,
    TokenTable,
)
from fewpairs.similarity.cross_encoder.products import HalfLinear, Product

__all__ = ["PackedForward", "fp8_forward", "packed_way"]


def packed_way(
    model: Any, template: PairTemplate, texts: TokenTable, cuts: Any, logits: Any
) -> "tuple[PackedAssembler, PackedForward] | None":
    """Return an assembler and a forward pass that give ``logits`` for ``cuts``.

    None for models whose attention is another, in another precision, and where there
    is no Triton.
    """
    try:
        from fewpairs.kernels.encoder import passes

        forward = PackedForward(model, passes)
        assembler = PackedAssembler(template, texts, model.device)
        pairs, count = assembler.prepare(cuts), len(logits)
        same = all(  # together, and the shortest by itself: short ones go another way
            agree(
                forward(assembler.assemble(pairs, Batch(start, count, 1, full=False))),
                logits[start:],
            )
            for start in (0, count - 1)
        )
    except Exception:  # noqa: BLE001 - Triton, its compiler and the driver have many
        return None
    return (assembler, forward) if same else None


def fp8_forward(model: Any, forward: Any, name: str) -> Any:
    """Return the same forward pass with 8-bit products.

    Raises ``InputError`` for a model that has no fast one, or of odd widths.
    """
    why = "no fast one gives what the model gives"
    try:
        if isinstance(forward, PackedForward):
            return PackedForward(model, forward.passes, Fp8Products())
        if isinstance(forward, (BertForward, ModernForward)):
            return lean_forward(model, Fp8Products())
    except AttributeError as error:
        why = str(error)
    msg = (
        "fewpairs.CrossEncoder: dtype 'fp8' is for models with a fast forward pass and "
        f"widths that are multiples of 16, not for {name!r} ({why}). Pass 'float16' or "
        "'bfloat16'."
    )
    raise InputError(msg)


class PackedForward:
    """The forward pass of a classifier of two layers or more.

    ``passes`` are those of `fewpairs.kernels.encoder`. Raises ``AttributeError`` where
    the model is built differently.
    """

    def __init__(self, model: Any, passes: Any, product: Product = HalfLinear) -> None:
        parts = parts_of(model)
        *self._layers, self._last = layers_of(parts, product)
        if not self._layers or parts.tables is None or self._last.relative is not None:
            msg = "a single layer, other embeddings, or attention by distance"
            raise AttributeError(msg)
        self._tables, self._classify = parts.tables, parts.classify
        self.passes = passes
        self._add_norm = product.add_norm or passes.add_norm
        self.backend = f"torch and Triton, packed pairs, {product.words}"

    def __call__(self, inputs: PackedInputs) -> Any:
        """Return the logits, shape (pairs, labels)."""
        tables, passes = self._tables, self.passes
        # A model with one type has no row for a second one.
        types = inputs.types if len(tables.rows[1]) > 1 else None
        x = passes.embed_norm(
            inputs.ids, types, inputs.places, tables.rows, tables.norm
        )
        if tables.narrow is not None:
            x = tables.narrow(x)
        for layer in self._layers:
            mixed = self._attend(layer.parts(x), inputs, layer)
            x = layer.rest(x, mixed, add_norm=self._add_norm)
        last, starts = self._last, inputs.starts
        first = x.index_select(0, starts[:-1])
        query, both = last.query(first), last.key_value(x)
        mixed = self._attend_first(query, both, inputs, last)
        x = last.rest(first, mixed, add_norm=self._add_norm)
        return self._classify(x[:, None])

    def warm_up(self, assembler: PackedAssembler) -> None:
        """Compile what pairs of these texts will need.

        Triton compiles attention for 32, 64 and 128 tokens, and each kernel for numbers
        of rows that are a multiple of 16 and for others.
        """
        *_, places, first = self._tables.rows
        longest = min(assembler.longest, len(places) - first)
        for most in (32, 64, 128):
            if most == 32 or longest > most // 2:
                length = min(most, longest)
                self(assembler.blank(16, length))
                self(assembler.blank(3, length - length % 2 - 1))

    def _attend(self, parts: Any, inputs: PackedInputs, layer: Layer) -> Any:
        if inputs.longest <= self.passes.LONGEST:
            return self.passes.attend(
                parts, inputs.starts, heads=layer.heads, longest=inputs.longest
            )
        q, k, v = parts.view(len(parts), 3, layer.heads, -1).unbind(1)
        edges = inputs.starts, inputs.longest
        return _flash(q, k, v, edges, edges).flatten(1)

    def _attend_first(
        self, query: Any, parts: Any, inputs: PackedInputs, layer: Layer
    ) -> Any:
        import torch

        starts, longest = inputs.starts, inputs.longest
        if longest <= self.passes.LONGEST:
            return self.passes.attend_first(
                query, parts, starts, heads=layer.heads, longest=longest
            )
        q = query.view(len(query), layer.heads, -1)
        k, v = parts.view(len(parts), 2, layer.heads, -1).unbind(1)
        one = torch.arange(len(starts), device=starts.device, dtype=torch.int32)
        return _flash(q, k, v, (one, 1), (starts, longest)).flatten(1)


def _flash(
    q: Any, k: Any, v: Any, rows: tuple[Any, int], columns: tuple[Any, int]
) -> Any:
    """Attend within pairs of any length, (tokens, heads, width)."""
    import torch

    out, *_ = torch.ops.aten._flash_attention_forward(
        q,
        k,
        v,
        rows[0],
        columns[0],
        rows[1],
        columns[1],
        0.0,  # dropout
        False,  # looks both ways
        False,  # no mask of dropout
    )
    return out
