"""Repeated queries: those that come again cost nothing, and each is paid for once."""

from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

import numpy as np

from fewpairs.fingerprint import fingerprint
from fewpairs.reading.oracle import Oracle
from fewpairs.reading.reader import Reader
from fewpairs.types import Indices

__all__ = ["RepeatedQueries"]


class RepeatedQueries:
    """The distinct ones of some queries, with what is known of each.

    Inside the block, what other searches have paid for is known to the oracle of this
    one; at its end, also after an error, what this one has paid for is kept. One thread
    at a time: who comes with the same query finds it paid for. Fitted items are known
    to the reader, and pass.

    Attributes
    ----------
    items, prior
        The distinct queries, and what was given with them.
    which
        For every query, its place among these.
    """

    def __init__(
        self, reader: Reader, queries: Sequence[Any], prior: Any, *, new: bool
    ) -> None:
        self._reader, self._new = reader, new
        self._oracle: Oracle | None = None
        self.items, self.prior = queries, prior
        self.which: Any = slice(None)
        self._names: list[str] = []
        if new:
            self._names = reader.queries.names(queries)
            self._keep_distinct()

    def _keep_distinct(self) -> None:
        m, rows = len(self._names), None
        if self.prior is not None:
            try:
                rows = np.asarray(self.prior)
            except ValueError:  # of several priors
                return
            if rows.ndim != 2 or len(rows) != m:
                return  # whoever needs it says what is wrong
        told = self._names
        if rows is not None:
            told = [f"{t}{fingerprint([r])}" for t, r in zip(told, rows, strict=True)]
        first: dict[str, int] = {}
        for t, name in enumerate(told):
            first.setdefault(name, t)
        if len(first) == m:
            return
        places = {name: t for t, name in enumerate(first)}
        kept = list(first.values())
        self.which = np.array([places[name] for name in told])
        self._names = [self._names[t] for t in kept]
        self.items = [self.items[t] for t in kept]
        self.prior = None if rows is None else rows[kept]

    def __enter__(self) -> Self:
        if self._new:
            self._reader.queries.lock.acquire()
        return self

    def start(self, oracle: Oracle) -> None:
        """Tell an oracle of fitted items and these queries what is known of them."""
        if not self._new:
            return
        memory = self._reader.queries
        memory.look()
        self._oracle, n = oracle, self._fitted(oracle)
        for t, name in enumerate(self._names):
            at, values = memory.known(name)
            oracle.read.add_pairs(np.full(len(at), n + t), at, values)
        self._before = oracle.read.scattered()[0]

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._new:
            return
        try:
            if self._oracle is not None:
                self._keep(self._oracle)
        finally:
            self._reader.queries.lock.release()

    def _keep(self, oracle: Oracle) -> None:
        keys, values = oracle.read.scattered()
        fresh = ~np.isin(keys, self._before)
        i, j = oracle.read.ends(keys[fresh])
        query: Indices = np.maximum(i, j) - self._fitted(oracle)
        self._reader.queries.remember(
            self._names, query, np.minimum(i, j), values[fresh]
        )

    def _fitted(self, oracle: Oracle) -> int:
        return oracle.n - len(self._names)
