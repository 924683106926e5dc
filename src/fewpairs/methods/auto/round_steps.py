"""Round steps: what reading rounds do with candidates, on the cores or on a GPU."""

from collections.abc import Callable
from typing import Any, NamedTuple

from numpy.typing import NDArray

from fewpairs.kernels.linalg.top_products import gpu_memory
from fewpairs.matrix.entries import Entries
from fewpairs.methods.auto.best_values import best_values, with_new
from fewpairs.methods.auto.borderline import borderline
from fewpairs.methods.auto.expansion import expand
from fewpairs.methods.auto.proposals import propose
from fewpairs.model.model import Model
from fewpairs.model.pair_inputs import PairInputs

__all__ = ["RoundSteps", "steps_by"]

# Bytes of a candidate and of a number of an item's vectors, with what is made of them.
_OF_CANDIDATE, _OF_VECTORS = 40, 16
_ASIDE = 1 << 32  # for what is looked at at once


class RoundSteps(NamedTuple):
    """Functions of candidates; on a device they keep and return tensors.

    Attributes
    ----------
    propose, expand, borderline, best_values, with_new
        See the functions of these names in NumPy, which are their twins.
    said
        Returns what a scorer says of pairs, on the host.
    lowest
        Returns the last of every row of the best values, on the host.
    """

    propose: Callable[..., Any]
    expand: Callable[..., Any]
    borderline: Callable[..., Any]
    best_values: Callable[..., Any]
    with_new: Callable[..., Any]
    said: Callable[..., Any]
    lowest: Callable[..., NDArray[Any]]


def steps_by(by: str | None, model: Model, known: Entries, depth: int) -> RoundSteps:
    """Return the steps: on a GPU where that finds the candidates, as ``by`` says.

    On the cores all the same of two sets, of a matrix that has grown or is not
    symmetric, where lines of an earlier run have holes, of a prior without embeddings
    or a low rank without signs, and where so many candidates per item (``depth``, and
    half as many by the prior) are more than the GPU has room for.
    """
    plain = known.symmetric and known.sides is None and known.earlier is None
    if by == "cuda" and plain and not any(known.partial.values()):
        prior, low_rank = model.prior, model.low_rank
        held = None if prior is None else prior.embeddings
        if held is not None and low_rank.signature is not None:
            vectors = _OF_VECTORS * (held.shape[1] + low_rank.left.shape[1])
            each = vectors + _OF_CANDIDATE * (3 * depth // 2)
            if model.n * each + _ASIDE < gpu_memory():
                from fewpairs.methods.auto.steps_on_device import ON_DEVICE

                return ON_DEVICE
    return RoundSteps(
        propose, expand, borderline, best_values, with_new, _said, _lowest
    )


def _said(scorer: Callable[[PairInputs], Any], inputs: PairInputs) -> Any:
    return scorer(inputs)


def _lowest(best: NDArray[Any]) -> NDArray[Any]:
    return best[:, -1]
