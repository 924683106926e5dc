"""A ledger of another similarity: a function of known values, and whose they are."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.checks import check_array, refuse
from fewpairs.fingerprint import fingerprint
from fewpairs.ledger.subject import Identity
from fewpairs.similarity.base import Similarity

__all__ = ["applied", "with_similarity"]


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


def with_similarity(other: Similarity, identify: Callable[[], Identity]) -> Identity:
    """Return fingerprints of the same items with another similarity."""
    return (fingerprint(other.identify()), identify()[1])
