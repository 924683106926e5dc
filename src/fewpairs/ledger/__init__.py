"""The ledger: what has been paid for, in memory or on disk."""

from fewpairs.ledger.ledger import Identity, Ledger

__all__ = ["Identity", "Ledger"]
