"""The two logits that a yes or no needs, of a vocabulary's."""

from typing import Any

__all__ = ["TwoLogits"]


class TwoLogits:
    """Logits of no and yes, of the states of last tokens."""

    def __init__(self, model: Any, tokens: list[int]) -> None:
        import torch

        head = model.get_output_embeddings()
        rows = torch.tensor(tokens, device=head.weight.device)
        self._weight = head.weight.detach().index_select(0, rows)
        bias = getattr(head, "bias", None)
        self._bias = None if bias is None else bias.detach().index_select(0, rows)
        self._cap = getattr(model.config, "final_logit_softcapping", None)

    def __call__(self, states: Any) -> Any:
        """Return the logits, shape (pairs, 2)."""
        from torch.nn import functional

        logits = functional.linear(states, self._weight, self._bias)
        if self._cap is not None:
            logits = (logits / self._cap).tanh() * self._cap
        return logits
