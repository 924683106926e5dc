"""The ledger: what has been paid for, in memory or on disk."""

from fewpairs.ledger.ledger import Ledger
from fewpairs.ledger.subject import Identity

__all__ = ["Identity", "Ledger"]
