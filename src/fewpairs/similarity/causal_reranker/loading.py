"""Loading a causal language model, and refusing what is none, before paying."""

from typing import Any

from fewpairs.errors import InputError
from fewpairs.similarity.cross_encoder.loading import Classifier, load_model, longest

__all__ = ["check_causal", "load_causal"]

_CALL = "fewpairs.CausalReranker"


def load_causal(name: str, *, dtype: str, local_files_only: bool = False) -> Classifier:
    """Load a language model from a folder, the local cache or the hub."""
    from transformers import AutoModelForCausalLM

    model, missing, tokenizer = load_model(
        name,
        AutoModelForCausalLM,
        call=_CALL,
        kind="causal language",
        local_files_only=local_files_only,
        dtype=dtype,
    )
    if missing:
        msg = (
            f"{_CALL}: {name!r} has no trained language head: its checkpoint lacks "
            f"{', '.join(missing[:4])}, which would be random numbers. Pass a causal "
            "language model; a classifier is for fewpairs.CrossEncoder."
        )
        raise InputError(msg)
    return Classifier(model, tokenizer, longest(model, tokenizer))


def check_causal(model: Any, name: str) -> None:
    """Refuse a model in which a later token does not leave earlier ones alone."""
    import torch

    last = int(model.config.get_text_config().vocab_size) - 1
    with torch.inference_mode():
        one, other = (
            model(input_ids=torch.tensor([[1, token]], device=model.device)).logits[
                0, 0
            ]
            for token in (0, last)
        )
    off = (one - other).abs().max()
    if not hasattr(model, "get_decoder") or off > 1e-2 * one.abs().max().clamp_min(1):
        msg = (
            f"{_CALL}: {name!r} is no causal language model: what it makes of a token "
            "depends on later ones. Pass a model that was trained to answer yes or no; "
            "a classifier is for fewpairs.CrossEncoder."
        )
        raise InputError(msg)
