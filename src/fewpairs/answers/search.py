"""Search: the most similar items of a query, for a stated number of evaluations."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from fewpairs.answers.guiding import Guide, evaluate_in_rounds, guide_of, prior_of
from fewpairs.answers.neighbors import check_k
from fewpairs.answers.pools import PooledGuide, padded, proposed
from fewpairs.answers.repeated_queries import RepeatedQueries
from fewpairs.checks import check_flag, check_whole
from fewpairs.errors import InputError
from fewpairs.matrix.entries import Entries
from fewpairs.progress import Progress, as_progress
from fewpairs.reading.oracle import Oracle
from fewpairs.reading.reader import Reader, looks_like
from fewpairs.result.approximation import Approximation
from fewpairs.similarity.items import as_items, holds_items
from fewpairs.types import Indices

__all__ = ["Found", "search"]

_Scored = tuple[list[Indices], list[NDArray[Any]]]  # items of queries, their scores

_ENTRIES = 1 << 23  # guessed at once: queries side by side times items


class _FoundArrays(NamedTuple):
    indices: NDArray[np.int64]
    similarities: NDArray[Any]


class Found(_FoundArrays):
    """``(indices, similarities)`` of the items found, the most similar first.

    Two arrays of shape (k,) for one query, of (m, k) for m.

    Attributes
    ----------
    evaluations
        Calls of the similarity that the search made, all queries together.
    """

    evaluations: int

    def __new__(
        cls,
        indices: NDArray[np.int64],
        similarities: NDArray[Any],
        *,
        evaluations: int,
    ) -> Self:
        """Make a pair that knows its price."""
        made = super().__new__(cls, indices, similarities)
        made.evaluations = evaluations
        return made

    def __repr__(self) -> str:
        return f"<Found: {self.indices.shape}, {self.evaluations:,} evaluations>"


def search(
    approx: Approximation,
    query: Any,
    k: int = 10,
    *,
    evaluations: int = 100,
    rounds: int = 6,
    prior: Any = None,
    new: bool | None = None,
    progress: bool | Progress = False,
) -> Found:
    """Find the most similar items of queries; see ``Approximation.search``."""
    call = "Approximation.search"
    m, n = approx.shape
    evaluations = check_whole(call, "evaluations", evaluations, least=1)
    rounds = check_whole(call, "rounds", rounds, least=1)
    new = check_flag(call, "new", new, none=True)
    reader = approx.reader("search")
    asked = _asked(query, reader, m, new, call)
    itself = approx.known.sides is None and not asked.new
    k = check_k(k, n - itself, call, "items to find")
    number = evaluations // reader.calls
    if number < k:
        msg = (
            f"{call}: {evaluations:,} evaluations per query do not cover k = {k} exact "
            f"similarities; pass {k * reader.calls:,} or more."
        )
        raise InputError(msg)
    shown = as_progress(progress, call)
    shown.start("searching", len(asked.queries) * evaluations)
    try:
        with RepeatedQueries(reader, asked.queries, prior, new=asked.new) as distinct:
            some = asked._replace(queries=distinct.items)
            sought = _Sought.of(approx, reader, some, distinct.prior, call)
            distinct.start(sought.oracle)
            found = sought.found(k, number, min(rounds, number), shown)
    finally:
        shown.finish()
    each = 0 if asked.single else distinct.which
    return Found(
        found.indices[each], found.similarities[each], evaluations=found.evaluations
    )


class _Asked(NamedTuple):
    queries: Sequence[Any]
    new: bool
    single: bool


def _asked(query: Any, reader: Reader, n: int, new: bool | None, call: str) -> _Asked:
    """Tell positions from new items, and one from many."""
    by_position = reader.similarity.by_position
    fitted = None if by_position else reader.items[0]
    if holds_items(query) and not isinstance(query, type(fitted)):
        query = as_items(query, call, name="query")
    try:
        numbers = np.asarray(query)
    except Exception:  # noqa: BLE001 - lists of different lengths, or no array
        numbers = np.empty(0)
    whole = numbers.dtype.kind in "iu" and numbers.ndim <= 1 and numbers.size > 0
    if new is None and whole and isinstance(fitted, (int, float, np.number)):
        msg = (
            f"{call}: the fitted items are numbers, so {query!r:.60} may be one or the "
            "position of one. Pass new=True for new items, new=False for positions."
        )
        raise InputError(msg)
    vector = isinstance(fitted, np.ndarray) and looks_like(query, fitted)
    if new is False or (new is None and whole and not vector):
        if not whole or numbers.min() < -n or numbers.max() >= n:
            msg = (
                f"{call}: {query!r:.60} does not name fitted items; positions are "
                f"whole numbers from 0 to {n - 1}."
            )
            raise InputError(msg)
        at = (np.atleast_1d(numbers) % n).tolist()
        return _Asked(at, new=False, single=numbers.ndim == 0)
    single = (
        numbers.ndim == 1 and numbers.size > 0
        if by_position
        else _is_one(query, fitted)
    )
    queries = reader.checked([query] if single else query, call)
    return _Asked(queries, new=True, single=single)


def _is_one(query: Any, fitted: Any) -> bool:
    """Tell one item from a list of them."""
    if isinstance(fitted, (list, tuple)):
        holds = isinstance(query, (list, tuple)) and len(query) > 0
        return holds and not isinstance(query[0], (list, tuple))
    if isinstance(query, (list, tuple)):
        return False
    return looks_like(query, fitted)


@dataclass(frozen=True, eq=False)
class _Sought:
    """Queries, where their exact scores come from, and what guides the search."""

    guide: Guide
    known: Entries  # what the fit has read
    oracle: Oracle
    positions: Indices  # of the queries, in the oracle
    others: Indices  # the items that are sought, of two sets the right ones
    new: bool
    prior: Any  # has block(rows, columns), or None
    prior_rows: Indices
    approx: Approximation
    spent: list[int] = field(default_factory=list)  # evaluations of every request

    @classmethod
    def of(
        cls, approx: Approximation, reader: Reader, asked: _Asked, given: Any, call: str
    ) -> "_Sought":
        others, m = approx.known.seekers[1], len(asked.queries)
        prior = prior_of(approx)
        if not asked.new:
            at = np.asarray(asked.queries, dtype=np.int64)
            return cls(
                guide_of(approx),
                approx.known,
                reader.oracle,
                at,
                others,
                False,
                prior,
                at,
                approx,
            )
        oracle = reader.outside(asked.queries, call)
        beside = None
        if prior is not None:
            nothing = np.empty((m, 0))
            beside = prior.beside(given, asked.queries, nothing, call)
        new = np.arange(m)
        return cls(
            guide_of(approx),
            approx.known,
            oracle,
            approx.known.n + new,
            others,
            True,
            beside,
            new,
            approx,
        )

    @property
    def n(self) -> int:
        """How many items are sought among."""
        return len(self.others)

    @property
    def first(self) -> int:
        """Where they begin among all items."""
        return int(self.others[0])

    @property
    def itself(self) -> bool:
        """Whether a query is among them."""
        return not self.new and self.known.sides is None

    def found(self, k: int, number: int, rounds: int, shown: Progress) -> Found:
        proposed = self._proposed(number)
        width = self.n if proposed is None else proposed.shape[1]
        step = max(1, _ENTRIES // width)
        indices, values = [], []
        for start in range(0, len(self.positions), step):
            part = np.arange(start, min(start + step, len(self.positions)))
            pool = None if proposed is None else proposed[part]
            at, scores = self._search(part, pool, (number, rounds), shown)
            for own, score in zip(at, scores, strict=True):
                order = np.lexsort((own, -score))[:k]
                indices.append(own[order])
                values.append(score[order])
        return Found(
            np.array(indices, dtype=np.int64).reshape(-1, k),
            np.array(values).reshape(-1, k),
            evaluations=sum(self.spent),
        )

    def _proposed(self, number: int) -> Indices | None:
        """Return the items that each query chooses from; ``None``: all."""
        if self.known.sides is not None:
            return None
        if not self.new:
            return proposed(self.approx, self.positions, None, number)
        vectors = getattr(self.prior, "embeddings", None)
        return proposed(self.approx, None, vectors, number)

    def _search(
        self,
        queries: Indices,
        pool: Indices | None,
        numbers: tuple[int, int],
        shown: Progress,
    ) -> tuple[list[Indices], list[NDArray[Any]]]:
        own = self.positions[queries]

        def read(chosen: list[Indices]) -> list[NDArray[Any]]:
            sizes = [len(some) for some in chosen]
            with self.oracle.lock:  # of several threads, count one's own
                before = self.oracle.evaluations
                i, j = np.repeat(own, sizes), self.first + np.concatenate(chosen)
                values = self.oracle.pairs(i, j)
                self.spent.append(self.oracle.evaluations - before)
            shown.advance(sum(sizes))
            return np.split(values, np.cumsum(sizes)[:-1])

        known, prior_rows = self._known(own), self.prior_rows[queries]
        # Landmarks spread over the items.
        landmarks = self.approx.landmarks
        there = landmarks[landmarks >= self.first] - self.first
        spread = there if self.prior is None and len(there) else None
        if pool is not None:
            return self._in_pools(
                padded(pool, known[0], own, self.n), known, prior_rows, read, numbers
            )
        cheap = None
        if self.prior is not None:
            cheap = self.prior.block(prior_rows, self.others)
        return evaluate_in_rounds(
            self.guide,
            self.guide.start(cheap, len(queries)),
            known,
            read,
            hidden=own if self.itself else np.full(len(own), -1),
            numbers=numbers,
            spread=spread,
        )

    def _in_pools(
        self,
        pools: Indices,
        known: _Scored,
        prior_rows: Indices,
        read: Callable[[list[Indices]], list[NDArray[Any]]],
        numbers: tuple[int, int],
    ) -> _Scored:
        """Search among some items of each query, by their places in its pool."""
        guide = PooledGuide(self.guide, pools)
        cheap = None
        if self.prior is not None:
            rows = zip(prior_rows, pools, strict=True)
            blocks = [self.prior.block(row[None], some) for row, some in rows]
            cheap = np.concatenate(blocks)
        places = [
            np.searchsorted(some, at) for some, at in zip(pools, known[0], strict=True)
        ]

        def items(at: list[Indices]) -> list[Indices]:
            return [some[own] for some, own in zip(pools, at, strict=True)]

        at, scores = evaluate_in_rounds(
            guide,
            guide.start(cheap, len(pools)),
            (places, known[1]),
            lambda chosen: read(items(chosen)),
            hidden=np.full(len(pools), -1),
            numbers=numbers,
        )
        return items(at), scores

    def _known(self, own: Indices) -> tuple[list[Indices], list[NDArray[Any]]]:
        """Return what the fit has read of the queries: it is free.

        Not what was read since, which would make an answer depend on others.
        """
        at: list[Indices] = []
        scores: list[NDArray[Any]] = []
        scattered = not (self.known.columns or self.known.rows or self._has_holes)
        for query in own:
            if not self.new and scattered:
                _, where, values = self.known.scattered_in_lines(query[None], "rows")
                off = where != query
                at.append(where[off] - self.first)
                scores.append(values[off])
                continue
            known, values = np.zeros(self.n, dtype=bool), np.empty(self.n)
            if not self.new:
                row = np.full(self.n, query)
                known, values = self.known.lookup(row, self.others)
                known[self.others == query] = False
            at.append(np.flatnonzero(known))
            scores.append(values[known])
        return at, scores

    @property
    def _has_holes(self) -> bool:
        return bool(self.known.partial["columns"] or self.known.partial["rows"])
