"""Searcher: answers queries as they come, and remembers what it paid for."""

import threading
from types import TracebackType
from typing import Any, Self

from fewpairs.answers.neighbors import check_k
from fewpairs.answers.search import Found, search
from fewpairs.checks import check_whole
from fewpairs.errors import InputError
from fewpairs.progress import Progress
from fewpairs.result.approximation import Approximation

__all__ = ["Searcher", "searcher"]

_CALL = "Approximation.searcher"


class Searcher:
    """Searches an approximation for whoever asks, and pays for nothing twice.

    Queries of one call are answered side by side: their evaluations are made together,
    round by round. Any number of threads may call: they take turns, under one lock, so
    that a query two of them come with is paid for once, and the similarity need not be
    safe in threads. What is paid for is kept in the ledger of the run, where it had
    one: other processes that open a searcher on the same store get it for free, those
    that are at it already as soon as they ask. Answers are those of
    ``Approximation.search``, to the bit, whatever was asked before.

    Made by ``Approximation.searcher``; use it in a ``with`` block, or ``close`` it.

    Attributes
    ----------
    evaluations
        Calls of the similarity that its queries took.
    """

    def __init__(
        self, approx: Approximation, k: int, evaluations: int, rounds: int
    ) -> None:
        self._approx: Approximation | None = approx
        self._defaults = k, evaluations, rounds
        self._lock = threading.Lock()
        self.evaluations = 0
        self._memory = approx.reader("searcher").queries
        self._memory.look()

    @property
    def remembered(self) -> int:
        """How many new items something is known of."""
        return len(self._memory)

    def search(
        self,
        query: Any,
        k: int | None = None,
        *,
        evaluations: int | None = None,
        prior: Any = None,
        new: bool | None = None,
        progress: bool | Progress = False,
    ) -> Found:
        """Find the most similar items of queries; as ``Approximation.search``.

        ``k`` and ``evaluations``: those the searcher was made with, unless given.
        """
        approx = self._approx
        if approx is None:
            msg = (
                "Searcher.search: it is closed. Open another one with "
                "approx.searcher()."
            )
            raise InputError(msg)
        usual_k, usual, rounds = self._defaults
        found = search(
            approx,
            query,
            usual_k if k is None else k,
            evaluations=usual if evaluations is None else evaluations,
            rounds=rounds,
            prior=prior,
            new=new,
            progress=progress,
        )
        with self._lock:
            self.evaluations += found.evaluations
        return found

    def close(self) -> None:
        """Answer no more. What was paid for is kept already."""
        self._approx = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self._approx is None else repr(self._approx)
        return f"<Searcher: {self.evaluations:,} evaluations, {state}>"


def searcher(
    approx: Approximation, k: int, *, evaluations: int, rounds: int
) -> Searcher:
    """Return a searcher; see ``Approximation.searcher``."""
    approx.reader("searcher")
    return Searcher(
        approx,
        check_k(k, approx.shape[0], _CALL, "items to find"),
        check_whole(_CALL, "evaluations", evaluations, least=1),
        check_whole(_CALL, "rounds", rounds, least=1),
    )
