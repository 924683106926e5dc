"""A ledger of another similarity: a function of known values, and whose they are."""

from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.checks import check_array, refuse
from fewpairs.fingerprint import fingerprint
from fewpairs.ledger.subject import Identity, Subject
from fewpairs.matrix.entries import Entries
from fewpairs.similarity.base import Similarity

if TYPE_CHECKING:
    from fewpairs.ledger.ledger import Ledger

__all__ = ["applied_to", "open_as"]


def applied_to(entries: Entries, function: Callable[[Any], Any]) -> Entries:
    """Return entries whose values are a function of others'."""
    return entries.transformed(partial(_applied, function))


def open_as(
    out: "Ledger",
    subject: Subject,
    similarity: Similarity,
    identify: Callable[[], Identity],
    diagonal: float | None,
) -> None:
    """Open a ledger for the same items with another similarity."""
    out.open(
        **asdict(replace(subject, similarity=similarity.name)),
        diagonal=diagonal,
        identity=partial(_with_similarity, similarity, identify),
    )


def _applied(function: Callable[[Any], Any], values: NDArray[Any]) -> NDArray[Any]:
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


def _with_similarity(other: Similarity, identify: Callable[[], Identity]) -> Identity:
    """Return fingerprints of the same items with another similarity."""
    return (fingerprint(other.identify()), identify()[1])
