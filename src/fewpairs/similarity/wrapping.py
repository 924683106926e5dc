"""Wrapping: similarities that score by another one, and hand on what it declares."""

from dataclasses import dataclass
from typing import Any

from fewpairs.similarity.base import Similarity

__all__ = ["Wrapping"]


@dataclass(frozen=True, repr=False, eq=False)
class Wrapping(Similarity):
    """A similarity around another one, whose facts are its own.

    Parameters
    ----------
    similarity
        What is asked in the end.
    """

    similarity: Similarity

    @property
    def bounds(self) -> tuple[float, float] | None:  # type: ignore[override]
        """As the similarity's."""
        return self.similarity.bounds

    @property
    def deterministic(self) -> bool:  # type: ignore[override]
        """As the similarity is."""
        return self.similarity.deterministic

    @property
    def fingerprinted(self) -> bool:  # type: ignore[override]
        """As the similarity is."""
        return self.similarity.fingerprinted

    @property
    def rounding(self) -> float | None:  # type: ignore[override]
        """As the similarity's."""
        return self.similarity.rounding

    @property
    def by_position(self) -> bool:  # type: ignore[override]
        """As the similarity is."""
        return self.similarity.by_position

    @property
    def contextual(self) -> bool:  # type: ignore[override]
        """As the similarity is."""
        return self.similarity.contextual

    @property
    def name(self) -> str:
        """The similarity's own."""
        return self.similarity.name

    @property
    def remark(self) -> str:
        """The similarity's own."""
        return self.similarity.remark

    def standing(self) -> tuple[list[Any], str]:
        """As the similarity's."""
        return self.similarity.standing()
