"""Calling: one call of a similarity, timed and checked. It happens nowhere else."""

import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewpairs.errors import SimilarityError
from fewpairs.interrupts import exposed
from fewpairs.kernels.linalg.blas_threads import usual_threads
from fewpairs.similarity.base import Interrupted, Scorer
from fewpairs.similarity.service import Allowed
from fewpairs.types import Indices

__all__ = ["Outcome", "Task", "call"]

_HALF = (np.float16, np.float32)
_LARGEST = 1e300  # sums of 10⁸ such values are still numbers


class Task(NamedTuple):
    """One call: all ``a`` with all ``b``, or a[t] with b[t] for every t.

    With ``both``, an entry is ½(s(a, b) + s(b, a)), at two evaluations. With ``least``,
    only what reaches it is wanted of a block: other values may be any below. Pairs may
    take no more than is ``allowed``.
    """

    a: Indices
    b: Indices
    block: bool
    both: bool = False
    least: float | None = None
    allowed: Allowed | None = None


class Outcome(NamedTuple):
    """What came of a call: NaN where there is no value, and why.

    What fails is returned, not raised, so that what has been paid for can be kept.
    """

    values: NDArray[Any]
    evaluations: int
    seconds: float = 0.0
    error: BaseException | None = None
    money: float = 0.0


def call(
    scorer: Scorer, name: str, task: Task, bounds: tuple[float, float] | None = None
) -> Outcome:
    """Do a task; ``name`` is what messages call the similarity.

    A value that is not finite, beyond ±1e300, where sums are no numbers any more, or
    beyond its declared ``bounds`` is an error; what else the call returned has been
    paid for and is kept.
    """
    a, b, block, both, least, allowed = task
    if not both:
        how = _How(block, least, allowed)
        return _score(scorer, (name, bounds), a, b, how)
    if block:
        there = _score(scorer, (name, bounds), a, b, _How(block=True))
        if there.error is not None:
            return there._replace(values=np.full_like(there.values, np.nan))
        back = _score(scorer, (name, bounds), b, a, _How(block=True))
        return Outcome(
            0.5 * (there.values + back.values.T),
            there.evaluations + back.evaluations,
            there.seconds + back.seconds,
            back.error,
            there.money + back.money,
        )
    # (a, b) and (b, a) side by side: an error then splits one pair only. The diagonal
    # has no other side and is evaluated once.
    sides = np.where(a == b, 1, 2)
    ends = np.cumsum(sides)
    first, second = np.repeat(a, sides), np.repeat(b, sides)
    last = ends[sides == 2] - 1
    first[last], second[last] = b[sides == 2], a[sides == 2]
    how = _How(block=False, allowed=allowed)
    all_of_them = _score(scorer, (name, bounds), first, second, how)
    values = all_of_them.values
    averages = 0.5 * (values[ends - sides] + values[ends - 1])
    return all_of_them._replace(values=averages)


class _How(NamedTuple):
    """How a scorer is asked."""

    block: bool
    least: float | None = None
    allowed: Allowed | None = None


def _score(scorer: Scorer, known_as: Any, a: Indices, b: Indices, how: _How) -> Outcome:
    name, bounds = known_as
    shape = (len(a), len(b)) if how.block else (len(a),)
    values: Any = None
    error: BaseException | None = None
    start = time.perf_counter()
    try:
        with usual_threads(), exposed:  # no lock is held where Ctrl-C comes
            values = _asked(scorer, a, b, how)
    except Interrupted as stop:
        error = stop.cause
        values = np.full(shape, np.nan)
        values.ravel()[: len(stop.values)] = stop.values
    except SimilarityError as stop:
        error = stop
    except Exception as stop:  # noqa: BLE001 - whatever a similarity raises
        error = _wrap(name, stop, _named(scorer, a[0], b[0]), int(np.prod(shape)))
    except BaseException as stop:  # noqa: BLE001 - Ctrl-C: keep what was paid for
        error = stop
    seconds = time.perf_counter() - start
    spent = scorer.spent()

    out = np.full(shape, np.nan) if values is None else np.asarray(values)
    if values is not None:
        error = error or _refuse(name, out, shape)
    if out.shape != shape or out.dtype.kind not in "biuf":
        return Outcome(np.full(shape, np.nan), 0, seconds, error, spent or 0.0)
    # Integers and half floats would overflow where both orders are averaged.
    precise = out.astype(np.float32 if out.dtype in _HALF else np.float64, copy=False)
    done = precise.size if error is None else int(np.isfinite(precise).sum())
    single = precise.dtype == np.float32  # all of its range will do
    good = np.isfinite(precise) if single else np.abs(precise) <= _LARGEST
    if bounds is not None:
        good &= _within(precise, bounds, out.dtype)
    if not good.all():
        at = tuple(int(t) for t in np.argwhere(~good)[0])
        pair = _named(scorer, a[at[0]], b[at[-1]])
        error = error or _no_similarity(name, bounds, precise[at], pair)
        precise = np.where(good, precise, np.nan)
    money = scorer.price * done if spent is None else spent
    return Outcome(precise, done, seconds, error, money)


def _asked(scorer: Scorer, a: Indices, b: Indices, how: _How) -> Any:
    if how.block:
        least = how.least
        return scorer.block(a, b) if least is None else scorer.block_above(a, b, least)
    if how.allowed is not None:
        return scorer.pairs_within(a, b, how.allowed)
    return scorer.pairs(a, b)


def _no_similarity(
    name: str,
    bounds: tuple[float, float] | None,
    value: Any,
    named: tuple[tuple[int, int], str],
) -> SimilarityError:
    """Say which value cannot be, and of which pair."""
    pair, words = named
    what = "every similarity must be a finite number. Mend the similarity"
    if _LARGEST < abs(value) < np.inf:
        what = f"it must be between ±{_LARGEST:g}. Scale the similarity"
    elif bounds is not None and np.isfinite(value):
        what = (
            f"its bounds are declared as ({bounds[0]:g}, {bounds[1]:g}). Mend the "
            "similarity or its bounds"
        )
    return SimilarityError(
        f"{name} returned {value} for {words}; {what}, or drop the item.", pair=pair
    )


def _named(scorer: Scorer, i: Any, j: Any) -> tuple[tuple[int, int], str]:
    """Return a pair as the caller counts it, and in words."""
    i, j = int(i), int(j)
    if scorer.split is None:
        return (i, j), f"items {i} and {j}"
    i, j = min(i, j), max(i, j) - scorer.split
    return (i, j), f"item {i} and other {j}"


def _within(
    values: NDArray[Any], bounds: tuple[float, float], dtype: np.dtype[Any]
) -> NDArray[np.bool_]:
    """Tell what lies within the bounds, up to rounding.

    Half of the digits are left to it: sums of many products in single precision, such
    as the cosine of a vector with itself, miss 1 by more than a last digit.
    """
    low, high = bounds
    size = max((abs(bound) for bound in bounds if np.isfinite(bound)), default=0.0)
    slack = size * float(np.sqrt(np.finfo(dtype).eps)) if dtype.kind == "f" else 0.0
    return np.asarray((values >= low - slack) & (values <= high + slack))


def _refuse(name: str, out: NDArray[Any], shape: tuple[int, ...]) -> Exception | None:
    if out.shape != shape:
        what = f"an array of shape {out.shape}, expected {shape}"
    elif out.dtype.kind not in "biuf":
        what = f"values of dtype {out.dtype}, for example {out.ravel()[0]!r:.40}"
    else:
        return None
    return SimilarityError(
        f"{name} returned {what}; it must return one real number a pair."
    )


def _wrap(
    name: str, error: Exception, named: tuple[tuple[int, int], str], number: int
) -> SimilarityError:
    pair, words = named
    many = "" if number == 1 else f" (the first of {number:,} in one call)"
    wrapped = SimilarityError(
        f"{name} raised {type(error).__name__}: {error}, while scoring {words}{many}. "
        "What was paid for before is in the error's .ledger; pass it as store= to go "
        "on.",
        pair=pair,
    )
    wrapped.__cause__ = error
    return wrapped
