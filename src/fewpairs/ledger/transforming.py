"""A function of known values, applied and checked."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.checks import check_array, refuse

__all__ = ["applied"]


def applied(function: Callable[[Any], Any], values: NDArray[Any]) -> NDArray[Any]:
    """Return a number for every value, or say that a function does not."""
    cure = "a function that returns a finite number for every value"
    try:
        given = function(np.asarray(values))
    except TypeError as error:  # it is no function of an array
        raise refuse("Ledger.transformed", "function", function, cure) from error
    out = check_array("Ledger.transformed", "what function returns", given, cure)
    known = ~np.isnan(values)  # of lines that a run has not finished, the rest is not
    if out.shape != np.shape(values) or not np.isfinite(out[known]).all():
        raise refuse("Ledger.transformed", "what function returns", given, cure)
    return np.asarray(out) if known.all() else np.where(known, out, np.nan)
