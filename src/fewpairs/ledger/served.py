"""Similarities whose values were found to be those that a ledger holds."""

from operator import is_
from typing import Any

from fewpairs.similarity.base import Similarity

__all__ = ["Served"]


class Served:
    """Similarities that a ledger has been used with in this process."""

    def __init__(self) -> None:
        self._known: list[tuple[list[Any], str]] = []

    def knows(self, similarity: Similarity) -> bool:
        """Tell whether it is one of them, this very one."""
        parts, state = similarity.standing()
        return any(
            state == then and len(parts) == len(known) and all(map(is_, parts, known))
            for known, then in self._known
        )

    def remember(self, similarity: Similarity) -> None:
        """Add one."""
        if not self.knows(similarity):
            self._known.append(similarity.standing())
