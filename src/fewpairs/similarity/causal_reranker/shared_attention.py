"""Attention of many texts that go on from prefixes which they share.

Tokens of all texts lie one after another, without padding, and so do those of the
prefixes. A token looks at its whole prefix, and at the tokens of its own text up to
itself. transformers runs the layers; it calls ``attend_shared`` by the name under which
it is entered among the attention functions.
"""

from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["NAME", "Layout", "attend_shared", "enter"]

NAME = "fewpairs_shared_prefix"
Integers = NDArray[np.int64]


@dataclass
class Layout:
    """Texts that go on from prefixes, in order: all texts of a prefix together.

    Attributes
    ----------
    lengths
        Tokens of every text.
    groups
        How many texts go on from each prefix.
    prefixes
        Tokens of every prefix.
    keys, values
        Of the prefixes, by layer; ``None`` where there is no prefix.
    keep
        Where keys and values of the texts are put, by layer, if they are wanted.
    """

    lengths: Integers
    groups: Integers
    prefixes: Integers
    keys: list[Any] | None = None
    values: list[Any] | None = None
    keep: list[tuple[Any, Any]] | None = None
    _edges: dict[str, Any] = field(default_factory=dict)

    def edges(self, what: str, device: Any) -> tuple[Any, int]:
        """Return where texts, groups or prefixes begin and end, and the longest one."""
        import torch

        if what not in self._edges:
            sizes = {
                "texts": self.lengths,
                "groups": np.add.reduceat(self.lengths, _starts(self.groups)),
                "prefixes": self.prefixes,
            }[what]
            ends = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
            where = torch.from_numpy(ends).to(device)
            self._edges[what] = where, int(sizes.max())
        edges: tuple[Any, int] = self._edges[what]
        return edges

    def runs(self) -> list[tuple[int, int, int]]:
        """Return (prefix, length, texts) of texts in a row that have both in common."""
        of = np.repeat(np.arange(len(self.groups)), self.groups)
        both = zip(of.tolist(), self.lengths.tolist(), strict=True)
        runs = [(*key, len(list(same))) for key, same in groupby(both)]
        return [run for run in runs if run[1]]


def enter() -> str:
    """Enter this attention among those of transformers, and return its name."""
    from transformers import AttentionInterface

    AttentionInterface.register(NAME, attend_shared)
    return NAME


def attend_shared(
    module: Any,
    query: Any,
    key: Any,
    value: Any,
    attention_mask: Any,  # noqa: ARG001 - the layout says it all
    *,
    scaling: float | None = None,
    layout: Layout,
    sliding_window: int | None = None,
    softcap: float | None = None,
    **_: Any,
) -> tuple[Any, None]:
    """Return what tokens make of values, (1, tokens, heads, width)."""
    if sliding_window is not None or softcap is not None:
        msg = "a window or a cap, which are not known here"
        raise NotImplementedError(msg)
    if layout.keep is not None:
        layout.keep.append((key[0], value[0]))
    q, k, v = query[0], key[0], value[0]  # (heads, tokens, width)
    layer = int(module.layer_idx)
    shared = None
    if layout.keys is not None and layout.values is not None:
        shared = layout.keys[layer], layout.values[layer]
    scale = q.shape[-1] ** -0.5 if scaling is None else scaling
    quick = q.is_cuda and q.element_size() == 2
    way = _by_kernel if quick else _by_run
    return way((q, k, v), shared, layout, scale)[None], None


def _by_run(three: Any, shared: Any, layout: Layout, scale: float) -> Any:
    """Attend by texts of one length and prefix at a time: what is right, anywhere."""
    import torch
    from torch.nn import functional

    q = three[0]
    begins = _starts(layout.prefixes)
    done, start = [], 0
    for prefix, length, texts in layout.runs():
        here = slice(start, start + length * texts)
        shape = (-1, texts, length, q.shape[-1])
        mine, keys, values = (x[:, here].view(shape).transpose(0, 1) for x in three)
        before = 0
        if shared is not None:
            before = int(layout.prefixes[prefix])
            part = slice(begins[prefix], begins[prefix] + before)
            heads = [x[None, :, part].expand(texts, -1, -1, -1) for x in shared]
            keys = torch.cat([heads[0], keys], dim=2)
            values = torch.cat([heads[1], values], dim=2)
        seen = torch.ones(length, before + length, dtype=torch.bool, device=q.device)
        mixed = functional.scaled_dot_product_attention(
            mine,
            keys,
            values,
            attn_mask=seen.tril(before),
            scale=scale,
            enable_gqa=True,
        )
        done.append(mixed.transpose(1, 2).flatten(0, 1))
        start += length * texts
    return torch.cat(done)


def _by_kernel(three: Any, shared: Any, layout: Layout, scale: float) -> Any:
    """Attend on a GPU: once to the prefixes, once to the texts, joined by weights."""
    import torch

    q = three[0]
    texts = layout.edges("texts", q.device)
    own, weight = _flash(three, texts, texts, scale, causal=True)
    if shared is None:
        return own
    groups = layout.edges("groups", q.device)
    prefixes = layout.edges("prefixes", q.device)
    other, other_weight = _flash((q, *shared), groups, prefixes, scale, causal=False)
    # Both are means with weights of which the logarithm is known.
    share = (other_weight - weight).sigmoid().t()[:, :, None].to(own.dtype)
    return torch.lerp(own, other, share)


def _flash(
    three: Any,
    rows: tuple[Any, int],
    columns: tuple[Any, int],
    scale: float,
    *,
    causal: bool,
) -> tuple[Any, Any]:
    """Return the output, (tokens, heads, width), and the logarithm of the weights."""
    import torch

    q, k, v = (x.transpose(0, 1) for x in three)
    out, weight, *_ = torch.ops.aten._flash_attention_forward(
        q,
        k,
        v,
        rows[0],
        columns[0],
        rows[1],
        columns[1],
        0.0,  # dropout
        causal,
        False,  # no mask of dropout
        scale=scale,
    )
    if weight.shape != (q.shape[1], q.shape[0]):
        msg = f"weights of shape {tuple(weight.shape)}"
        raise RuntimeError(msg)
    return out, weight


def _starts(sizes: Integers) -> Integers:
    return np.cumsum(sizes) - sizes
