"""Ledger: what has been paid for."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from fewpairs.entries import Entries
from fewpairs.errors import InputError
from fewpairs.fingerprint import fingerprint
from fewpairs.similarity.base import Similarity

__all__ = ["Identity", "Ledger"]

# Fingerprints of a similarity and of the items.
Identity = tuple[str, str]


@dataclass(frozen=True)
class _Subject:
    """The matrix that a ledger is about."""

    n: int
    similarity: str
    symmetric: bool
    symmetrized: bool

    def __str__(self) -> str:
        return f"{self.similarity} of {self.n:,} items"


class _Once:
    """Fingerprints, taken when they are first asked for; unlike a cache it pickles."""

    def __init__(self, identify: Callable[[], Identity]) -> None:
        self._identify = identify
        self._known: Identity | None = None

    def __call__(self) -> Identity:
        if self._known is None:
            self._known = self._identify()
        return self._known


def _unknown() -> Identity:
    return ("", "")


def _with_similarity(other: str, identify: Callable[[], Identity]) -> Identity:
    return (other, identify()[1])


class Ledger:
    """Every evaluation that has been paid for, in memory.

    Pass one ledger as ``store=`` to several calls and no entry is evaluated twice.
    It belongs to one set of items and one similarity from the first call on, and
    refuses another.

    Examples
    --------
    >>> import numpy as np, fewpairs as fp
    >>> K = np.random.default_rng(0).standard_normal((60, 60))
    >>> ledger = fp.Ledger()
    >>> first = fp.approximate(None, K @ K.T, budget=0.5, store=ledger)
    >>> again = fp.approximate(None, K @ K.T, budget=0.5, store=ledger)
    >>> first.evaluations > 0, again.evaluations
    (True, 0)
    """

    def __init__(self) -> None:
        self.entries: Entries | None = None
        self.evaluations = 0
        self._subject: _Subject | None = None
        self._identify: Callable[[], Identity] = _unknown

    @property
    def symmetric(self) -> bool | None:
        """Whether the similarity is symmetric, as settled by the first call."""
        return None if self._subject is None else self._subject.symmetric

    def open(
        self,
        n: int,
        *,
        similarity: str,
        symmetric: bool,
        symmetrized: bool,
        diagonal: float | None,
        identity: Callable[[], Identity] | None = None,
    ) -> Entries:
        """Return the entries of this matrix; refuse another one.

        Fingerprints are taken when a second run comes, not before: most never do.
        """
        subject = _Subject(n, similarity, symmetric, symmetrized)
        identify = identity or _unknown
        if self.entries is None:
            self._subject, self._identify = subject, _Once(identify)
            one_sided = symmetric or symmetrized
            self.entries = Entries(n, symmetric=one_sided, diagonal=diagonal)
        elif subject != self._subject or self._identify() != identify():
            msg = (
                f"fewpairs.Ledger: this ledger holds evaluations of {self._subject}, "
                f"and was given {subject}, other items or another similarity. Use "
                "another ledger for them."
            )
            raise InputError(msg)
        return self.entries

    def transformed(
        self, function: Callable[[Any], Any], similarity: Similarity
    ) -> "Ledger":
        """Return a ledger of another similarity that is a function of this one's.

        ``function`` maps arrays of known values to those of ``similarity``; nothing is
        evaluated. exp(−γ·distance) of another γ, for one, is a power:
        ``ledger.transformed(lambda K: K**3, wmd.with_gamma(3 * wmd.gamma))``.
        """
        out = Ledger()
        if self.entries is not None and self._subject is not None:
            out.entries = self.entries.transformed(function)
            out._subject = replace(self._subject, similarity=similarity.name)
            other = fingerprint(similarity.identify())
            out._identify = _Once(partial(_with_similarity, other, self._identify))
            out.evaluations = self.evaluations
        return out

    def __repr__(self) -> str:
        if self._subject is None:
            return "Ledger(nothing paid for yet)"
        return (
            f"Ledger({self.evaluations:,} evaluations of {self._subject.similarity}, "
            f"{self._subject.n:,} items)"
        )
