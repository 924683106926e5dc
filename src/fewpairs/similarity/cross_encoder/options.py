"""What a cross-encoder is asked for, checked against what the model can do."""

from typing import Any

import numpy as np

from fewpairs.checks import shown
from fewpairs.errors import InputError
from fewpairs.similarity.cross_encoder.fp8 import check_fp8
from fewpairs.similarity.cross_encoder.loading import Classifier, default_activation
from fewpairs.similarity.cross_encoder.pair_batches import PairTemplate

__all__ = [
    "choose_activation",
    "choose_devices",
    "choose_label",
    "choose_length",
    "choose_precision",
]

_CALL = "fewpairs.CrossEncoder"


def choose_devices(device: str | None, call: str = _CALL) -> list[Any]:
    """Return the devices that are asked for, or all GPUs, or the CPU."""
    import torch

    if device is None:
        device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        wanted = torch.device(device)
    except (RuntimeError, TypeError, ValueError, OverflowError) as error:
        got = f"unknown device {shown(device)}"
        msg = f"{call}: {got}. Pass 'cpu', 'cuda' or 'cuda:0'."
        raise InputError(msg) from error
    count = torch.cuda.device_count()
    if wanted.type == "cuda" and (wanted.index or 0) >= count:
        msg = f"{call}: device {device!r}, but torch sees {count} GPUs. Pass 'cpu'."
        raise InputError(msg)
    if wanted.type == "cuda" and wanted.index is None:
        return [torch.device("cuda", index) for index in range(count)]
    return [wanted]


def choose_precision(dtype: str | None, devices: list[Any]) -> str:
    """Return the precision that is asked for, or the one that suits the device."""
    if dtype == "fp8":
        check_fp8(_CALL, devices)
        return dtype
    kind = devices[0].type
    # Half precision on a CPU is slow or, where its matrix instructions are announced
    # and then forbidden (some virtual machines), ends the process.
    known = ("float32", "int8") if kind == "cpu" else ("float16", "bfloat16", "float32")
    if dtype is None:
        return "float16" if kind == "cuda" else "float32"
    if not isinstance(dtype, str) or dtype not in known:
        msg = (
            f"{_CALL}: dtype {shown(dtype)} on {kind!r}; there it can be one of "
            f"{', '.join(known)}."
        )
        raise InputError(msg)
    return dtype


def choose_label(label: int | str | None, config: Any) -> int:
    """Return the position of the label that is the similarity."""
    names = {str(name): int(at) for at, name in config.id2label.items()}
    if label is None and config.num_labels == 1:
        return 0
    chosen = names.get(label, -1) if isinstance(label, str) else label
    whole = isinstance(chosen, (int, np.integer)) and not isinstance(chosen, bool)
    if not whole or not 0 <= int(chosen or 0) < config.num_labels:
        msg = (
            f"{_CALL}: label is {shown(label)}; the model has {config.num_labels} "
            f"labels, {', '.join(list(names)[:6])}. Pass the one that is the "
            f"similarity, as label=0 to {config.num_labels - 1} or by name."
        )
        raise InputError(msg)
    return int(chosen or 0)


def choose_activation(activation: str | None, name: str, config: Any) -> str:
    """Return the activation that is asked for, or the model's own."""
    if activation is None:
        return default_activation(name, config)
    allowed = ["identity", "sigmoid"] + ["softmax"] * (config.num_labels > 1)
    if not isinstance(activation, str) or activation not in allowed:
        msg = (
            f"{_CALL}: activation {shown(activation)} with {config.num_labels} labels. "
            "Choose 'identity', 'sigmoid', or 'softmax' for several labels."
        )
        raise InputError(msg)
    return activation


def choose_length(asked: int | None, loaded: Classifier, template: PairTemplate) -> int:
    """Return the most tokens that a pair may have."""
    length = loaded.max_length if asked is None else min(asked, loaded.max_length)
    if length < template.special + 2:
        msg = (
            f"{_CALL}: max_length is {length}; a pair needs {template.special} special "
            "tokens and one of each text. Pass a larger one."
        )
        raise InputError(msg)
    return length
