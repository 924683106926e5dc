"""Oracle: the only reader of the matrix. It counts, and it keeps the budget."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewpairs.entries import Axis, Entries
from fewpairs.errors import BudgetError, InputError, SimilarityError
from fewpairs.evaluator import Evaluator
from fewpairs.ledger import Identity, Ledger
from fewpairs.progress import Progress, Silence
from fewpairs.similarity.base import Indices, Scorer, Similarity
from fewpairs.tariff import Budget, Tariff

__all__ = ["Oracle", "Reading", "pairs_to_check"]

_CHECKED_PAIRS = 8
# Two orders of a pair that differ by less than this share are rounding.
_ROUNDING = 1e-6


class Reading(NamedTuple):
    """What a run has read, and whether the similarity was found symmetric."""

    entries: Entries
    symmetric: bool


class Oracle:
    """Reads columns, rows, blocks and pairs of a similarity matrix, and counts.

    The matrix is K[i, j] = s(item i, item j). An asymmetric similarity is read as
    ½(K + Kᵀ) unless ``symmetrize=False``. An entry (when symmetric: or its mirror)
    that is known is never evaluated again. The budget is checked before the
    similarity is called, never after.

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

    Attributes
    ----------
    n, symmetric
        Size of the matrix that is read, and whether it is symmetric.
    tariff
        What reading costs.
    limit
        Evaluations that the budget allows; ``None``: no limit.
    evaluations
        Calls of the similarity made so far: one a pair.
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
    ) -> None:
        self.n = scorer.n
        self.name = similarity.name
        self.evaluations = 0
        self._scorer = scorer
        self._evaluator = Evaluator(scorer, self.name, self._count)
        self._progress = progress or Silence()
        self._ledger = Ledger() if ledger is None else ledger
        free = similarity.diagonal is not None
        self.tariff = Tariff(self.n, symmetric=True, calls=1, free_diagonal=free)
        self.limit = self.tariff.limit(budget)
        # A budget of 1.0 is everything: the check of the symmetry comes on top.
        on_top = isinstance(budget, float) and budget == 1.0
        if on_top and self.limit is not None:
            self.limit += 2 * pairs_to_check(similarity, self.n, None)

        sample = None
        if before is None:
            symmetric, sample = self._settle_symmetry(
                similarity, rng or np.random.default_rng(0)
            )
        else:
            symmetric = before.symmetric
        averages = not symmetric and symmetrize
        self.symmetric = symmetric or symmetrize
        self._evaluator.symmetric = self.symmetric
        self._evaluator.averages = averages
        self.tariff = Tariff(
            self.n,
            symmetric=self.symmetric,
            calls=2 if averages else 1,
            free_diagonal=free,
        )
        self.limit = self.tariff.limit(budget)
        if on_top and self.limit is not None:
            self.limit += self.evaluations
        self._known = self._ledger.open(
            self.n,
            similarity=self.name,
            symmetric=symmetric,
            symmetrized=averages,
            diagonal=similarity.diagonal,
            identity=identity,
        )
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
        if sample is not None:
            self._keep(sample)

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

    def principal(self, indices: Indices) -> NDArray[Any]:
        """Return the principal block K[indices, indices] of distinct items."""
        indices = self._distinct(indices, "principal")
        W = np.full((len(indices), len(indices)), np.nan)
        self._known.overlay(W, indices, indices)
        fresh = np.isnan(np.triu(W) if self.symmetric else W)
        on_diagonal = int(np.diagonal(fresh).sum())
        self._afford(int(fresh.sum()) - on_diagonal, on_diagonal)
        error = self._evaluator.fill_principal(W, indices)
        i, j = np.nonzero(fresh & np.isfinite(W))
        self._known.add_pairs(indices[i], indices[j], W[i, j])
        self._raise(error)
        if self.read is not self._known:
            everything = np.ones_like(fresh)
            i, j = np.nonzero(np.triu(everything) if self.symmetric else everything)
            self.read.add_pairs(indices[i], indices[j], W[i, j])
        return W

    def block(self, rows: Indices, columns: Indices) -> NDArray[Any]:
        """Return K[rows, columns] for two sets of items that do not overlap."""
        rows = self._distinct(rows, "block")
        columns = self._distinct(columns, "block")
        if len(np.intersect1d(rows, columns)):
            msg = "Oracle.block: an item is among rows and columns; use principal()."
            raise InputError(msg)
        V = np.full((len(rows), len(columns)), np.nan)
        self._known.overlay(V, rows, columns)
        fresh = np.isnan(V)
        self._afford(int(fresh.sum()))
        error = self._evaluator.fill_block(V, rows, columns)
        i, j = np.nonzero(fresh & np.isfinite(V))
        self._known.add_pairs(rows[i], columns[j], V[i, j])
        self._raise(error)
        if self.read is not self._known:
            i, j = np.nonzero(np.ones_like(fresh))
            self.read.add_pairs(rows[i], columns[j], V[i, j])
        return V

    def pairs(self, i: Indices, j: Indices) -> NDArray[np.float64]:
        """Return K[i[t], j[t]] for every t; the same pair twice is paid for once."""
        i, j = np.asarray(i, dtype=np.int64), np.asarray(j, dtype=np.int64)
        known, values = self._known.lookup(i, j)
        if self.symmetric:
            i, j = np.minimum(i, j), np.maximum(i, j)
        keys, first, where = np.unique(
            (i * self.n + j)[~known], return_index=True, return_inverse=True
        )
        if len(keys):
            # In the order of the request: what is asked first is paid for first.
            order = np.argsort(first)
            a, b = np.divmod(keys[order], self.n)
            on_diagonal = int((a == b).sum())
            self._afford(len(a) - on_diagonal, on_diagonal)
            new = np.full(len(a), np.nan)
            error = self._evaluator.fill_pairs(new, a, b)
            done = np.isfinite(new)
            self._known.add_pairs(a[done], b[done], new[done])
            self._raise(error)
            place = np.empty(len(order), dtype=np.int64)
            place[order] = np.arange(len(order))
            values[~known] = new[place[where]]
        if self.read is not self._known:
            off = i != j if self.read.diagonal is not None else np.ones(i.shape, bool)
            self.read.add_pairs(i[off], j[off], values[off])
        return values

    def diagonal(self, indices: Indices) -> NDArray[np.float64]:
        """Return K[i, i] for every i in ``indices``; free where it is declared."""
        return self.pairs(indices, indices)

    def note(self, what: str) -> None:
        """Tell whoever watches what is being done."""
        note = getattr(self._progress, "note", None)
        if note is not None:  # watchers need not listen to it
            note(what)

    # --- lines -----------------------------------------------------------------

    def _lines(self, indices: Indices, axis: Axis) -> NDArray[Any]:
        indices = self._distinct(indices, axis)
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
        """Evaluate what is missing of these lines and keep it."""
        k = len(indices)
        out = np.full((k, self.n), np.nan, dtype=self._scorer.dtype)
        across: Axis = "rows" if axis == "columns" else "columns"
        crossing = self._known.line_indices(across)
        if len(crossing):
            out[:, crossing] = self._known.lines(crossing, across)[:, indices].T
        line, where, values = self._known.scattered_in_lines(indices, axis)
        out[line, where] = values
        if self._known.diagonal is not None:
            out[np.arange(k), indices] = self._known.diagonal

        fresh = int(np.isnan(out).sum())
        if self.symmetric:  # a pair of two new lines is paid for once
            fresh -= int(np.isnan(np.tril(out[:, indices], -1)).sum())
        on_diagonal = int(np.isnan(out[np.arange(k), indices]).sum())
        self._afford(fresh - on_diagonal, on_diagonal)

        error = self._fill_lines(out, indices, crossing, axis)
        whole = np.asarray(np.isfinite(out).all(axis=1))
        if whole.all():
            self._known.add_lines(indices, out, axis)
        else:
            self._known.add_lines(indices[whole], out[whole], axis)
            line, where = np.nonzero(np.isfinite(out) & ~whole[:, None])
            ends = (where, indices[line])
            i, j = ends if axis == "columns" else ends[::-1]
            self._known.add_pairs(i, j, out[line, where])
        self._raise(error)

    def _fill_lines(
        self, out: NDArray[Any], indices: Indices, crossing: Indices, axis: Axis
    ) -> BaseException | None:
        other = np.ones(self.n, dtype=bool)
        other[crossing] = False
        if self.symmetric:
            other[indices] = False
            W = out[:, indices]
            error = self._evaluator.fill_principal(W, indices)
            out[:, indices] = W
            if error is not None:
                return error
        rest = np.flatnonzero(other)
        step = max(1, self._scorer.chunk // max(1, len(rest)))
        for start in range(0, len(indices), step):
            part = indices[start : start + step]
            lines = out[start : start + step]
            V = lines[:, rest]
            error = (
                self._evaluator.fill_block(V.T, rest, part)
                if axis == "columns"
                else self._evaluator.fill_block(V, part, rest)
            )
            lines[:, rest] = V
            if error is not None:
                return error
        return None

    # --- books, budget and symmetry ----------------------------------------------

    def _count(self, evaluations: int) -> None:
        self.evaluations += evaluations
        self._ledger.evaluations += evaluations
        self._progress.advance(evaluations)

    def _raise(self, error: BaseException | None) -> None:
        if error is None:
            return
        if isinstance(error, SimilarityError):
            error.ledger = self._ledger
        raise error

    def _afford(self, entries: int, diagonal: int = 0) -> None:
        """Refuse what the budget does not cover, before it is evaluated."""
        price = entries * self.tariff.calls + diagonal
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
        self, similarity: Similarity, rng: np.random.Generator
    ) -> "tuple[bool, _BothOrders | None]":
        """Settle whether the similarity is symmetric, by pairs in both orders."""
        claim = similarity.symmetric
        size = pairs_to_check(similarity, self.n, self.limit)
        if size == 0:
            return bool(claim), None
        i, j = Entries(self.n, symmetric=True).sample_unknown(size, rng)
        if self._ledger.symmetric is not None:  # settled and paid for by another run
            return self._ledger.symmetric, _BothOrders(i, j, None, None)
        self._afford(2 * size)
        first, second = np.column_stack([i, j]), np.column_stack([j, i])
        values, error = self._evaluator.score(
            first.ravel(), second.ravel(), block=False
        )
        self._raise(error)
        there, back = values[::2], values[1::2]
        differs = np.abs(there - back) > _ROUNDING * np.abs(values).max()
        if claim and differs.any():
            t = np.flatnonzero(differs)[0]
            msg = (
                f"{self.name} is declared symmetric, but its value for items {i[t]} "
                f"and {j[t]} is {there[t]:g}, and {back[t]:g} the other way round. "
                "Declare symmetric=False; it is then averaged over both orders."
            )
            raise InputError(msg)
        return not differs.any(), _BothOrders(i, j, there, back)

    def _keep(self, sample: "_BothOrders") -> None:
        """Enter the pairs that settled the symmetry: they have been paid for."""
        i, j, there, back = sample
        if there is not None and back is not None:
            if self.symmetric:
                self._known.add_pairs(i, j, 0.5 * (there + back))
            else:
                self._known.add_pairs(np.r_[i, j], np.r_[j, i], np.r_[there, back])
        if self.symmetric:
            self.pairs(i, j)
        else:
            self.pairs(np.r_[i, j], np.r_[j, i])


def pairs_to_check(similarity: Similarity, n: int, limit: int | None) -> int:
    """Return how many pairs settle a symmetry that is not proven; two calls each."""
    if similarity.symmetric is False or (similarity.symmetric and similarity.proven):
        return 0
    most = _CHECKED_PAIRS if limit is None else max(1, limit // 50)
    return min(most, _CHECKED_PAIRS, n * (n - 1) // 2)


class _BothOrders(NamedTuple):
    """Pairs (i, j) with their values in both orders, where those are at hand."""

    i: Indices
    j: Indices
    there: NDArray[Any] | None
    back: NDArray[Any] | None
