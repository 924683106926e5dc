"""Paid: a similarity that is a prior, and is paid for itself."""

from dataclasses import dataclass
from typing import Any

from fewpairs.checks import check_instance, refuse
from fewpairs.similarity.base import Similarity

__all__ = ["Paid", "paid"]

_CALL = "fewpairs.paid"


@dataclass(frozen=True)
class Paid:
    """A similarity that costs less than another, and not nothing; see `paid`."""

    similarity: Similarity
    budget: Any = None
    prior: Any = "auto"


def paid(similarity: Similarity, *, budget: Any = None, prior: Any = "auto") -> Paid:
    """Return a prior that is evaluated only where a run asks for it: a cascade.

    A small cross-encoder, or a cheap judge, says where a dear one is worth asking. It
    is approximated first, with a budget and a prior of its own; where it was read it
    says what it said, elsewhere what was learned of it. Its evaluations and money stand
    in the receipt by themselves (``approx.bill.prior``), and what it read is a part of
    the run's ledger (``prior`` in its folder): a run that goes on pays for none of it
    again. A budget of money or time is for both together.

    The same in two calls, where the cheap one is wanted by itself:
    ``fp.approximate(items, dear, prior=fp.approximate(items, cheap))``.

    Parameters
    ----------
    similarity
        The cheaper one.
    budget
        What may be spent on it, in any words. By default a fifth of a budget of money
        (if it costs any) or of time, else 50 pairs per item.
    prior
        What tells where to evaluate it: as in :func:`fewpairs.approximate`.

    Examples
    --------
    >>> import fewpairs as fp
    >>> texts = [f"{a} {b}" for a in ("red", "green", "blue") for b in range(40)]
    >>> small, dear = fp.StringSimilarity("ratio"), fp.StringSimilarity("levenshtein")
    >>> first = fp.paid(small, budget="20/item")
    >>> approx = fp.approximate(texts, dear, budget="10/item", prior=first)
    >>> approx.evaluations <= 600, approx.bill.prior.evaluations <= 1_200
    (True, True)
    """
    check_instance(_CALL, "similarity", similarity, Similarity, "a Similarity")
    if isinstance(prior, Paid) and prior.similarity is similarity:
        raise refuse(_CALL, "prior", prior, "another one than the similarity itself")
    return Paid(similarity, budget, prior)
