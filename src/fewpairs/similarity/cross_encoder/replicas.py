"""Copies of a model, one per device."""

import copy
from typing import Any

__all__ = ["replicas"]


def replicas(model: Any, devices: list[Any], dtype: str) -> list[Any]:
    """Return the model once per device, in its precision."""
    import torch

    if dtype == "int8":  # products are made of 8 bits, all else is float32
        return [model.float()]
    if dtype == "fp8":  # so are these, and all else is bfloat16
        dtype = "bfloat16"
    model = model.to(getattr(torch, dtype))
    others = [copy.deepcopy(model).to(device) for device in devices[1:]]
    return [model.to(devices[0]), *others]
