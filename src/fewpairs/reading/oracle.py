"""Oracle: the only reader of the matrix. It counts, and it keeps the budget."""

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from fewpairs.errors import BudgetError, InputError, SimilarityError, StoreError
from fewpairs.execution import PortableScorer, Serial, Workers
from fewpairs.interrupts import Shield
from fewpairs.ledger.ledger import Identity, Ledger
from fewpairs.matrix.cost import Budget, Cost
from fewpairs.matrix.entries import Axis, Entries
from fewpairs.matrix.grid import chunks_of_lines
from fewpairs.matrix.symmetry import BothOrders, compare, draw_pairs, pairs_to_check
from fewpairs.progress import Progress, Silence
from fewpairs.reading.evaluator import Evaluator
from fewpairs.reading.filling import Filler
from fewpairs.similarity.base import Scorer, Similarity
from fewpairs.types import Indices

__all__ = ["Oracle", "Reading"]


class Reading(NamedTuple):
    """What a run has read, and whether the similarity was found symmetric."""

    entries: Entries
    symmetric: bool


P = ParamSpec("P")
T = TypeVar("T")


def _one_at_a_time(
    read: "Callable[Concatenate[Oracle, P], T]",
) -> "Callable[Concatenate[Oracle, P], T]":
    """Let one thread after the other look up, pay and keep."""

    @functools.wraps(read)
    def alone(oracle: "Oracle", /, *given: P.args, **named: P.kwargs) -> T:
        with oracle.lock:  # not inside a shield: who waits here can be interrupted
            return read(oracle, *given, **named)

    return alone


class Oracle:
    """Reads columns, rows, blocks and pairs of a similarity matrix, and counts.

    The matrix is K[i, j] = s(item i, item j). An asymmetric similarity is read as
    ½(K + Kᵀ) unless ``symmetrize=False``. An entry (when symmetric: or its mirror)
    that is known is never evaluated again. The budget is checked before the
    similarity is called, never after. Threads may share an oracle, and oracles a
    ledger: requests are answered one at a time.

    Parameters
    ----------
    scorer
        The similarity, bound to its items.
    similarity
        Its declared facts.
    budget
        A share of the distinct pairs (float), a number of evaluations (int) or no
        limit (``None``).
    symmetrize
        Whether an asymmetric similarity is read as ½(K + Kᵀ).
    ledger
        Where evaluations are kept; one that holds some already makes them free.
    progress
        Told of every finished chunk.
    rng
        Draws the pairs on which an unproven symmetry is checked.
    identity
        Fingerprints the similarity and the items, where a ledger has to know.
    before
        What an earlier run read and settled: this one goes on from there.
    workers
        Those who call the similarity; by default it is called here, chunk by chunk.
    lock
        Held while a request is answered; by default the ledger's own.

    Attributes
    ----------
    n, symmetric
        Size of the matrix that is read, and whether it is symmetric.
    cost
        What reading costs.
    limit
        Evaluations that the budget allows; ``None``: no limit.
    evaluations, money
        Calls of the similarity made so far, one a pair, and what they cost.
    charged
        Calls that this takes, made now or paid for before: the same whatever a ledger
        knows.
    read
        Every entry that was read here, paid for now or before.
    """

    def __init__(
        self,
        scorer: Scorer,
        similarity: Similarity,
        *,
        budget: Budget = None,
        symmetrize: bool = True,
        ledger: Ledger | None = None,
        progress: Progress | None = None,
        rng: np.random.Generator | None = None,
        identity: Callable[[], Identity] | None = None,
        before: "Reading | None" = None,
        workers: Workers | None = None,
        lock: AbstractContextManager[Any] | None = None,
    ) -> None:
        self.n = scorer.n
        self.name = similarity.name
        self.evaluations = 0
        self.charged = 0
        self.money = 0.0
        self._scorer = scorer
        workers = workers or Serial(PortableScorer(scorer, similarity, None))
        self._evaluator = Evaluator(workers, scorer, self._count)
        self._progress = progress or Silence()
        self._ledger = Ledger() if ledger is None else ledger
        self.lock = lock or self._ledger.lock
        free = similarity.diagonal is not None
        self.cost = Cost(self.n, symmetric=True, calls=1, free_diagonal=free)
        self.limit = self.cost.limit(budget)
        # A budget of 1.0 is everything: the check of the symmetry comes on top.
        on_top = isinstance(budget, float) and budget == 1.0
        if on_top and self.limit is not None:
            self.limit += 2 * pairs_to_check(similarity, self.n, None)

        symmetric, checked, sample = self._settle_symmetry(similarity, rng, before)
        averages = not symmetric and symmetrize
        self.symmetric = symmetric or symmetrize
        self.cost = Cost(
            self.n,
            symmetric=self.symmetric,
            calls=2 if averages else 1,
            free_diagonal=free,
        )
        self.limit = self.cost.limit(budget)
        if on_top and self.limit is not None:
            self.limit += self.evaluations
        self._known = self._ledger.open(
            self.n,
            similarity=self.name,
            symmetric=symmetric,
            symmetrized=averages,
            diagonal=similarity.diagonal,
            identity=identity,
            sample=None if sample is None else sample.entries(symmetric=self.symmetric),
        )
        self._evaluator.averages = averages
        self._filler = Filler(self._evaluator, self._ledger, symmetric=self.symmetric)
        if before is not None:
            self.read = before.entries
            if ledger is None:
                self._known = self._ledger.entries = before.entries
        elif ledger is not None:
            self.read = Entries(
                self.n, symmetric=self.symmetric, diagonal=similarity.diagonal
            )
        else:
            self.read = self._known
        self._found_symmetric = symmetric
        if checked is not None:  # they have been paid for
            i, j = checked
            both = (i, j) if self.symmetric else (np.r_[i, j], np.r_[j, i])
            self.pairs(*both)
            self.charged = 2 * len(i)

    def reading(self) -> "Reading":
        """Return what another run needs to go on from here; it has to copy it."""
        return Reading(self.read, self._found_symmetric)

    @property
    def seconds(self) -> float:
        """Time spent inside the similarity."""
        return self._evaluator.seconds

    # --- what methods read -----------------------------------------------------

    @property
    def remaining(self) -> int | None:
        """Evaluations that the budget still allows; ``None``: no limit."""
        return None if self.limit is None else self.limit - self.evaluations

    def columns(self, indices: Indices) -> NDArray[Any]:
        """Return K[:, indices], an (n, k) array that must not be written to."""
        return self._lines(indices, "columns").T

    def rows(self, indices: Indices) -> NDArray[Any]:
        """Return K[indices, :], a (k, n) array that must not be written to."""
        return self._lines(indices, "rows")

    @_one_at_a_time
    @Shield()
    def principal(self, indices: Indices) -> NDArray[Any]:
        """Return the principal block K[indices, indices] of distinct items."""
        indices = self._distinct(indices, "principal")
        W = np.full((len(indices), len(indices)), np.nan)
        unread = self._overlay(W, indices, indices)
        fresh = np.isnan(np.triu(W) if self.symmetric else W)
        on_diagonal = int(np.diagonal(fresh).sum())
        self._afford(int(fresh.sum()) - on_diagonal, on_diagonal)
        mine = np.triu(unread) if self.symmetric else unread
        own = int(np.diagonal(mine).sum())
        self._charge(int(mine.sum()) - own, own)
        error = self._filler.principal(W, indices, unread)
        i, j = np.nonzero(fresh & np.isfinite(W))
        self._known.add_pairs(indices[i], indices[j], W[i, j])
        self._raise(error)
        if self.read is not self._known:
            everything = np.ones_like(fresh)
            i, j = np.nonzero(np.triu(everything) if self.symmetric else everything)
            self.read.add_pairs(indices[i], indices[j], W[i, j])
        return W

    @_one_at_a_time
    @Shield()
    def block(self, rows: Indices, columns: Indices) -> NDArray[Any]:
        """Return K[rows, columns] for two sets of items that do not overlap."""
        rows = self._distinct(rows, "block")
        columns = self._distinct(columns, "block")
        if len(np.intersect1d(rows, columns)):
            msg = "Oracle.block: an item is among rows and columns; use principal()."
            raise InputError(msg)
        V = np.full((len(rows), len(columns)), np.nan)
        unread = self._overlay(V, rows, columns)
        fresh = np.isnan(V)
        self._afford(int(fresh.sum()))
        self._charge(int(unread.sum()))
        error = self._filler.block(V, rows, columns, unread)
        i, j = np.nonzero(fresh & np.isfinite(V))
        self._known.add_pairs(rows[i], columns[j], V[i, j])
        self._raise(error)
        if self.read is not self._known:
            i, j = np.nonzero(np.ones_like(fresh))
            self.read.add_pairs(rows[i], columns[j], V[i, j])
        return V

    @_one_at_a_time
    @Shield()
    def pairs(self, i: Indices, j: Indices) -> NDArray[np.float64]:
        """Return K[i[t], j[t]] for every t; the same pair twice is paid for once."""
        i, j = np.asarray(i, dtype=np.int64), np.asarray(j, dtype=np.int64)
        read, values = self.read.lookup(i, j)
        if self.symmetric:
            i, j = np.minimum(i, j), np.maximum(i, j)
        keys, first, where = np.unique(
            (i * self.n + j)[~read], return_index=True, return_inverse=True
        )
        if len(keys):
            # In the order of the request: what is asked first is paid for first.
            order = np.argsort(first)
            a, b = np.divmod(keys[order], self.n)
            place = np.empty(len(order), dtype=np.int64)
            place[order] = np.arange(len(order))
            values[~read] = self._fresh_pairs(a, b)[place[where]]
        if self.read is not self._known:
            off = i != j if self.read.diagonal is not None else np.ones(i.shape, bool)
            self.read.add_pairs(i[off], j[off], values[off])
        return values

    def _fresh_pairs(self, a: Indices, b: Indices) -> NDArray[np.float64]:
        """Return distinct pairs that this run has not read."""
        new = np.full(len(a), np.nan)
        if self.read is not self._known:
            known, values = self._known.lookup(a, b)
            new[known] = values[known]
        missing = np.isnan(new)
        on_diagonal = int((a == b)[missing].sum())
        self._afford(int(missing.sum()) - on_diagonal, on_diagonal)
        own = int((a == b).sum())
        self._charge(len(a) - own, own)
        error = self._filler.pairs(new, a, b)
        done = missing & np.isfinite(new)
        self._known.add_pairs(a[done], b[done], new[done])
        self._raise(error)
        return new

    def diagonal(self, indices: Indices) -> NDArray[np.float64]:
        """Return K[i, i] for every i in ``indices``; free where it is declared."""
        return self.pairs(indices, indices)

    def decide(self, name: str, choose: Callable[[], Any]) -> Any:
        """Decide what depends on the clock; a run that goes on decides the same."""
        return self._ledger.decide(name, choose)

    def note(self, what: str) -> None:
        """Tell whoever watches what is being done."""
        note = getattr(self._progress, "note", None)
        if note is not None:  # watchers need not listen to it
            note(what)

    # --- lines -----------------------------------------------------------------

    @_one_at_a_time
    @Shield()
    def _lines(self, indices: Indices, axis: Axis) -> NDArray[Any]:
        indices = self._distinct(indices, axis)
        unread = indices[~self.read.has_lines(indices, axis)]
        if len(unread):
            self._charge(*self.read.missing_in_lines(unread, axis))
        missing = indices[~self._known.has_lines(indices, axis)]
        if len(missing):
            self._read_lines(missing, axis)
        values = self._known.lines(indices, axis)
        if self.read is not self._known:
            new = ~self.read.has_lines(indices, axis)
            self.read.add_lines(
                indices[new], values if new.all() else values[new], axis
            )
        return values

    def _read_lines(self, indices: Indices, axis: Axis) -> None:
        """Evaluate what is missing of these lines and keep it, chunk by chunk."""
        chunks = chunks_of_lines(len(indices), self.n, int(self._scorer.chunk))
        missing = self._known.missing_in_lines(indices, axis)
        blank = not any(self._known.partial.values()) and (
            self.read is self._known
            or missing == self.read.missing_in_lines(indices, axis)
        )
        if blank:  # the ledger knows no more than the run
            self._afford(*missing)
        writer = self._ledger.lines(
            indices, axis, self._scorer.dtype, chunks, blank=blank
        )
        self._known.fill_lines(writer.values, indices, axis)
        if not blank:
            self._afford(*self._count_missing(writer.values, indices))
        error = self._filler.lines(
            writer, chunks, indices, axis, read=self.read, known=self._known
        )
        self._ledger.keep_lines(indices, axis, writer, chunks, whole=error is None)
        self._raise(error)

    def _count_missing(self, out: NDArray[Any], indices: Indices) -> tuple[int, int]:
        """Return how many entries are NaN, mirrors once, and on the diagonal."""
        own = out[:, indices]
        missing = sum(int(np.isnan(line).sum()) for line in out)
        if self.symmetric:  # a pair of two new lines is paid for once
            missing -= int(np.isnan(np.tril(own, -1)).sum())
        on_diagonal = int(np.isnan(np.diagonal(own)).sum())
        return missing - on_diagonal, on_diagonal

    def _overlay(
        self, V: NDArray[Any], rows: Indices, columns: Indices
    ) -> NDArray[np.bool_]:
        """Fill in what the ledger knows; return what this run has not read."""
        mine = V
        if self.read is not self._known:
            mine = np.full(V.shape, np.nan)
            self.read.overlay(mine, rows, columns)
        self._known.overlay(V, rows, columns)
        return np.asarray(np.isnan(mine))

    # --- books, budget and symmetry ----------------------------------------------

    def _count(self, evaluations: int) -> None:
        self.evaluations += evaluations
        money = evaluations * self._scorer.price
        self.money += money
        self._ledger.count(evaluations, money)
        spend = getattr(self._progress, "spend", None)
        if money and spend is not None:  # watchers need not listen to it
            spend(money)
        self._progress.advance(evaluations)

    def _raise(self, error: BaseException | None) -> None:
        if error is None:
            return
        if isinstance(error, (SimilarityError, StoreError)):
            error.ledger = self._ledger
        raise error

    def _charge(self, entries: int, diagonal: int = 0) -> None:
        """Book what a request takes, whoever has paid for it."""
        self.charged += entries * self.cost.calls + diagonal

    def _afford(self, entries: int, diagonal: int = 0) -> None:
        """Refuse what the budget does not cover, before it is evaluated."""
        price = entries * self.cost.calls + diagonal
        if self.remaining is not None and price > self.remaining:
            msg = (
                f"reading this takes {price:,} evaluations, and {self.remaining:,} of "
                f"the budget of {self.limit:,} are left. Raise budget= to "
                f"{self.evaluations + price:,} or more."
            )
            raise BudgetError(msg, needed=price, allowed=self.remaining)

    def _distinct(self, indices: Indices, call: str) -> Indices:
        indices = np.asarray(indices, dtype=np.int64)
        if len(np.unique(indices)) != len(indices):
            msg = f"Oracle.{call}: an item comes twice in {len(indices)}; pass it once."
            raise InputError(msg)
        return indices

    def _settle_symmetry(
        self,
        similarity: Similarity,
        rng: np.random.Generator | None,
        before: "Reading | None",
    ) -> tuple[bool, tuple[Indices, Indices] | None, BothOrders | None]:
        """Return whether it is symmetric, and the pairs that say so, with values."""
        if before is not None:
            return before.symmetric, None, None
        size = pairs_to_check(similarity, self.n, self.limit)
        if not size:
            return bool(similarity.symmetric), None, None
        checked = draw_pairs(self.n, size, rng or np.random.default_rng(0))
        if self._ledger.symmetric is not None:  # settled and paid for by another run
            return self._ledger.symmetric, checked, None
        sample = self._both_orders(*checked)
        return compare(similarity, sample), checked, sample

    def _both_orders(self, i: Indices, j: Indices) -> BothOrders:
        """Evaluate pairs in both orders."""
        self._afford(2 * len(i))
        first, second = np.column_stack([i, j]), np.column_stack([j, i])
        outcome = self._evaluator.score(first.ravel(), second.ravel())
        self._raise(outcome.error)
        return BothOrders(i, j, outcome.values[::2], outcome.values[1::2])
