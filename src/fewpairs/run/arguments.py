"""Arguments of a run, checked."""

import math
from numbers import Integral, Real
from typing import Any

import numpy as np

from fewpairs.errors import InputError

__all__ = ["check_seed", "check_target"]


def check_seed(seed: Any, call: str) -> int:
    """Return a seed, or say what one is."""
    if isinstance(seed, (bool, np.bool_)) or not isinstance(seed, Integral) or seed < 0:
        msg = f"{call}: seed is {seed!r:.60}; pass a whole number from 0 on."
        raise InputError(msg)
    return int(seed)


def check_target(target: Any, call: str) -> None:
    """Refuse an error that cannot be aimed at."""
    if target is not None and not (
        isinstance(target, Real)
        and not isinstance(target, bool)
        and 0 < float(target) < math.inf
    ):
        msg = f"{call}: target_error is {target!r:.60}; pass a number above 0, or None."
        raise InputError(msg)
