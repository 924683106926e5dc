"""Certainty: the options that ask for a recall, and what is said of it."""

from typing import Annotated, Any

import typer

from fewpairs.answers.matches import Matches
from fewpairs.errors import InputError

__all__ = ["Confidence", "Guarantee", "Recall", "asked", "facts"]

Recall = Annotated[
    str | None,
    typer.Option(
        help="Read on until so much of all such pairs is certainly found, such as 95%, "
        "or the budget ends.",
    ),
]
Confidence = Annotated[
    str, typer.Option(help="How certainly: how often such a statement holds.")
]
Guarantee = Annotated[
    bool, typer.Option("--guarantee", help="Certify it for any model; see the docs.")
]


def asked(recall: str | None, confidence: str, *, guarantee: bool) -> dict[str, Any]:
    """Return what is asked of the recall, as the library takes it.

    >>> asked("95%", "0.9", guarantee=False)
    {'recall': 0.95, 'delta': 0.1, 'guarantee': False}
    """
    if recall is None and not guarantee:
        return {}
    sure = _share("--confidence", confidence)
    if recall is None:
        msg = "--guarantee without --recall; pass the recall to guarantee."
        raise InputError(msg)
    return {
        "recall": _share("--recall", recall),
        "delta": round(1 - sure, 12),
        "guarantee": guarantee,
    }


def _share(name: str, given: str) -> float:
    """Return 0.95 of 95% and of 0.95."""
    text = given.strip()
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = -1.0
    if not 0 < share <= 1 or (share == 1 and name == "--confidence"):
        msg = f"{name} is {given!r}; pass a share such as 95% or 0.95."
        raise InputError(msg)
    return share


def facts(found: Matches) -> dict[str, Any]:
    """Return what is certified, for a document."""
    made = found.certificate
    return {
        "recall_at_least": made.recall_at_least,
        "guaranteed": made.guaranteed,
        "confidence": made.confidence,
        "certified": made.certified,
        "sampled": made.sampled,
        "excluded": max(found.excluded, made.excluded),
        "price": made.price,
    }
