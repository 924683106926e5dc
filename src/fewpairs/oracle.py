"""Oracle: the only reader of the matrix. It counts, and it keeps the budget."""

import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewpairs.entries import Axis, Entries
from fewpairs.errors import BudgetError, InputError, SimilarityError
from fewpairs.ledger import Ledger
from fewpairs.progress import Progress, Silence
from fewpairs.similarity.base import Indices, Interrupted, Scorer, Similarity
from fewpairs.tariff import Budget, Tariff

__all__ = ["Oracle", "pairs_to_check"]

# Below this size a triangle of the matrix is read as single pairs; above it is cut
# into a square block and two smaller triangles, so that scorers see whole blocks.
_SMALL_TRIANGLE = 48
_CHECKED_PAIRS = 8
# Two orders of a pair that differ by less than this share are rounding.
_ROUNDING = 1e-6


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
    seconds
        Time spent inside the similarity.
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
    ) -> None:
        self.n = scorer.n
        self.name = similarity.name
        self.evaluations = 0
        self.seconds = 0.0
        self._scorer = scorer
        self._progress = progress or Silence()
        self._ledger = Ledger() if ledger is None else ledger
        free = similarity.diagonal is not None
        self.tariff = Tariff(self.n, symmetric=True, calls=1, free_diagonal=free)
        self.limit = self.tariff.limit(budget)

        symmetric, sample = self._settle_symmetry(
            similarity, rng or np.random.default_rng(0)
        )
        self._averages = not symmetric and symmetrize
        self.symmetric = symmetric or symmetrize
        self.tariff = Tariff(
            self.n,
            symmetric=self.symmetric,
            calls=2 if self._averages else 1,
            free_diagonal=free,
        )
        self.limit = self.tariff.limit(budget)
        self._known = self._ledger.open(
            self.n,
            similarity=self.name,
            symmetric=symmetric,
            symmetrized=self._averages,
            diagonal=similarity.diagonal,
        )
        shared = ledger is not None
        self.read = (
            Entries(self.n, symmetric=self.symmetric, diagonal=similarity.diagonal)
            if shared
            else self._known
        )
        if sample is not None:
            self._keep(sample)

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
        error = self._fill_principal(W, indices)
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
        error = self._fill_block(V, rows, columns)
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
            error = self._fill_pairs(new, a, b)
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
        whole = np.isfinite(out).all(axis=1)
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
            error = self._fill_principal(W, indices)
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
                self._fill_block(V.T, rest, part)
                if axis == "columns"
                else self._fill_block(V, part, rest)
            )
            lines[:, rest] = V
            if error is not None:
                return error
        return None

    # --- filling arrays whose unknown entries are NaN ---------------------------

    def _fill_principal(
        self, W: NDArray[Any], indices: Indices
    ) -> BaseException | None:
        """Fill a principal block; when symmetric, evaluate one triangle of it."""
        if not self.symmetric:
            return self._fill_block(W, indices, indices)
        k = len(indices)
        if k <= _SMALL_TRIANGLE:
            a, b = np.nonzero(np.isnan(np.triu(W)))
            values = np.full(len(a), np.nan)
            error = self._fill_pairs(values, indices[a], indices[b])
            W[a, b] = W[b, a] = values
            return error
        half = k // 2
        error = self._fill_block(W[:half, half:], indices[:half], indices[half:])
        W[half:, :half] = W[:half, half:].T
        if error is not None:
            return error
        first = self._fill_principal(W[:half, :half], indices[:half])
        if first is not None:
            return first
        return self._fill_principal(W[half:, half:], indices[half:])

    def _fill_block(
        self, V: NDArray[Any], rows: Indices, columns: Indices
    ) -> BaseException | None:
        """Fill a block; whole rows where nothing of the block is known."""
        missing = np.isnan(V)
        if not missing.all() or self._pairwise:
            r, c = np.nonzero(missing)
            values = np.full(len(r), np.nan)
            error = self._fill_pairs(values, rows[r], columns[c])
            V[r, c] = values
            return error
        step = max(1, self._scorer.chunk // max(1, len(columns)))
        for start in range(0, len(rows), step):
            part = rows[start : start + step]
            values, error = self._score(part, columns, block=True)
            if self._averages:
                if error is not None:
                    return error
                mirror, error = self._score(columns, part, block=True)
                values = 0.5 * (values + mirror.T)
            V[start : start + step] = values
            if error is not None:
                return error
        return None

    def _fill_pairs(
        self, values: NDArray[Any], i: Indices, j: Indices
    ) -> BaseException | None:
        """Fill scattered entries, chunk by chunk."""
        for start in range(0, len(i), self._scorer.chunk):
            part = slice(start, start + self._scorer.chunk)
            a, b = i[part], j[part]
            if self._averages:
                # (a, b) and (b, a) side by side: an error then splits one pair only.
                # The diagonal has no other side and is evaluated once.
                sides = np.where(a == b, 1, 2)
                ends = np.cumsum(sides)
                first, second = np.repeat(a, sides), np.repeat(b, sides)
                last = ends[sides == 2] - 1
                first[last], second[last] = b[sides == 2], a[sides == 2]
                both, error = self._score(first, second, block=False)
                values[part] = 0.5 * (both[ends - sides] + both[ends - 1])
            else:
                values[part], error = self._score(a, b, block=False)
            if error is not None:
                return error
        return None

    @property
    def _pairwise(self) -> bool:
        """Whether the scorer gains nothing from blocks: pairs lose less on errors."""
        return type(self._scorer).block is Scorer.block

    # --- the one place where the similarity is called ----------------------------

    def _score(
        self, a: Indices, b: Indices, *, block: bool
    ) -> tuple[NDArray[Any], BaseException | None]:
        """Call the similarity; return values with NaN where there are none, and why."""
        shape = (len(a), len(b)) if block else (len(a),)
        values: Any = None
        error: BaseException | None = None
        start = time.perf_counter()
        try:
            values = self._scorer.block(a, b) if block else self._scorer.pairs(a, b)
        except Interrupted as stop:
            error = stop.cause
            values = np.full(shape, np.nan)
            values.ravel()[: len(stop.values)] = stop.values
        except SimilarityError as stop:
            error = stop
        except Exception as stop:  # noqa: BLE001 - whatever a similarity raises
            error = self._wrap(stop, a, b)
        except BaseException as stop:  # noqa: BLE001 - Ctrl-C: keep what was paid for
            error = stop
        self.seconds += time.perf_counter() - start

        out = np.full(shape, np.nan) if values is None else np.asarray(values)
        if values is not None:
            error = error or self._refuse(out, shape)
        if out.shape != shape or out.dtype.kind not in "biuf":
            return np.full(shape, np.nan), error
        finite = np.isfinite(out)
        done = out.size if error is None else int(finite.sum())
        self.evaluations += done
        self._ledger.evaluations += done
        self._progress.advance(done)
        if error is None and not finite.all():
            at = tuple(int(t) for t in np.argwhere(~finite)[0])
            i, j = (a[at[0]], b[at[1]]) if block else (a[at[0]], b[at[0]])
            error = SimilarityError(
                f"{self.name} returned {out[at]} for items {i} and {j}; every "
                "similarity must be a finite number. Mend the similarity, or drop the "
                "item.",
                pair=(int(i), int(j)),
            )
            out = np.where(finite, out, np.nan)
        return out, error

    def _refuse(self, out: NDArray[Any], shape: tuple[int, ...]) -> Exception | None:
        if out.shape != shape:
            what = f"an array of shape {out.shape}, expected {shape}"
        elif out.dtype.kind not in "biuf":
            what = f"values of dtype {out.dtype}, for example {out.ravel()[0]!r:.40}"
        else:
            return None
        return SimilarityError(
            f"{self.name} returned {what}; it must return one real number a pair."
        )

    def _wrap(self, error: Exception, a: Indices, b: Indices) -> SimilarityError:
        pair = (int(a[0]), int(b[0]))
        many = "" if len(a) == len(b) == 1 else f" (the first of {len(a):,} in one call)"
        wrapped = SimilarityError(
            f"{self.name} raised {type(error).__name__}: {error}, while scoring items "
            f"{pair[0]} and {pair[1]}{many}. What was paid for before is in the "
            "error's .ledger; pass it as store= to go on.",
            pair=pair,
        )
        wrapped.__cause__ = error
        return wrapped

    def _raise(self, error: BaseException | None) -> None:
        if error is None:
            return
        if isinstance(error, SimilarityError):
            error.ledger = self._ledger
        raise error

    # --- budget and symmetry -----------------------------------------------------

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
            msg = f"Oracle.{call}: got an item twice among {len(indices)}; pass each once."
            raise InputError(msg)
        return indices

    def _settle_symmetry(
        self, similarity: Similarity, rng: np.random.Generator
    ) -> "tuple[bool, _BothOrders | None]":
        """Settle whether the similarity is symmetric, by a few pairs in both orders."""
        claim = similarity.symmetric
        size = pairs_to_check(similarity, self.n, self.limit)
        if size == 0:
            return bool(claim), None
        i, j = Entries(self.n, symmetric=True).sample_unknown(size, rng)
        if self._ledger.symmetric is not None:  # settled and paid for by another run
            return self._ledger.symmetric, _BothOrders(i, j, None, None)
        self._afford(2 * size)
        first, second = np.column_stack([i, j]), np.column_stack([j, i])
        values, error = self._score(first.ravel(), second.ravel(), block=False)
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
        self.pairs(i, j)


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
