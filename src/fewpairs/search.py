"""Search: the most similar items of a query, for a stated number of evaluations."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from fewpairs.approximation import Approximation
from fewpairs.entries import Entries
from fewpairs.errors import InputError
from fewpairs.methods.layered import Layered
from fewpairs.neighbors import check_k
from fewpairs.oracle import Oracle
from fewpairs.priors import Prior
from fewpairs.progress import Progress, as_progress
from fewpairs.reader import Reader, looks_like
from fewpairs.similarity.base import Indices

__all__ = ["Found", "Guide", "search"]

_ENTRIES = 1 << 23  # guessed at once: queries side by side times items
_TAUGHT = 64  # known lines that the first guess is fitted to
_TAUGHT_ENTRIES = 400_000
_DEGREE = 3
# Shares of the embeddings, the factors' rows and a constant in the covariance of two
# items' scores, and the variance of what they leave unexplained.
_SHARES, _CONSTANT, _NOISE = 0.5, 0.5, 0.2


class _Pair(NamedTuple):
    indices: NDArray[np.int64]
    similarities: NDArray[Any]


class Found(_Pair):
    """``(indices, similarities)`` of the items found, the most similar first.

    Two arrays of shape (k,) for one query, of (m, k) for m.

    Attributes
    ----------
    evaluations
        Calls of the similarity that the search made, all queries together.
    exact
        Whether all similarities returned were evaluated.
    """

    evaluations: int
    exact: bool

    def __new__(
        cls,
        indices: NDArray[np.int64],
        similarities: NDArray[Any],
        *,
        evaluations: int,
        exact: bool,
    ) -> Self:
        """Make a pair that knows its price."""
        made = super().__new__(cls, indices, similarities)
        made.evaluations, made.exact = evaluations, exact
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
    n = approx.shape[0]
    for name, value in (("evaluations", evaluations), ("rounds", rounds)):
        if not isinstance(value, (int, np.integer)) or value < 1:
            msg = f"{call}: {name} is {value!r:.60}; pass a whole number from 1 on."
            raise InputError(msg)
    reader = approx.reader("search")
    asked = _asked(query, reader, n, new, call)
    k = check_k(k, n if asked.new else n - 1, call, "items to find")
    number = evaluations // reader.calls
    if number < k:
        msg = (
            f"{call}: {evaluations:,} evaluations a query do not cover k = {k} exact "
            f"similarities; pass {k * reader.calls:,} or more."
        )
        raise InputError(msg)
    shown = as_progress(progress, call)
    shown.start("searching", len(asked.queries) * evaluations)
    try:
        sought = _Sought.of(approx, reader, asked, prior, call)
        found = sought.found(k, number, rounds, shown)
    finally:
        shown.finish()
    if not asked.single:
        return found
    return Found(
        found.indices[0],
        found.similarities[0],
        evaluations=found.evaluations,
        exact=found.exact,
    )


class _Asked(NamedTuple):
    queries: Sequence[Any]
    new: bool
    single: bool


def _asked(query: Any, reader: Reader, n: int, new: bool | None, call: str) -> _Asked:
    """Tell positions from new items, and one from many."""
    by_position = reader.similarity.by_position
    fitted = None if by_position else reader.items[0]
    numbers = np.asarray(query) if not isinstance(query, str) else np.asarray("")
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
        np.ndim(query) == 1
        if by_position
        else looks_like(query, fitted) and not _holds(query, fitted)
    )
    return _Asked([query] if single else query, new=True, single=single)


def _holds(query: Any, fitted: Any) -> bool:
    """Tell whether a list holds items rather than being one."""
    return (
        isinstance(query, (list, tuple))
        and len(query) > 0
        and type(query[0]) is type(fitted)
    )


# --- what is guessed before and between evaluations -------------------------------


@dataclass(frozen=True, eq=False)
class Guide:
    """What is known of all items before a query is evaluated at any.

    A query's score of item j is guessed as m(j) + φ(j)·w: m is a cubic of the prior and
    a multiple of the item's mean similarity, fitted to known rows; φ are features of
    the items, and w is refitted to the query's exact scores in every round, by ridge
    regression.

    Attributes
    ----------
    parts
        Arrays with a row an item, unit rows times the root of their share.
    effects
        Every item's mean similarity to the landmarks.
    weights
        Of 1, the effects, and the powers of the prior.
    """

    parts: list[NDArray[np.float32]]
    effects: NDArray[np.float64]
    weights: NDArray[np.float64]

    @classmethod
    def of(cls, approx: Approximation) -> "Guide":
        """Learn it from what the fit has read; no evaluation."""
        factors, known = approx.factors, approx.known
        prior = factors.prior if isinstance(factors, Layered) else None
        side = factors.left if factors.other is None else factors.other
        parts = [_unit(side)]
        if prior is not None and prior.embeddings is not None and prior.alike is None:
            parts.append(_unit(prior.embeddings - prior.embeddings.mean(axis=0)))
        share = np.float32(np.sqrt(2 * _SHARES / len(parts)))
        parts = [part * share for part in parts]
        constant = np.sqrt(np.float32(_CONSTANT))
        parts.append(np.full((known.n, 1), constant, dtype=np.float32))
        effects, weights = _first_guess(known, prior)
        return cls(parts, effects, weights)

    def start(self, cheap: NDArray[Any] | None, queries: int) -> NDArray[np.float64]:
        """Return the first guess, (queries, n)."""
        w = self.weights
        out = np.tile(w[0] + w[1] * self.effects, (queries, 1))
        if cheap is not None:
            power = cheap.astype(np.float64)
            for weight in w[2:]:
                out += weight * power
                power *= cheap
        return out

    def correction(self, at: Indices, missed: NDArray[Any]) -> list[NDArray[Any]]:
        """Return w, part by part, from what the first guess missed at some items."""
        rows = [part[at].astype(np.float64) for part in self.parts]
        gram = sum(part @ part.T for part in rows)
        gram = gram + _NOISE * np.eye(len(at))
        alpha = np.linalg.solve(gram, missed)
        return [(part.T @ alpha).astype(np.float32) for part in rows]

    def add(self, out: NDArray[Any], w: list[list[NDArray[Any]]]) -> None:
        """Add φ·w of every query to a guess."""
        for t, part in enumerate(self.parts):
            out += np.stack([query[t] for query in w]) @ part.T


def _unit(rows: NDArray[Any]) -> NDArray[np.float32]:
    largest = np.abs(rows).max(axis=1, initial=0.0, keepdims=True)
    rows = (rows / np.where(largest > 0, largest, 1)).astype(np.float32)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(norms > 0, norms, 1))


def _first_guess(
    known: Entries, prior: Prior | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Fit 1, the items' effects and powers of the prior to known rows."""
    lines = known.line_indices("columns" if known.symmetric else "rows")
    powers = 0 if prior is None or prior.alike is not None else _DEGREE
    if not len(lines):
        values = known.scattered()[1]
        weights = np.zeros(2 + powers)
        weights[0] = float(values.mean()) if len(values) else 0.0
        return np.zeros(known.n), weights
    rng = np.random.default_rng(0)
    rows = known.lines(lines, "rows").astype(np.float64)
    off = np.ones(rows.shape, dtype=bool)
    off[np.arange(len(lines)), lines] = False
    effects = np.sum(rows, axis=0, where=off) / np.maximum(off.sum(axis=0), 1)
    some = rng.permutation(len(lines))[:_TAUGHT]
    items = rng.permutation(known.n)[: max(1, _TAUGHT_ENTRIES // len(some))]
    at, column = np.nonzero(off[np.ix_(some, items)])
    at, column = some[at], items[column]
    inputs = [np.ones(len(at)), effects[column]]
    if prior is not None and powers:
        cheap = prior.pairs(lines[at], column).astype(np.float64)
        inputs += [cheap**power for power in range(1, powers + 1)]
    fitted = np.linalg.lstsq(np.stack(inputs, axis=1), rows[at, column], rcond=None)
    return effects, fitted[0]


# --- rounds of evaluations ---------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Sought:
    """Queries, where their exact scores come from, and what guides the search."""

    guide: Guide
    oracle: Oracle
    positions: Indices  # of the queries, in the oracle
    n: int
    landmarks: Indices
    prior: Any  # has block(rows, columns), or None
    prior_rows: Indices

    @classmethod
    def of(
        cls, approx: Approximation, reader: Reader, asked: _Asked, given: Any, call: str
    ) -> "_Sought":
        n = approx.shape[0]
        guide = approx._guide
        factors = approx.factors
        prior = factors.prior if isinstance(factors, Layered) else None
        if prior is not None and prior.alike is not None:
            prior = None
        m = len(asked.queries)
        if not asked.new:
            at = np.asarray(asked.queries, dtype=np.int64)
            known = approx.known.line_indices()
            return cls(guide, reader.oracle, at, n, known, prior, at)
        oracle = reader.outside(asked.queries, call)
        beside = None
        if prior is not None:
            nothing = np.empty((m, 0))
            beside = prior.beside(given, asked.queries, nothing, call)
        return cls(
            guide, oracle, n + np.arange(m), n, approx.landmarks, beside, np.arange(m)
        )

    def found(self, k: int, number: int, rounds: int, shown: Progress) -> Found:
        before = self.oracle.evaluations
        step = max(1, _ENTRIES // self.n)
        indices, values = [], []
        for start in range(0, len(self.positions), step):
            part = np.arange(start, min(start + step, len(self.positions)))
            at, scores = self._search(part, number, rounds, shown)
            for own, score in zip(at, scores, strict=True):
                order = np.lexsort((own, -score))[:k]
                indices.append(own[order])
                values.append(score[order])
        return Found(
            np.array(indices, dtype=np.int64).reshape(-1, k),
            np.array(values).reshape(-1, k),
            evaluations=self.oracle.evaluations - before,
            exact=True,
        )

    def _search(
        self, queries: Indices, number: int, rounds: int, shown: Progress
    ) -> tuple[list[Indices], list[NDArray[Any]]]:
        """Return what was evaluated of each query, and its exact scores."""
        everything = np.arange(self.n)
        cheap = None
        if self.prior is not None:
            cheap = self.prior.block(self.prior_rows[queries], everything)
        first = self.guide.start(cheap, len(queries))
        at, scores = self._known(queries)
        spent = np.zeros(len(queries), dtype=np.int64)
        for turn in range(rounds):
            wanted = (number - spent) // (rounds - turn)
            guess = self._guess(first, at, scores)
            chosen = []
            for t, query in enumerate(queries):
                guess[t, at[t]] = -np.inf
                own = self.positions[query]
                if own < self.n:
                    guess[t, own] = -np.inf
                blind = self.prior is None and not len(at[t])
                chosen.append(self._best(guess[t], int(wanted[t]), blind=blind))
            spent += np.array([len(some) for some in chosen])
            fresh = self._read(queries, chosen)
            shown.advance(sum(len(some) for some in chosen))
            at = [np.concatenate(both) for both in zip(at, chosen, strict=True)]
            scores = [np.concatenate(both) for both in zip(scores, fresh, strict=True)]
        return at, scores

    def _known(self, queries: Indices) -> tuple[list[Indices], list[NDArray[Any]]]:
        """Return what is known of the queries already: it is free."""
        read = self.oracle.read
        at, scores = [], []
        everything = np.arange(self.n)
        for query in queries:
            own = self.positions[query]
            if own >= self.n:
                at.append(np.empty(0, dtype=np.int64))
                scores.append(np.empty(0))
                continue
            known, values = read.lookup(np.full(self.n, own), everything)
            known[own] = False
            at.append(np.flatnonzero(known))
            scores.append(values[known])
        return at, scores

    def _guess(
        self, first: NDArray[Any], at: list[Indices], scores: list[NDArray[Any]]
    ) -> NDArray[Any]:
        guess = first.copy()
        told = [t for t, own in enumerate(at) if len(own)]
        if told:
            w = [
                self.guide.correction(at[t], scores[t] - first[t, at[t]]) for t in told
            ]
            better = guess[told]
            self.guide.add(better, w)
            guess[told] = better
        return guess

    def _best(self, guess: NDArray[Any], wanted: int, *, blind: bool) -> Indices:
        """Return the items to evaluate next."""
        live = int(np.isfinite(guess).sum())
        wanted = min(wanted, live)
        if wanted < 1:
            return np.empty(0, dtype=np.int64)
        if blind:  # landmarks spread over the items
            return np.asarray(self.landmarks[:wanted], dtype=np.int64)
        return np.argpartition(-guess, wanted - 1)[:wanted]

    def _read(self, queries: Indices, chosen: list[Indices]) -> list[NDArray[Any]]:
        """Evaluate what was chosen of all queries at once."""
        sizes = [len(some) for some in chosen]
        own = np.repeat(self.positions[queries], sizes)
        values = self.oracle.pairs(own, np.concatenate(chosen))
        return np.split(values, np.cumsum(sizes)[:-1])
