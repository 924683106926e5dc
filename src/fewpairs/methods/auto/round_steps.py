"""Round steps: what reading rounds do with candidates, on the cores or on a GPU."""

from collections.abc import Callable
from typing import Any, NamedTuple

from fewpairs.matrix.entries import Entries
from fewpairs.methods.auto.best_values import best_values, with_new
from fewpairs.methods.auto.borderline import borderline
from fewpairs.methods.auto.expansion import expand
from fewpairs.methods.auto.proposals import propose
from fewpairs.model.model import Model

__all__ = ["RoundSteps", "steps_by"]


class RoundSteps(NamedTuple):
    """Functions of candidates; on a device they keep and return tensors.

    Attributes
    ----------
    propose, expand, borderline, best_values, with_new
        See the functions of these names in NumPy, which are their twins.
    """

    propose: Callable[..., Any]
    expand: Callable[..., Any]
    borderline: Callable[..., Any]
    best_values: Callable[..., Any]
    with_new: Callable[..., Any]


def steps_by(by: str | None, model: Model, known: Entries) -> RoundSteps:
    """Return the steps: on a GPU where that finds the candidates, as ``by`` says.

    On the cores all the same of two sets, of a matrix that has grown or is not
    symmetric, where lines of an earlier run have holes, and of a prior without
    embeddings or a low rank without signs.
    """
    prior, low_rank = model.prior, model.low_rank
    plain = known.symmetric and known.sides is None and known.earlier is None
    if (
        by == "cuda"
        and plain
        and not any(known.partial.values())
        and prior is not None
        and prior.embeddings is not None
        and low_rank.signature is not None
    ):
        from fewpairs.methods.auto.steps_on_device import ON_DEVICE

        return ON_DEVICE
    return RoundSteps(propose, expand, borderline, best_values, with_new)
