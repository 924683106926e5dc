"""Larger ledgers: of the items of one, and of others that were added."""

from fewpairs.ledger.ledger import Ledger

__all__ = ["larger_ledger"]


def larger_ledger(ledger: Ledger, name: str) -> Ledger:
    """Return the ledger of these items and of others that were added.

    It knows what this one knows, and keeps what it pays for by itself: on disk in the
    folder ``added/NAME`` of the first ledger. So this one stays what it is, other items
    may be added to it, and a run that adds goes on after a kill as any other does.
    """
    first = ledger
    while first.smaller is not None:
        first = first.smaller
    where = None if first.path is None else f"{first.path}/added/{name}"
    out = Ledger(where, memory=ledger.memory, trust=ledger.trust)
    out.smaller = ledger
    return out
