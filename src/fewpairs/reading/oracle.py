"""Oracle: the only reader of the matrix. It counts, and it keeps the budget."""

import functools
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from fewpairs.errors import InputError, SimilarityError, SpentError, StoreError
from fewpairs.interrupts import Shield
from fewpairs.ledger.ledger import Ledger
from fewpairs.matrix.cost import Cost
from fewpairs.matrix.entries import Entries
from fewpairs.matrix.grid import chunks_of_lines
from fewpairs.matrix.limits import Limits
from fewpairs.matrix.lines import Axis
from fewpairs.matrix.tiles import Tile, TileGrid
from fewpairs.progress import EVALUATING, Progress
from fewpairs.reading.account import Account
from fewpairs.reading.evaluator import Evaluator
from fewpairs.reading.filling import Filler
from fewpairs.reading.run_entries import ReadSoFar, RunEntries
from fewpairs.reading.tile_reader import Proof, TileReader
from fewpairs.types import Indices

__all__ = ["Oracle"]

_PARTS = 16  # in which lines are read where money or time may end


P = ParamSpec("P")
T = TypeVar("T")


def _one_at_a_time(
    read: "Callable[Concatenate[Oracle, P], T]",
) -> "Callable[Concatenate[Oracle, P], T]":
    """Let one thread after the other look up, pay and keep."""

    @functools.wraps(read)
    def alone(oracle: "Oracle", /, *given: P.args, **named: P.kwargs) -> T:
        with oracle.lock:  # not inside a shield: who waits here can be interrupted
            oracle.note(EVALUATING)
            answer = read(oracle, *given, **named)
            oracle.note("computing")  # unless who asked knows better what comes next
            return answer

    return alone


class Oracle:
    """Reads columns, rows, blocks and pairs of a similarity matrix, and counts.

    The matrix is K[i, j] = s(item i, item j), or ½(K + Kᵀ) of an asymmetric similarity.
    An entry (when symmetric: or its mirror) that is known is never evaluated again. The
    budget is checked before the similarity is called, never after. Threads may share an
    oracle, and oracles a ledger: requests are answered one at a time. Made by
    :func:`fewpairs.reading.opening.open_oracle`.

    Parameters
    ----------
    cost
        Size and symmetry of the matrix, and what an entry takes.
    entries
        What is known of it.
    account
        What may be spent.
    evaluator, dtype
        Who calls the similarity, and the precision in which values are kept.
    ledger
        Where evaluations are kept.
    progress
        Told what is being done.
    lock
        Held while a request is answered.
    proof
        Says which pairs cannot reach what is wanted of a tile; ``None``: nothing does.

    Attributes
    ----------
    n, symmetric
        Size of the matrix that is read, and whether it is symmetric.
    """

    def __init__(
        self,
        cost: Cost,
        entries: RunEntries,
        account: Account,
        *,
        evaluator: Evaluator,
        dtype: np.dtype[Any],
        ledger: Ledger,
        progress: Progress,
        lock: AbstractContextManager[Any],
        proof: Proof | None = None,
    ) -> None:
        self.cost, self.account = cost, account
        self.n, self.symmetric = cost.n, cost.symmetric
        self._entries = entries
        self._evaluator, self._dtype = evaluator, dtype
        self._ledger, self._progress, self.lock = ledger, progress, lock
        self._cuttable = 0  # requests that may have been cut
        evaluator.averages = cost.calls == 2
        self._filler = Filler(evaluator, ledger, symmetric=cost.symmetric)
        self._tiles = TileReader(cost, entries, account, evaluator, dtype, proof=proof)

    @property
    def read(self) -> Entries:
        """Every entry that was read here, paid for now or before."""
        return self._entries.read

    @property
    def known(self) -> Entries:
        """Every entry that the ledger knows."""
        return self._entries.known

    @property
    def evaluations(self) -> int:
        """Calls of the similarity made so far, one per pair."""
        return self.account.evaluations

    @property
    def charged(self) -> int:
        """Calls that this takes, made now or paid for before."""
        return self.account.charged

    @property
    def remaining(self) -> int | None:
        """Evaluations that the budget still allows; ``None``: no limit."""
        return self.account.remaining

    @property
    def seconds(self) -> float:
        """Time spent inside the similarity."""
        return self._evaluator.seconds

    def reading(self) -> ReadSoFar:
        """Return what another run needs to go on from here; it has to copy it."""
        found = self.cost.symmetric and self.cost.calls == 1
        return ReadSoFar(self.read, found)

    # --- what methods read -----------------------------------------------------

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
        indices = _distinct(indices, "principal")
        W = np.full((len(indices), len(indices)), np.nan)
        unread = self._entries.overlay(W, indices, indices)
        once = np.triu if self.symmetric else np.asarray
        fresh = np.asarray(once(np.isnan(W)))
        self._afford(*_off_and_on_diagonal(fresh))
        self._charge(*_off_and_on_diagonal(np.asarray(once(unread))))
        error = self._filler.principal(W, indices, unread)
        self._enter(W, fresh, indices, indices)
        self._raise(error)
        i, j = np.nonzero(once(np.ones_like(fresh)))
        self._entries.take(indices[i], indices[j], W[i, j])
        return W

    @_one_at_a_time
    @Shield()
    def block(self, rows: Indices, columns: Indices) -> NDArray[Any]:
        """Return K[rows, columns] for two sets of items that do not overlap."""
        rows, columns = _distinct(rows, "block"), _distinct(columns, "block")
        if len(np.intersect1d(rows, columns)):
            msg = "Oracle.block: an item is among rows and columns; use principal()."
            raise InputError(msg)
        V = np.full((len(rows), len(columns)), np.nan)
        unread = self._entries.overlay(V, rows, columns)
        fresh = np.isnan(V)
        self._afford(int(fresh.sum()))
        self._charge(int(unread.sum()))
        error = self._filler.block(V, rows, columns, unread)
        self._enter(V, fresh, rows, columns)
        self._raise(error)
        i, j = np.nonzero(np.ones_like(fresh))
        self._entries.take(rows[i], columns[j], V[i, j])
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
        self._entries.take(i, j, values)
        return values

    def pairs_that_fit(
        self, i: Indices, j: Indices
    ) -> tuple[Indices, Indices, NDArray[np.float64]]:
        """Return pairs and their values: all, or those that money and time paid for."""
        self._cuttable += 1
        name = f"cut {self._cuttable}"  # the clock may decide: once
        if self._ledger.decide(name, None) is None:
            try:
                return i, j, self.pairs(i, j)
            except SpentError:
                self._ledger.decide(name, lambda: True)
        have, _ = self.known.lookup(i, j)
        return i[have], j[have], self.pairs(i[have], j[have])

    def _fresh_pairs(self, a: Indices, b: Indices) -> NDArray[np.float64]:
        """Return distinct pairs that this run has not read."""
        new = self._entries.lookup(a, b)
        missing = np.isnan(new)
        on_diagonal = int((a == b)[missing].sum())
        self._afford(int(missing.sum()) - on_diagonal, on_diagonal)
        own = int((a == b).sum())
        self._charge(len(a) - own, own)
        error = self._filler.pairs(new, a, b)
        self._entries.enter(a[missing], b[missing], new[missing])
        if isinstance(error, SpentError):  # what has come belongs to the result
            done = np.isfinite(new)
            self._entries.take(a[done], b[done], new[done])
            self._charge(-int((~done & (a != b)).sum()), -int((~done & (a == b)).sum()))
        self._raise(error)
        return new

    @_one_at_a_time
    @Shield()
    def stream(
        self,
        tiles: Iterable[Tile],
        take: Callable[[Tile, NDArray[Any]], None],
        *,
        least: float | None = None,
        ready: Mapping[Tile, NDArray[Any]] | None = None,
    ) -> None:
        """Read tiles of a symmetric matrix, and hand them over in their order.

        They are neither kept nor entered as read: memory does not grow with them. What
        is known is not evaluated again. ``take`` gets a tile and its values, −∞ below
        and on the diagonal of a triangle, and where ``least`` is out of reach by proof.

        Parameters
        ----------
        tiles
            Of a `TileGrid`.
        take
            Is handed every tile.
        least
            Only what reaches this is wanted; other values may be any below.
        ready
            Values of tiles that were read before.
        """
        self._raise(self._tiles.stream(tiles, take, least, ready or {}))

    def prove(self, proof: Proof) -> None:
        """Have pairs of tiles left out that a proof excludes."""
        self._tiles.proof = proof

    @property
    def has_blocks(self) -> bool:
        """Whether the similarity has blocks of its own, which are faster than pairs."""
        return self._evaluator.blocks

    @property
    def width(self) -> int:
        """How many calls of the similarity may be under way at a time."""
        return self._evaluator.width

    @property
    def tiles(self) -> TileGrid:
        """All pairs of the matrix, for `stream`."""
        return self._tiles.grid

    def diagonal(self, indices: Indices) -> NDArray[np.float64]:
        """Return K[i, i] for every i in ``indices``; free where it is declared."""
        return self.pairs(indices, indices)

    @property
    def limits(self) -> Limits | None:
        """Limits of money and time; ``None``: there are none."""
        return self.account.limits

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
        indices = _distinct(indices, axis)
        sides = self.read.sides
        for part in [indices] if sides is None else sides.parted(indices):
            self._charge(*self._entries.unread_in_lines(part, axis))
            missing = self._entries.missing_lines(part, axis)
            for some in self._at_once(missing):
                self._read_lines(some, axis)
            lines = self._entries.take_lines(part, axis)
            if len(part) == len(indices):
                return lines
        return self._entries.take_lines(indices, axis)

    def _at_once(self, indices: Indices) -> list[Indices]:
        """Return lines that are read together: a part of them where that may end."""
        if self.limits is None or not len(indices):
            return [indices] if len(indices) else []
        return np.array_split(indices, min(len(indices), _PARTS))

    def _read_lines(self, indices: Indices, axis: Axis) -> None:
        """Evaluate what is missing of these lines and keep it, chunk by chunk."""
        known = self._entries.known
        chunks = chunks_of_lines(len(indices), self.n, self._evaluator.chunk)
        blank = self._entries.knows_no_more(indices, axis)
        if blank:
            self._afford(*known.missing_in_lines(indices, axis))
        writer = self._ledger.lines(indices, axis, self._dtype, chunks, blank=blank)
        known.fill_lines(writer.values, indices, axis)
        if not blank:
            self._afford(*self._count_missing(writer.values, indices))
        error = self._filler.lines(
            writer, chunks, indices, axis, read=self.read, known=known
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

    # --- the account
    def _afford(self, entries: int, diagonal: int = 0) -> None:
        self.account.afford(entries * self.cost.calls + diagonal)

    def _charge(self, entries: int, diagonal: int = 0) -> None:
        """Book what a request takes, whoever has paid for it."""
        self.account.charged += entries * self.cost.calls + diagonal

    def _enter(
        self,
        V: NDArray[Any],
        fresh: NDArray[np.bool_],
        rows: Indices,
        columns: Indices,
    ) -> None:
        i, j = np.nonzero(fresh)
        self._entries.enter(rows[i], columns[j], V[i, j])

    def _raise(self, error: BaseException | None) -> None:
        if error is None:
            return
        if isinstance(error, (SimilarityError, SpentError, StoreError)):
            error.ledger = self._ledger
        raise error


def _off_and_on_diagonal(fresh: NDArray[np.bool_]) -> tuple[int, int]:
    own = int(np.diagonal(fresh).sum())
    return int(fresh.sum()) - own, own


def _distinct(indices: Indices, call: str) -> Indices:
    indices = np.asarray(indices, dtype=np.int64)
    if len(np.unique(indices)) != len(indices):
        msg = f"Oracle.{call}: an item comes twice in {len(indices)}; pass it once."
        raise InputError(msg)
    return indices
