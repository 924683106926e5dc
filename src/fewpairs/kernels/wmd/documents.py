"""Word mover's distance between bags of words, many at a time.

Words that two documents share stay where they are: Euclidean distance is a metric, so
some optimal plan moves no mass of a word away while mass of that word arrives
(Kusner et al. 2015 use it too). Only what is left over is transported.

What is done once per pair is inlined into one compiled function and writes to
arrays made once a call: calls and views would touch reference counts, which threads
would have to hand to each other all the time.

Numba keeps what it compiled beside this file and looks at the age of this file alone:
after a change in ``transport`` or ``simd``, touch it.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

from fewpairs.kernels.wmd.simd import LANES
from fewpairs.kernels.wmd.transport import INFINITE, new_workspace, solve

__all__ = ["is_compiled", "pair_distances", "tile_distances"]

# Masses below this are what subtraction leaves of equal ones.
_DUST = 1e-15
# |x|² + |y|² − 2xy loses what it cancels: below this share it is summed anew.
_CANCELED = 1e-3
_TOLERANCE = 1e-13


@njit(nogil=True, cache=True)
def tile_distances(
    vectors: Any,
    squares: Any,
    products: Any,
    words: Any,
    row_of: Any,
    anchors: Any,
    others: Any,
    scale: float,
    relaxed: bool,
    out: Any,
) -> None:
    """Write the distances of every anchor to every other; GAVE_UP where none was found.

    Parameters
    ----------
    products
        Inner products of ``words`` (rows) and all words of the anchors (columns).
    row_of
        Row of ``products`` for every word number, −1 for words not in ``others``.
    anchors
        Bags with word numbers.
    others
        Bags with rows of ``products`` in the place of word numbers.
    scale
        Size of the costs; tolerances follow it.
    relaxed
        Write lower bounds instead: see ``_relaxed_to_all``.
    """
    longest, most = _longest(others), _longest(anchors) + LANES
    table = np.empty(len(words) * most)
    position = np.full(len(words), -1, np.int32)
    supply, rows = np.empty(longest), np.empty(longest, np.uint32)
    demand, columns = np.empty(most), np.empty(most, np.uint32)
    cost, offer, left = np.empty(longest * most), np.empty(most), np.empty(most)
    learned = np.empty(most)
    tree = new_workspace(longest + most)
    for t in range(len(out)):
        first, last = anchors.start[t], anchors.start[t + 1]
        length = last - first
        width = (length + LANES - 1) // LANES * LANES
        _word_table(vectors, squares, products, words, anchors, first, last, table)
        for p in range(length):
            learned[p] = 0.0
            row = row_of[anchors.word[first + p]]
            if row >= 0:
                position[row] = p
        for u in range(len(others.start) - 1):
            n, m = _left_over(
                others, u, anchors, first, length, position, left,
                supply, rows, demand, columns,
            )  # fmt: skip
            if n == 0 or m == 0:
                out[t, u] = 0.0
                continue
            if relaxed:
                out[t, u] = _relaxed(
                    table, width, n, m, supply, rows, demand, columns, offer
                )
                continue
            padded = _gather(table, width, n, m, length, rows, columns, cost)
            if u == 0:
                _column_minima(cost, n, padded, offer)
            else:
                for j in range(m):
                    offer[j] = learned[columns[j]]
            out[t, u] = solve(
                cost, n, m, supply, demand, offer, tree, _TOLERANCE * scale
            )
            if n > 1 and m > 1:
                _learn(learned, columns, m, tree.price, u)
        for p in range(length):
            row = row_of[anchors.word[first + p]]
            if row >= 0:
                position[row] = -1


@njit(nogil=True, cache=True)
def _longest(bags: Any) -> int:
    longest = 0
    for d in range(len(bags.start) - 1):
        longest = max(longest, bags.start[d + 1] - bags.start[d])
    return longest


# Sums may be taken in any order here, which is what vector registers need.
@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _distance(vectors: Any, a: int, b: int) -> float:
    """Return the Euclidean distance of two words."""
    square = 0.0
    for k in range(vectors.shape[1]):
        step = vectors[a, k] - vectors[b, k]
        square += step * step
    return np.sqrt(square)


@njit(nogil=True, cache=True, inline="always")
def _word_table(
    vectors: Any,
    squares: Any,
    products: Any,
    words: Any,
    anchors: Any,
    first: int,
    last: int,
    table: Any,
) -> None:
    """Turn the anchor's columns of inner products into rows of distances.

    Rows are padded with INFINITE to whole vector registers.
    """
    length = last - first
    width = (length + LANES - 1) // LANES * LANES
    for u in range(len(words)):
        start, own = u * width, squares[words[u]]
        canceled = 0
        for p in range(length):
            both = own + squares[anchors.word[first + p]]
            square = both - 2.0 * products[u, first + p]
            canceled += square < _CANCELED * both
            table[start + p] = np.sqrt(max(square, 0.0))
        for p in range(length, width):
            table[start + p] = INFINITE
        if canceled:
            for p in range(length):
                word = anchors.word[first + p]
                both = own + squares[word]
                if both - 2.0 * products[u, first + p] < _CANCELED * both:
                    table[start + p] = _distance(vectors, words[u], word)


@njit(nogil=True, cache=True, inline="always")
def _left_over(
    others: Any,
    u: int,
    anchors: Any,
    first: int,
    length: int,
    position: Any,
    left: Any,
    supply: Any,
    rows: Any,
    demand: Any,
    columns: Any,
) -> tuple[int, int]:
    """Write what document u and the anchor do not share; return how many words of each.

    ``rows`` gets rows of the table, ``columns`` positions in the anchor; ``position``
    says where the anchor has the word of a row, −1 where it does not.
    """
    for p in range(length):
        left[p] = anchors.mass[first + p]
    n = 0
    for k in range(others.start[u], others.start[u + 1]):
        mass, row = others.mass[k], others.word[k]
        p = position[row]
        if p >= 0:
            shared = min(mass, left[p])
            mass -= shared
            left[p] -= shared
        if mass > _DUST:
            supply[n], rows[n] = mass, row
            n += 1
    m = 0
    for p in range(length):
        demand[m], columns[m] = left[p], p
        m += left[p] > _DUST
    return n, m


@njit(nogil=True, cache=True, inline="always")
def _gather(
    table: Any,
    width: int,
    n: int,
    m: int,
    length: int,
    rows: Any,
    columns: Any,
    cost: Any,
) -> int:
    """Copy the costs of what is left over; return the padded length of a row."""
    padded = (m + LANES - 1) // LANES * LANES
    for i in range(n):
        here, there = np.int64(rows[i]) * width, i * padded
        if m == length:
            for j in range(padded):
                cost[there + j] = table[here + j]
        else:
            for j in range(m):
                cost[there + j] = table[here + np.int64(columns[j])]
            for j in range(m, padded):
                cost[there + j] = INFINITE
    return padded


@njit(nogil=True, cache=True, inline="always")
def _column_minima(cost: Any, n: int, width: int, offer: Any) -> None:
    """Offer every column at minus its lowest cost: all reduced costs are then ≥ 0."""
    for j in range(width):
        offer[j] = INFINITE
    for i in range(n):
        for j in range(width):
            offer[j] = min(offer[j], cost[i * width + j])
    for j in range(width):
        offer[j] = -offer[j]


@njit(nogil=True, cache=True, inline="always")
def _learn(learned: Any, columns: Any, m: int, price: Any, t: int) -> None:
    """Average the anchor's optimal prices over its problems: a start for the next.

    Prices are free up to a constant, so they are compared around their means.
    """
    mean = before = 0.0
    for j in range(m):
        mean += price[j]
        before += learned[columns[j]]
    shift = (before - mean) / m
    rate = max(1.0 / (t + 1), 0.02)
    for j in range(m):
        at = columns[j]
        learned[at] += rate * (price[j] + shift - learned[at])


@njit(nogil=True, cache=True, inline="always")
def _relaxed(
    table: Any,
    width: int,
    n: int,
    m: int,
    supply: Any,
    rows: Any,
    demand: Any,
    columns: Any,
    nearest: Any,
) -> float:
    """Return a lower bound: every word goes to the nearest of the other document.

    The larger of both directions (the relaxed distance of Kusner et al. 2015), on what
    the documents do not share. Never above the exact distance.
    """
    for j in range(m):
        nearest[j] = INFINITE
    forth = back = 0.0
    for i in range(n):
        here = np.int64(rows[i]) * width
        least = INFINITE
        for j in range(m):
            step = table[here + np.int64(columns[j])]
            least = min(least, step)
            nearest[j] = min(nearest[j], step)
        forth += supply[i] * least
    for j in range(m):
        back += demand[j] * nearest[j]
    return max(forth, back)


@njit(nogil=True, cache=True)
def pair_distances(
    vectors: Any, bags: Any, a: Any, b: Any, scale: float, relaxed: bool, out: Any
) -> None:
    """Write the distances of single pairs of documents, costs made on the spot.

    With ``relaxed``, lower bounds.
    """
    longest = 0
    for t in range(len(a)):
        longest = max(longest, bags.start[a[t] + 1] - bags.start[a[t]])
        longest = max(longest, bags.start[b[t] + 1] - bags.start[b[t]])
    most = longest + LANES
    supply, rows = np.empty(most), np.empty(most, np.int64)
    demand, columns = np.empty(most), np.empty(most, np.int64)
    cost, offer = np.empty(longest * most), np.empty(most)
    tree = new_workspace(2 * most)
    for t in range(len(a)):
        n, m = _not_shared(bags, a[t], b[t], supply, rows, demand, columns)
        if n == 0 or m == 0:
            out[t] = 0.0
            continue
        width = (m + LANES - 1) // LANES * LANES
        for i in range(n):
            for j in range(m):
                cost[i * width + j] = _distance(vectors, rows[i], columns[j])
            for j in range(m, width):
                cost[i * width + j] = INFINITE
        if relaxed:
            for i in range(n):
                rows[i] = i
            for j in range(m):
                columns[j] = j
            out[t] = _relaxed(cost, width, n, m, supply, rows, demand, columns, offer)
            continue
        _column_minima(cost, n, width, offer)
        out[t] = solve(cost, n, m, supply, demand, offer, tree, _TOLERANCE * scale)


@njit(nogil=True, cache=True, inline="always")
def _not_shared(
    bags: Any, a: int, b: int, supply: Any, rows: Any, demand: Any, columns: Any
) -> tuple[int, int]:
    """Write the words that documents a and b do not share; return how many of each.

    Words are ascending in both, so one walk meets every shared word.
    """
    i, j = bags.start[a], bags.start[b]
    n = m = 0
    while i < bags.start[a + 1] or j < bags.start[b + 1]:
        ended_a, ended_b = i == bags.start[a + 1], j == bags.start[b + 1]
        only_a = ended_b or (not ended_a and bags.word[i] < bags.word[j])
        only_b = ended_a or (not ended_b and bags.word[j] < bags.word[i])
        mass_a = 0.0 if only_b else bags.mass[i]
        mass_b = 0.0 if only_a else bags.mass[j]
        shared = min(mass_a, mass_b)
        if mass_a - shared > _DUST:
            supply[n], rows[n] = mass_a - shared, bags.word[i]
            n += 1
        if mass_b - shared > _DUST:
            demand[m], columns[m] = mass_b - shared, bags.word[j]
            m += 1
        i += 0 if only_b else 1
        j += 0 if only_a else 1
    return n, m


def is_compiled() -> bool:
    """Whether the native code is loaded, or on disk for this version of the file.

    Numba has no public way to ask. A wrong answer costs a message that is not shown,
    or one that is shown for nothing.
    """
    return all(map(_is_at_hand, (tile_distances, pair_distances)))


def _is_at_hand(function: Any) -> bool:
    if function.signatures:
        return True
    folder = Path(function.stats.cache_path)
    line = function.py_func.__code__.co_firstlineno
    written = [
        file.stat().st_mtime
        for file in folder.glob(f"documents.{function.__name__}-{line}.*.nbi")
    ]
    return bool(written) and max(written) >= Path(__file__).stat().st_mtime
