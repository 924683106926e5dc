"""What solves word mover's distances: native code, its twin, or a GPU."""

import os
import re
from typing import Any

from fewpairs.errors import InputError, MissingExtraError
from fewpairs.kernels.wmd import reference

__all__ = ["kernel_on"]


def kernel_on(device: str | None) -> Any:
    """Return what solves: the native kernel, its twin, or that of a GPU."""
    number = None if device is None else _number_of(device)
    asked = os.environ.get("FEWPAIRS_KERNEL", "native")
    if asked == "reference":
        return reference
    if asked != "native":
        msg = (
            f"fewpairs.WMD: the environment variable FEWPAIRS_KERNEL is {asked!r}; set "
            "it to 'native' or 'reference', or unset it."
        )
        raise InputError(msg)
    if number is not None:
        return _on_gpu(number)
    try:
        from fewpairs.kernels.wmd import word_movers
    except ImportError as error:
        msg = (
            'fewpairs.WMD needs numba. Run: pip install "fewpairs[wmd]" (or set '
            "FEWPAIRS_KERNEL=reference for SciPy's linear programming, a thousand "
            "times slower)"
        )
        raise MissingExtraError(msg) from error
    return word_movers


def _number_of(device: str) -> int:
    named = re.fullmatch(r"cuda(?::(\d+))?", str(device))
    if named is None:
        msg = (
            f"fewpairs.WMD: device is {device!r}; pass 'cuda', 'cuda:1' for the second "
            "GPU and so on, or None for the cores."
        )
        raise InputError(msg)
    return int(named[1] or 0)


def _on_gpu(number: int) -> Any:
    try:
        from fewpairs.kernels.wmd.word_movers_cuda import Cuda, count_gpus

        there = count_gpus()
    except ImportError as error:
        msg = (
            "fewpairs.WMD: a GPU needs CuPy. Run: pip install "
            '"fewpairs[cuda]", or pip install cupy-cuda12x where CUDA is 12.'
        )
        raise MissingExtraError(msg) from error
    if number >= there:
        msg = (
            f"fewpairs.WMD: device is 'cuda:{number}', and CuPy sees {there} "
            f"GPU{'' if there == 1 else 's'}. Pass another one, or leave device out to "
            "solve on the cores."
        )
        raise InputError(msg)
    return Cuda(number)
