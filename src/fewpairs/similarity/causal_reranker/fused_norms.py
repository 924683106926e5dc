"""Norms of a language model in one pass over memory each.

transformers' own are five passes in float32; PyTorch's kernel reads and writes every
number once, and rounds once.
"""

from typing import Any

__all__ = ["fuse_norms"]


def fuse_norms(model: Any) -> list[tuple[Any, str, Any]]:
    """Put PyTorch's norm in the place of each that gives the same.

    Returns (module, name, norm) of what was there before.
    """
    import torch

    before = []
    for module in model.modules():
        for name, norm in list(module.named_children()):
            eps = getattr(norm, "variance_epsilon", None)
            if eps is None or not hasattr(norm, "weight"):
                continue
            weight = norm.weight.detach()
            quick = torch.nn.RMSNorm(len(weight), eps=eps, device="meta")
            quick.weight = torch.nn.Parameter(weight, requires_grad=False)
            x = torch.linspace(-3, 4, 2 * len(weight)).view(2, -1).to(weight)
            off = (quick(x) - norm(x)).abs().max()
            if off <= 2e-2 * norm(x).abs().max().clamp_min(1e-6):
                setattr(module, name, quick.eval())
                before.append((module, name, norm))
    return before
