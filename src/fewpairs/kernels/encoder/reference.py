"""The passes of an encoder in plain torch: what is right, pair by pair."""

from typing import Any

__all__ = [
    "LARGEST",
    "LONGEST",
    "add_norm",
    "add_norm_quantized",
    "attend",
    "attend_first",
    "embed_norm",
    "quantize",
]

LONGEST = 1 << 31  # tokens of a pair: no limit
LARGEST = 448.0  # that e4m3 holds: four bits of exponent, three of mantissa


def add_norm(x: Any, y: Any, norm: Any) -> Any:
    """Return the layer norm of the rows of x + y."""
    return norm(x + y)


def quantize(x: Any, *, gelu: bool = False) -> tuple[Any, Any]:
    """Return rows as 8-bit numbers and their scales, of x or of its GELU (by tanh)."""
    import torch
    from torch.nn import functional

    numbers = x.float()
    if gelu:
        numbers = functional.gelu(numbers, approximate="tanh")
    scales = numbers.abs().amax(dim=1, keepdim=True).clamp_min(1e-12) / LARGEST
    small = (numbers / scales).clamp(-LARGEST, LARGEST)
    return small.to(torch.float8_e4m3fn), scales


def add_norm_quantized(x: Any, y: Any, norm: Any) -> tuple[Any, Any, Any]:
    """Return the layer norm of the rows of x + y, its 8-bit numbers and scales."""
    out = norm(x + y)
    return (out, *quantize(out))


def embed_norm(ids: Any, kinds: Any, places: Any, tables: Any, norm: Any) -> Any:
    """Return the layer norm of three embeddings' sum, a row per token."""
    words, types, spots, first = tables
    kinds = ids * 0 if kinds is None else kinds
    return norm(words[ids] + types[kinds] + spots[places + first])


def attend(parts: Any, starts: Any, *, heads: int, longest: int) -> Any:  # noqa: ARG001
    """Return what all tokens make of their pair's, (tokens, heads · width)."""
    import torch
    from torch.nn import functional

    sizes = starts.diff().tolist()
    done = []
    for pair in parts.split(sizes):
        three = pair.view(len(pair), 3, heads, -1).permute(1, 2, 0, 3)
        mixed = functional.scaled_dot_product_attention(*three)
        done.append(mixed.transpose(0, 1).flatten(1))
    return torch.cat(done)


def attend_first(
    query: Any,
    parts: Any,
    starts: Any,
    *,
    heads: int,
    longest: int,  # noqa: ARG001
) -> Any:
    """Return what the first tokens make of their pair's, (pairs, heads · width)."""
    import torch
    from torch.nn import functional

    sizes = starts.diff().tolist()
    done = []
    for first, pair in zip(query, parts.split(sizes), strict=True):
        k, v = pair.view(len(pair), 2, heads, -1).permute(1, 2, 0, 3)
        q = first.view(heads, 1, -1)
        mixed = functional.scaled_dot_product_attention(q, k, v)
        done.append(mixed.flatten())
    return torch.stack(done)
