"""Recheck: a few stored values, evaluated again before a store serves any of them.

A fingerprint knows a function by its name. What the function does may have changed: it
was redefined, or reads a global, a file, a model that did. So a run that is given
values of an earlier one first evaluates some of these pairs again.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.errors import StoreError
from fewpairs.matrix.entries import Entries
from fewpairs.similarity.base import Similarity
from fewpairs.types import Indices

__all__ = ["choose", "refuse_others", "size_of"]

_PAIRS = 8
_LOOKED_AT = 512  # stored pairs of which the few are chosen
# What a value may differ by when it is evaluated again, as a share of its size, or of
# the mean size: in another batch, sums are added up in another order.
_ROUNDING = {"float64": 1e-5, "float32": 1e-3}


def size_of(similarity: Similarity, limit: int | None, calls: int) -> int:
    """Return how many pairs are evaluated again, at ``calls`` evaluations each.

    Eight, and at most a tenth of the budget; none where a fingerprint says it all, or
    where a value is not the same twice.
    """
    if similarity.fingerprinted or not similarity.deterministic:
        return 0
    if limit is None:
        return _PAIRS
    return min(_PAIRS, max(1, limit // (10 * calls)), limit // calls)


def choose(entries: Entries, size: int) -> tuple[Indices, Indices, NDArray[np.float64]]:
    """Return known pairs, spread over all that is known and over its values.

    The smallest and the largest are among them: where most values are equal, another
    function shows at the others.
    """
    parts = [_of_lines(lines, across) for lines, across in _blocks(entries)]
    keys, _ = entries.scattered()
    parts.append(np.divmod(keys[_spread(len(keys), _LOOKED_AT)], entries.n))
    i, j = (np.concatenate(side) for side in zip(*parts, strict=True))
    if entries.symmetric:
        i, j = np.minimum(i, j), np.maximum(i, j)
    apart = i != j
    if entries.sides is not None:
        apart = ~entries.sides.within(i, j)
    i, j = np.divmod(np.unique((i * entries.n + j)[apart]), entries.n)
    known, values = entries.lookup(i, j)
    i, j, values = i[known], j[known], values[known]
    order = np.argsort(values, kind="stable")
    few = order[_spread(len(order), size)]
    return i[few], j[few], values[few]


def refuse_others(
    similarity: Similarity,
    where: str,
    pairs: tuple[Indices, Indices],
    stored: NDArray[np.float64],
    fresh: NDArray[Any],
) -> None:
    """Raise a `StoreError` where values are not those that are stored."""
    rounding = similarity.rounding or _ROUNDING[fresh.dtype.name]
    now = fresh.astype(np.float64)
    size = np.maximum(np.abs(stored), np.abs(now))
    usual = np.abs(stored).mean() if len(stored) else 0.0
    gaps = np.abs(stored - now)
    differ = gaps > rounding * np.maximum(size, usual)
    if not differ.any():
        return
    worst = int(np.argmax(np.where(differ, gaps, -1.0)))
    i, j = (int(side[worst]) for side in pairs)
    msg = (
        f"{where} holds {stored[worst]:.8g} for items {i} and {j}, and "
        f"{similarity.name} now gives {now[worst]:.8g}: its values are another "
        f"function's ({len(now)} stored pairs were evaluated again, {differ.sum()} "
        "differ). Use another folder for this one; or Ledger.forget() to start anew in "
        "the same; or, if the stored values are the right ones, trust=True. A "
        "similarity that is not the same twice says so: deterministic=False."
    )
    error = StoreError(msg)
    error.pair = (i, j)
    raise error


def _blocks(entries: Entries) -> list[tuple[Any, bool]]:
    down = [*entries.columns, *entries.partial["columns"]]
    across = [*entries.rows, *entries.partial["rows"]]
    return [*((lines, False) for lines in down), *((lines, True) for lines in across)]


def _of_lines(lines: Any, across: bool) -> tuple[Indices, Indices]:
    """Return places spread over lines, a different one on every line."""
    k, n = lines.values.shape
    at = _spread(k * n, _LOOKED_AT)
    line, along = lines.indices[at // n], at % n
    return (line, along) if across else (along, line)


def _spread(length: int, most: int) -> Indices:
    """Return up to ``most`` of so many places, from the first to the last."""
    if length <= most:
        return np.arange(length)
    return np.linspace(0, length - 1, most).round().astype(np.int64)
