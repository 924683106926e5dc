"""Evaluator: fills in missing entries. The one place that calls a similarity."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.errors import SimilarityError
from fewpairs.similarity.base import Indices, Interrupted, Scorer

__all__ = ["Evaluator"]

# Below this size a triangle of the matrix is read as single pairs; above it is cut
# into a square block and two smaller triangles, so that scorers see whole blocks.
_SMALL_TRIANGLE = 48
_HALF = (np.float16, np.float32)


class Evaluator:
    """Fills arrays whose missing entries are NaN, chunk by chunk.

    What fails is returned, not raised, so that its caller can first keep what has
    been paid for: every ``fill_*`` method returns ``None`` or an error, and leaves
    NaN where nothing was evaluated.

    Parameters
    ----------
    scorer
        The similarity, bound to its items.
    name
        How messages call it.
    report
        Told of every finished call: how many evaluations it was.

    Attributes
    ----------
    symmetric
        Whether the matrix that is filled is symmetric: one triangle is evaluated.
    averages
        Whether an entry is ½(s(a, b) + s(b, a)), at two evaluations.
    seconds
        Time spent inside the similarity.
    """

    def __init__(
        self, scorer: Scorer, name: str, report: Callable[[int], None]
    ) -> None:
        self.symmetric = True
        self.averages = False
        self.seconds = 0.0
        self.name = name
        self._scorer = scorer
        self._report = report
        # Where blocks are no faster than pairs, pairs lose less on an error.
        self._pairwise = type(scorer).block is Scorer.block

    def fill_principal(self, W: NDArray[Any], indices: Indices) -> BaseException | None:
        """Fill a principal block; when symmetric, evaluate one triangle of it."""
        if not self.symmetric:
            return self.fill_block(W, indices, indices)
        k = len(indices)
        if k <= _SMALL_TRIANGLE:
            a, b = np.nonzero(np.isnan(np.triu(W)))
            values = np.full(len(a), np.nan)
            error = self.fill_pairs(values, indices[a], indices[b])
            W[a, b] = W[b, a] = values
            return error
        half = k // 2
        error = self.fill_block(W[:half, half:], indices[:half], indices[half:])
        W[half:, :half] = W[:half, half:].T
        if error is not None:
            return error
        first = self.fill_principal(W[:half, :half], indices[:half])
        if first is not None:
            return first
        return self.fill_principal(W[half:, half:], indices[half:])

    def fill_block(
        self, V: NDArray[Any], rows: Indices, columns: Indices
    ) -> BaseException | None:
        """Fill a block; whole rows where nothing of the block is known."""
        missing = np.isnan(V)
        if not missing.all() or self._pairwise:
            r, c = np.nonzero(missing)
            values = np.full(len(r), np.nan)
            error = self.fill_pairs(values, rows[r], columns[c])
            V[r, c] = values
            return error
        step = max(1, self._scorer.chunk // max(1, len(columns)))
        for start in range(0, len(rows), step):
            part = rows[start : start + step]
            values, error = self.score(part, columns, block=True)
            if self.averages:
                if error is not None:
                    return error
                mirror, error = self.score(columns, part, block=True)
                values = 0.5 * (values + mirror.T)
            V[start : start + step] = values
            if error is not None:
                return error
        return None

    def fill_pairs(
        self, values: NDArray[Any], i: Indices, j: Indices
    ) -> BaseException | None:
        """Fill scattered entries, chunk by chunk."""
        for start in range(0, len(i), self._scorer.chunk):
            part = slice(start, start + self._scorer.chunk)
            a, b = i[part], j[part]
            if self.averages:
                # (a, b) and (b, a) side by side: an error then splits one pair only.
                # The diagonal has no other side and is evaluated once.
                sides = np.where(a == b, 1, 2)
                ends = np.cumsum(sides)
                first, second = np.repeat(a, sides), np.repeat(b, sides)
                last = ends[sides == 2] - 1
                first[last], second[last] = b[sides == 2], a[sides == 2]
                both, error = self.score(first, second, block=False)
                values[part] = 0.5 * (both[ends - sides] + both[ends - 1])
            else:
                values[part], error = self.score(a, b, block=False)
            if error is not None:
                return error
        return None

    def score(
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
        # Integers and half floats would overflow where both orders are averaged.
        out = out.astype(np.float32 if out.dtype in _HALF else np.float64, copy=False)
        finite = np.isfinite(out)
        done = out.size if error is None else int(finite.sum())
        self._report(done)
        if error is None and not finite.all():
            at = tuple(int(t) for t in np.argwhere(~finite)[0])
            i, j = a[at[0]], b[at[-1]]
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
        many = (
            "" if len(a) == len(b) == 1 else f" (the first of {len(a):,} in one call)"
        )
        wrapped = SimilarityError(
            f"{self.name} raised {type(error).__name__}: {error}, while scoring items "
            f"{pair[0]} and {pair[1]}{many}. What was paid for before is in the "
            "error's .ledger; pass it as store= to go on.",
            pair=pair,
        )
        wrapped.__cause__ = error
        return wrapped
