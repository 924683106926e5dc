"""Subject: the matrix that a ledger is about, and its fingerprints."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.matrix.entries import Entries
from fewpairs.types import Indices

__all__ = [
    "FingerprintOnce",
    "Identity",
    "Sample",
    "Subject",
    "unknown",
]

# Fingerprints of a similarity and of the items.
Identity = tuple[str, str]
# Pairs on which a symmetry was checked, with their values.
Sample = tuple[Indices, Indices, NDArray[np.float64]]


@dataclass(frozen=True)
class Subject:
    """The matrix that a ledger is about."""

    n: int
    similarity: str
    symmetric: bool
    symmetrized: bool
    split: int | None = None  # of two sets, where the second begins

    @classmethod
    def of(cls, header: dict[str, Any]) -> tuple["Subject", Sample | None]:
        """Return what was written, and the pairs on which the symmetry was checked."""
        names = ("n", "similarity", "symmetric", "symmetrized")
        sample = header["sample"]
        if sample is not None:
            i, j = (np.array(part, dtype=np.int64) for part in sample[:2])
            sample = i, j, np.array(sample[2])
        split = header.get("split")  # not in ledgers of 0.1.0
        return cls(**{name: header[name] for name in names}, split=split), sample

    def header(
        self, diagonal: float | None, identity: Identity, sample: Sample | None
    ) -> dict[str, Any]:
        """Return what a ledger on disk writes down about its matrix."""
        return {
            **{name: fact for name, fact in asdict(self).items() if name != "split"},
            **({} if self.split is None else {"split": self.split}),
            "diagonal": diagonal,
            "identity": list(identity),
            "sample": None if sample is None else [part.tolist() for part in sample],
        }

    def entries(self, diagonal: float | None, sample: Sample | None) -> Entries:
        """Return what is known of the matrix at first: the diagonal and a sample."""
        one_sided = self.symmetric or self.symmetrized
        entries = Entries(
            self.n, symmetric=one_sided, diagonal=diagonal, split=self.split
        )
        if sample is not None:
            entries.add_pairs(*sample)
        return entries

    def __str__(self) -> str:
        if self.split is not None:
            sizes = f"{self.split:,} items and {self.n - self.split:,} others"
            return f"{self.similarity} of {sizes}"
        return f"{self.similarity} of {self.n:,} items"


class FingerprintOnce:
    """Fingerprints, taken when they are first asked for; unlike a cache it pickles."""

    def __init__(self, identify: Callable[[], Identity]) -> None:
        self._identify = identify
        self._known: Identity | None = None

    def __call__(self) -> Identity:
        """Return them."""
        if self._known is None:
            self._known = self._identify()
        return self._known


def unknown() -> Identity:
    """Return the fingerprints of what cannot be told apart."""
    return ("", "")
