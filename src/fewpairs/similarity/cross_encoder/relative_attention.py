"""DeBERTa's attention by distance, for pairs of one length.

A score is (qᵢ·kⱼ + qᵢ·Kᵣ + kⱼ·Qᵣ) / √(3·width), where r is the bucket of the distance
i − j. The keys and queries of distances, K and Q, depend on the layer alone and are
computed once. The model itself multiplies by all 512 of them and picks by index; a
pair of n tokens has 2n − 1 distances, and products with these, in the order of j − i,
hold every score at a fixed stride: nothing is picked.

He et al., DeBERTa, ICLR 2021; DeBERTaV3, ICLR 2023.
"""

from typing import Any

__all__ = ["RelativeAttention", "RelativePlaces"]


class RelativePlaces:
    """Buckets of distances, by the model's own rule."""

    def __init__(self, stack: Any) -> None:
        self._stack = stack
        self._known: dict[int, Any] = {}
        self.embeddings = stack.get_rel_embedding().detach()
        # Buckets if there are any, else distances: as many on each side of zero.
        self._span = len(self.embeddings) // 2

    def buckets(self, length: int) -> Any:
        """Return the buckets of i − j, in the order of j − i from 1 − length on."""
        import torch

        if length not in self._known:
            tokens = self.embeddings.new_empty(1, length, 1)
            places = self._stack.get_rel_pos(tokens)[0]
            places = torch.cat([places[-1], places[0, 1:]]) + self._span
            self._known[length] = places.clamp_(0, 2 * self._span - 1)
        return self._known[length]


class RelativeAttention:
    """What distances add to the attention of one layer.

    Raises ``AttributeError`` for a layer that does without.
    """

    def __init__(self, own: Any, places: RelativePlaces) -> None:
        kinds = tuple(own.pos_att_type)
        if not own.relative_attention or not kinds or set(kinds) - {"c2p", "p2c"}:
            msg = "no attention by distance, or one of another kind"
            raise AttributeError(msg)
        heads = int(own.num_attention_heads)
        self._places = places
        self._heads = heads
        width = int(own.attention_head_size)
        self.scale = float((width * (1 + len(kinds))) ** -0.5)

        def project(shared: str, single: str, kind: str) -> Any:
            if kind not in kinds:
                return None
            name = shared if own.share_att_key else single
            rows = getattr(own, name)(places.embeddings).detach()
            return rows.view(len(rows), heads, -1).transpose(0, 1).contiguous()

        self._keys = project("key_proj", "pos_key_proj", "c2p")
        self._queries = project("query_proj", "pos_query_proj", "p2c")

    def bias(self, q: Any, k: Any) -> Any:
        """Return what is added to the scaled scores, (pairs, heads, queries, keys).

        ``q`` holds all tokens, or the first ones alone.
        """
        length = k.shape[2]
        buckets = self._places.buckets(length)
        one = q.shape[2] == 1 < length
        total: Any = None
        if self._keys is not None:
            total = self._by_query(q, buckets[length - 1 :] if one else buckets)
        if self._queries is not None:
            if one:  # (pairs, heads, 1, keys): the distance to key j is −j
                rows = self._queries[:, buckets[length - 1 :]]
                add = (k * rows).sum(dim=3)[:, :, None]
            else:  # from a key, distances are those of the query, in reverse
                add = self._by_key(k, buckets.flip(0))
            total = add if total is None else total.add_(add)
        return total.mul_(self.scale)

    def _by_query(self, q: Any, buckets: Any) -> Any:
        products = _products(q, self._keys[:, buckets])
        if q.shape[2] == 1:
            return products.transpose(1, 0)
        # Element (i, j) lies at place j − i + length − 1 of row i.
        return _skew(products).contiguous()

    def _by_key(self, k: Any, buckets: Any) -> Any:
        # Element (j, i) lies at place i − j + length − 1 of row j.
        return _skew(_products(k, self._queries[:, buckets])).transpose(2, 3)


def _products(x: Any, rows: Any) -> Any:
    """Return products of all tokens with ``rows``, (heads, pairs, tokens, rows).

    Tokens of all pairs make one matrix per head.
    """
    pairs, heads, tokens, width = x.shape
    flat = x.permute(1, 0, 2, 3).reshape(heads, pairs * tokens, width)
    return (flat @ rows.transpose(1, 2)).view(heads, pairs, tokens, -1)


def _skew(products: Any) -> Any:
    """Return element j − i + n − 1 of every row i as (pairs, heads, n, n): a view."""
    heads, pairs, n, places = products.shape
    strides = (n * places, pairs * n * places, places - 1, 1)
    return products.as_strided((pairs, heads, n, n), strides, n - 1)
