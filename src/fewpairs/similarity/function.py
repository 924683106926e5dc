"""Any Python function as a similarity."""

import inspect
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.checks import check_flag, check_whole, shown
from fewpairs.errors import InputError, SimilarityError, SpentError
from fewpairs.interrupts import exposed, shut
from fewpairs.similarity.base import Interrupted, Scorer, Similarity
from fewpairs.similarity.facts import check_facts
from fewpairs.similarity.function_state import state_of
from fewpairs.similarity.items import as_items
from fewpairs.similarity.norms import Norms, check_norm
from fewpairs.similarity.service import Allowed
from fewpairs.types import Indices

__all__ = ["from_function"]


def from_function(
    function: Callable[[Any, Any], Any],
    *,
    symmetric: bool | None = None,
    batched: bool = False,
    diagonal: float | None = None,
    bounds: tuple[float, float] | None = None,
    psd: bool = False,
    chunk: int | None = None,
    name: str | None = None,
    deterministic: bool = True,
    metric: bool = False,
    norm: Callable[[Any], float] | None = None,
) -> Similarity:
    """Make a similarity of a Python function.

    Parameters
    ----------
    function
        ``f(a, b) -> float`` for two items or, when ``batched``,
        ``f(list_of_a, list_of_b) -> array`` with one value per pair.
    symmetric
        Whether f(a, b) = f(b, a). A claim is checked on a few sampled pairs;
        ``None`` lets those pairs decide.
    batched
        Whether ``function`` takes two lists of equal length.
    diagonal
        f(a, a), when it is the same for every item. It is then never paid for.
    bounds
        Smallest and largest possible value.
    psd
        Whether f is a positive semidefinite kernel.
    chunk
        Pairs per call: 1,024 for a scalar function (the step of the progress bar)
        and 16,384 for a batched one (the longest list it is given).
    name
        How receipts call it, and a ledger knows it; by default the function's own
        name.
    deterministic
        Whether the same two items get the same value every time. A store's values are
        then compared with a few fresh ones before they are used.
    metric
        Whether ``diagonal`` less the similarity obeys the triangle inequality, such as
        1 − f with ``diagonal=1.0`` or a distance f turned around with ``diagonal=0.0``.
        `fewpairs.duplicates` then leaves pairs out that landmarks prove too far apart.
    norm
        A number per item such that f(a, b) ≤ norm(a) · norm(b), as of an inner product
        by Cauchy and Schwarz. It takes no evaluation. `fewpairs.duplicates` and
        `fewpairs.match` then leave pairs out that it proves too low.

    Examples
    --------
    >>> import fewpairs as fp
    >>> shared_letters = fp.from_function(
    ...     lambda a, b: len(set(a) & set(b)) / len(set(a) | set(b)),
    ...     symmetric=True,
    ...     diagonal=1.0,
    ... )
    >>> shared_letters.symmetric
    True
    """
    call = "fewpairs.from_function"
    if not callable(function) or isinstance(function, type):
        msg = (
            f"{call}: function is {shown(function)}, which cannot be called with two "
            "items. Pass a function f(a, b) -> float."
        )
        raise InputError(msg)
    batched = check_flag(call, "batched", batched)
    check_facts(
        call, symmetric=symmetric, diagonal=diagonal, bounds=bounds, psd=psd, name=name
    )
    if chunk is None:
        chunk = 16_384 if batched else 1_024
    chunk = check_whole(call, "chunk", chunk, least=1)
    bounds = None if bounds is None else (bounds[0], bounds[1])
    deterministic = check_flag(call, "deterministic", deterministic)
    if check_flag(call, "metric", metric) and (diagonal is None or symmetric is False):
        msg = (
            f"{call}: metric=True with diagonal={diagonal} and symmetric={symmetric}; "
            "a metric is symmetric, and needs the similarity at distance 0: pass "
            "diagonal=1.0 where 1 − f is the distance."
        )
        raise InputError(msg)
    return _FunctionSimilarity(
        function,
        batched,
        chunk,
        symmetric,
        diagonal,
        bounds,
        psd,
        name,
        deterministic,
        metric,
        check_norm(call, norm),
    )


@dataclass(frozen=True, repr=False)
class _FunctionSimilarity(Similarity):
    function: Callable[[Any, Any], Any]
    batched: bool
    chunk: int
    symmetric: bool | None
    diagonal: float | None
    bounds: tuple[float, float] | None
    psd: bool
    known_as: str | None = None
    deterministic: bool = True
    metric: bool = False
    norm: Callable[[Any], float] | None = None

    @property
    def name(self) -> str:
        if self.known_as is not None:
            return self.known_as
        return getattr(self.function, "__name__", type(self.function).__name__)

    def standing(self) -> tuple[list[Any], str]:
        return [self.function], state_of(self.function)

    def identify(self) -> Iterable[Any]:
        """Return its name, so that a function can be mended; of a lambda its code."""
        function = self.function
        if self.known_as is not None:
            yield self.known_as
            return
        yield function
        yield self.diagonal
        code = getattr(function, "__code__", None)
        if code is not None and function.__name__ == "<lambda>":
            yield code.co_code
            yield repr(code.co_consts)
            yield code.co_names
            # Caches and counters change as a run goes on; what is fixed tells apart.
            cells = (cell.cell_contents for cell in function.__closure__ or ())
            fixed = (bool, int, float, str, bytes, tuple, frozenset, np.ndarray)
            yield from (value for value in cells if isinstance(value, fixed))

    def bind(self, items: Sequence[Any]) -> Scorer:
        return _FunctionScorer(self, list(as_items(items, "fewpairs.from_function")))


class _FunctionScorer(Scorer):
    def __init__(self, similarity: _FunctionSimilarity, items: list[Any]) -> None:
        self.n = len(items)
        self.chunk = similarity.chunk
        self._similarity = similarity
        self._items = items
        norm = similarity.norm
        self._norms = None if norm is None else Norms.of(norm, items)

    @property
    def has_bounds(self) -> bool:
        return self._norms is not None

    def upper_bound(self, i: Indices, j: Indices) -> NDArray[np.float64]:
        if self._norms is None:
            return super().upper_bound(i, j)
        return self._norms.products(i, j)

    def pairs(self, i: Indices, j: Indices) -> NDArray[Any]:
        if self._similarity.batched:
            values = self._call_batched(i, j)
        else:
            values = self._call_one_by_one(i, j)
        if self._norms is not None:
            self._norms.check(self._similarity.name, values, i, j)
        return values

    @property
    def stops(self) -> bool:
        return not self._similarity.batched

    def pairs_within(self, i: Indices, j: Indices, allowed: Allowed) -> NDArray[Any]:
        if self._similarity.batched or allowed.seconds is None:
            return self.pairs(i, j)
        return self._call_one_by_one(i, j, time.perf_counter() + allowed.seconds)

    def _call_batched(self, i: Indices, j: Indices) -> NDArray[Any]:
        shut()  # but for the call itself
        a = [self._items[t] for t in i]
        b = [self._items[t] for t in j]
        with exposed:
            answer = self._similarity.function(a, b)
        values = np.asarray(answer)
        if values.shape != (len(i),):
            msg = (
                f"{self._similarity.name} was called with two lists of {len(i)} items "
                f"and returned an array of shape {values.shape}; a batched function "
                f"must return shape ({len(i)},): one value per pair."
            )
            raise SimilarityError(msg)
        return values

    def _call_one_by_one(
        self, i: Indices, j: Indices, end: float | None = None
    ) -> NDArray[Any]:
        values = np.full(len(i), np.nan)
        function, items = self._similarity.function, self._items
        t = 0
        # One try around the loop, not one a call: Ctrl-C comes between calls too.
        try:
            for t in range(len(i)) if end is None else _until(end, len(i)):
                value = function(items[i[t]], items[j[t]])
                # float() would take "0.5", None fails late: look at the type first.
                if not isinstance(value, (int, float, np.number, np.bool_)):
                    value = self._as_scalar(value)
                if isinstance(value, (complex, np.complexfloating)):
                    value = self._refuse(value)
                values[t] = value
            shut()
        except BaseException as error:
            shut()
            pair = (int(i[t]), int(j[t]))
            cause = error
            if isinstance(error, _TimeError):
                cause = SpentError()
            elif isinstance(error, Exception):
                cause = SimilarityError(self._describe(pair, error), pair=pair)
                if not isinstance(error, _NotANumberError):
                    cause.__cause__ = error
            done = t + int(np.isfinite(values[t]))
            raise Interrupted(values[:done], cause) from error
        return values

    def _as_scalar(self, value: Any) -> Any:
        """Unwrap a 0-d array or tensor; refuse anything else."""
        array = np.asarray(value)
        if array.shape != () or array.dtype.kind not in "biuf":
            return self._refuse(value)
        return array[()]

    def _refuse(self, value: Any) -> Any:
        if inspect.iscoroutine(value):
            value.close()
            msg = "a coroutine; pass fewpairs.from_async(function), which awaits it"
            raise _NotANumberError(msg)
        what = f"{value!r:.60} of type {type(value).__name__}"
        raise _NotANumberError(f"{what}; it must return one real number")

    def _describe(self, pair: tuple[int, int], error: Exception) -> str:
        a, b = (f"{self._items[t]!r:.40}" for t in pair)
        call = f"{self._similarity.name}(items[{pair[0]}], items[{pair[1]}])"
        if isinstance(error, _NotANumberError):
            what = f"returned {error}"
        else:
            what = f"raised {type(error).__name__}: {error}"
        return f"{call} {what}. The items: {a} and {b}."


def _until(end: float, number: int) -> Iterator[int]:
    """Count up to a number, as long as another call like the longest one fits."""
    longest, before = 0.0, time.perf_counter()
    for t in range(number):
        if before + longest > end:
            raise _TimeError
        yield t
        now = time.perf_counter()
        longest, before = max(longest, now - before), now


class _TimeError(Exception):
    """The time that is allowed has come to its end."""


class _NotANumberError(Exception):
    """What a function returned instead of a number, in words."""
