"""Word mover's distance between bags of words, many at a time.

A document is a bag: word numbers and positive masses that sum to 1, words ascending.
Words that two documents share stay where they are: Euclidean distance is a metric, so
some optimal plan moves no mass of a word away while mass of that word arrives
(Kusner et al. 2015 use it too). Only what is left over is transported.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fewpairs.kernels.simd import LANES
from fewpairs.kernels.transport import INFINITE, new_workspace, solve

__all__ = [
    "Bags",
    "anchor_distances",
    "pair_distances",
    "relaxed_distances",
    "word_table",
]

# Masses below this are what subtraction leaves of equal ones.
_DUST = 1e-15
# |x|² + |y|² − 2xy loses what it cancels: below this share it is summed anew.
_CANCELED = 1e-3
_TOLERANCE = 1e-13
_STRIP = 64


class Bags(NamedTuple):
    """Documents as one array: document d holds ``word[start[d] : start[d + 1]]``."""

    start: NDArray[np.int64]
    word: NDArray[np.int64]
    mass: NDArray[np.float64]


@njit(nogil=True, cache=True)
def _distance(vectors: Any, a: int, b: int) -> float:
    """Return the Euclidean distance of two words."""
    square = 0.0
    for k in range(vectors.shape[1]):
        step = vectors[a, k] - vectors[b, k]
        square += step * step
    return np.sqrt(square)


@njit(nogil=True, cache=True)
def _left_over(
    bags: Any, a: int, b: int, supply: Any, rows: Any, demand: Any, columns: Any
) -> tuple[int, int]:
    """Write what documents a and b do not share; return how many words of each.

    ``rows`` and ``columns`` get positions in the documents. Words are ascending in
    both, so one walk meets every shared word.
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
            supply[n], rows[n] = mass_a - shared, i - bags.start[a]
            n += 1
        if mass_b - shared > _DUST:
            demand[m], columns[m] = mass_b - shared, j - bags.start[b]
            m += 1
        i += 0 if only_b else 1
        j += 0 if only_a else 1
    return n, m


@njit(nogil=True, cache=True)
def _column_minima(cost: Any, n: int, width: int, offer: Any) -> None:
    """Offer every column at minus its lowest cost: all reduced costs are then ≥ 0."""
    for j in range(width):
        offer[j] = INFINITE
    for i in range(n):
        for j in range(width):
            offer[j] = min(offer[j], cost[i * width + j])
    for j in range(width):
        offer[j] = -offer[j]


@njit(nogil=True, cache=True)
def anchor_distances(
    bags: Any,
    anchor: int,
    others: Any,
    table: Any,
    table_row: Any,
    scale: float,
    out: Any,
) -> None:
    """Write the distances of one document to many; GAVE_UP where none was found.

    Parameters
    ----------
    table
        Distances from words (rows) to the words of the anchor (columns).
    table_row
        Row of the table for every word number that occurs in ``others``.
    scale
        Size of the costs; tolerances follow it.
    """
    longest = 0
    for d in others:
        longest = max(longest, bags.start[d + 1] - bags.start[d])
    length = bags.start[anchor + 1] - bags.start[anchor]
    most = length + LANES
    supply, rows = np.empty(longest), np.empty(longest, np.int64)
    demand, columns = np.empty(most), np.empty(most, np.int64)
    cost, offer = np.empty(longest * most), np.empty(most)
    tree = new_workspace(longest + most)
    learned = np.zeros(length)
    for t in range(len(others)):
        d = others[t]
        n, m = _left_over(bags, d, anchor, supply, rows, demand, columns)
        if n == 0 or m == 0:
            out[t] = 0.0
            continue
        width = (m + LANES - 1) // LANES * LANES
        for i in range(n):
            row = table[table_row[bags.word[bags.start[d] + rows[i]]]]
            for j in range(m):
                cost[i * width + j] = row[columns[j]]
            for j in range(m, width):
                cost[i * width + j] = INFINITE
        if t == 0:
            _column_minima(cost, n, width, offer)
        else:
            for j in range(m):
                offer[j] = learned[columns[j]]
        out[t] = solve(cost, n, m, supply, demand, offer, tree, _TOLERANCE * scale)
        _learn(learned, columns, m, tree.price, t)


@njit(nogil=True, cache=True)
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


@njit(nogil=True, cache=True)
def word_table(
    vectors: Any, squares: Any, products: Any, words: Any, own: Any, table: Any
) -> None:
    """Turn inner products (own words × words) into distances (words × own words).

    In strips of words that stay in the cache while they are turned around.
    """
    for start in range(0, len(words), _STRIP):
        end = min(start + _STRIP, len(words))
        for p in range(len(own)):
            row = products[p]
            for u in range(start, end):
                square = squares[own[p]] + squares[words[u]] - 2.0 * row[u]
                table[u, p] = np.sqrt(max(square, 0.0))
        for u in range(start, end):
            for p in range(len(own)):
                both = squares[own[p]] + squares[words[u]]
                if table[u, p] * table[u, p] < _CANCELED * both:
                    table[u, p] = _distance(vectors, words[u], own[p])


@njit(nogil=True, cache=True)
def pair_distances(
    vectors: Any, bags: Any, a: Any, b: Any, scale: float, out: Any
) -> None:
    """Write the distances of single pairs of documents, costs made on the spot."""
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
        n, m = _left_over(bags, a[t], b[t], supply, rows, demand, columns)
        if n == 0 or m == 0:
            out[t] = 0.0
            continue
        width = (m + LANES - 1) // LANES * LANES
        _pair_costs(vectors, bags, a[t], b[t], rows, columns, n, m, width, cost)
        _column_minima(cost, n, width, offer)
        out[t] = solve(cost, n, m, supply, demand, offer, tree, _TOLERANCE * scale)


@njit(nogil=True, cache=True)
def _pair_costs(
    vectors: Any,
    bags: Any,
    a: int,
    b: int,
    rows: Any,
    columns: Any,
    n: int,
    m: int,
    width: int,
    cost: Any,
) -> None:
    for i in range(n):
        x = bags.word[bags.start[a] + rows[i]]
        for j in range(m):
            y = bags.word[bags.start[b] + columns[j]]
            cost[i * width + j] = _distance(vectors, x, y)
        for j in range(m, width):
            cost[i * width + j] = INFINITE


@njit(nogil=True, cache=True)
def relaxed_distances(
    bags: Any, anchor: int, others: Any, table: Any, table_row: Any, out: Any
) -> None:
    """Write lower bounds: every word goes to the nearest of the other document.

    The larger of both directions (the relaxed distance of Kusner et al. 2015), on what
    the documents do not share. Never above the exact distance.
    """
    most = bags.start[anchor + 1] - bags.start[anchor]
    longest = 0
    for d in others:
        longest = max(longest, bags.start[d + 1] - bags.start[d])
    supply, rows = np.empty(longest), np.empty(longest, np.int64)
    demand, columns = np.empty(most), np.empty(most, np.int64)
    nearest = np.empty(most)
    for t in range(len(others)):
        d = others[t]
        n, m = _left_over(bags, d, anchor, supply, rows, demand, columns)
        nearest[:m] = INFINITE
        forth = back = 0.0
        for i in range(n):
            row = table[table_row[bags.word[bags.start[d] + rows[i]]]]
            least = INFINITE
            for j in range(m):
                step = row[columns[j]]
                least = min(least, step)
                nearest[j] = min(nearest[j], step)
            forth += supply[i] * least
        for j in range(m):
            back += demand[j] * nearest[j]
        out[t] = max(forth, back)
