"""Exact transport between many small sets of masses: a transportation simplex.

A problem has n supplies (rows), m demands (columns) and a cost for each pair. The
simplex walks from one basis to a cheaper one; a basis is a spanning tree of rows and
columns, whose edges carry all the flow. What makes it fast on problems of 5 to 500
words (measured by ``python -m benchmarks wmd``):

- the tree is kept as a preorder array, in which a subtree is a contiguous range;
- the first basis is greedy under prices learned from the problems before, which
  share one side;
- the entering edge is the most negative of the next 16 rows, not of all;
- a row is scanned in vector registers;
- all of it is one compiled function: the parts are inlined, since a call that hands
  over ten arrays costs as much as a pivot of a short text.

Rows are numbered after the columns: node j < width is a column, node width + i a row.
``width`` is m rounded up to a multiple of eight; padding costs INFINITE.

References
----------
Ahuja, Magnanti & Orlin (1993), "Network Flows", chapter 11.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fewpairs.kernels.wmd.simd import LANES, first_at_most, row_minimum

__all__ = ["GAVE_UP", "INFINITE", "Workspace", "new_workspace", "solve"]

INFINITE = 1e300
GAVE_UP = -1.0
_ROWS_PRICED = 16
# A supply that a demand leaves over by less than this is rounding, in total mass 1.
_NOTHING = 1e-13


class Workspace(NamedTuple):
    """Arrays that one thread reuses for all its problems, indexed by node.

    ``parent``, ``size`` (of the subtree), ``flow`` (on the edge to the parent),
    ``price`` (dual), ``place`` (in the preorder ``order``); ``scratch`` and ``slot``
    while the tree is built or re-hung; ``rank`` and ``lowest`` order the rows.

    Nodes are stored unsigned in 32 bits: half the cache, and no check for negative
    subscripts. They are read through ``np.int64``, because Numba turns the sum of an
    unsigned and a signed number into a float.
    """

    parent: NDArray[np.uint32]
    size: NDArray[np.uint32]
    flow: NDArray[np.float64]
    price: NDArray[np.float64]
    order: NDArray[np.uint32]
    place: NDArray[np.uint32]
    scratch: NDArray[np.uint32]
    slot: NDArray[np.uint32]
    rank: NDArray[np.uint32]
    lowest: NDArray[np.float64]


@njit(nogil=True, cache=True)
def new_workspace(nodes: int) -> Workspace:
    """Return arrays for problems of up to so many rows and padded columns."""
    return Workspace(
        np.empty(nodes, np.uint32),
        np.empty(nodes, np.uint32),
        np.empty(nodes),
        np.empty(nodes),
        np.empty(nodes, np.uint32),
        np.empty(nodes, np.uint32),
        np.empty(nodes, np.uint32),
        np.empty(nodes, np.uint32),
        np.empty(nodes, np.uint32),
        np.empty(nodes),
    )


@njit(nogil=True, cache=True, inline="always")
def solve(
    cost: Any,
    n: int,
    m: int,
    supply: Any,
    demand: Any,
    offer: Any,
    tree: Any,
    tolerance: float,
) -> float:
    """Return the least cost of moving ``supply`` to ``demand``, or GAVE_UP.

    Parameters
    ----------
    cost
        Flat, n rows of ``width`` entries.
    supply, demand
        Positive masses of equal sum; ``demand`` is used up.
    offer
        Prices of the columns to start from; used up.
    tree
        Workspace. Its column prices are the optimal duals on return, unless n or m
        is 1: then all flows are known and no prices are made.
    tolerance
        Reduced costs above −tolerance count as 0; scale it with the costs.
    """
    width = (m + LANES - 1) // LANES * LANES
    nodes = n + m
    if n == 1 or m == 1:
        return _only_plan(cost, n, m, width, supply, demand)
    hung = _greedy_basis(cost, n, m, width, supply, demand, offer, tree)
    _number(cost, width, hung, offer, tree)
    row = clean = pivots = 0
    while clean < n:
        # The most negative reduced cost of the next rows, each at its own best column.
        best, entering, lowest = -tolerance, -1, 0.0
        for _ in range(min(_ROWS_PRICED, n)):
            least = row_minimum(cost, row * width, tree.price, width)
            reduced = least - tree.price[width + row]
            if reduced < best:
                best, entering, lowest = reduced, row, least
            row = row + 1 if row + 1 < n else 0
            clean += 1
            if clean >= n:
                break
        if entering < 0:
            continue
        clean = 0
        pivots += 1
        if pivots > 100 * nodes + 1000:
            return GAVE_UP
        column = first_at_most(cost, entering * width, tree.price, width, lowest)
        _pivot(nodes, width, entering, column, best, tree)
    total = 0.0
    for t in range(1, nodes):
        k = np.int64(tree.order[t])
        p = np.int64(tree.parent[k])
        edge = (k - width) * width + p if k >= width else (p - width) * width + k
        total += tree.flow[k] * cost[edge]
    return total


@njit(nogil=True, cache=True, inline="always")
def _only_plan(
    cost: Any, n: int, m: int, width: int, supply: Any, demand: Any
) -> float:
    """Return the cost where one side is a single node, which takes everything."""
    total = 0.0
    if n == 1:
        for j in range(m):
            total += demand[j] * cost[j]
    else:
        for i in range(n):
            total += supply[i] * cost[i * width]
    return total


@njit(nogil=True, cache=True, inline="always")
def _greedy_basis(
    cost: Any,
    n: int,
    m: int,
    width: int,
    supply: Any,
    demand: Any,
    offer: Any,
    tree: Any,
) -> int:
    """Hang rows and columns on each other, cheapest first; return how many hang.

    Rows go in the order of their lowest reduced cost. A row fills its cheapest column
    until one of both is used up; that one hangs on the other. The last column left
    open is the root: all others are in ``scratch``, children before parents.
    """
    for j in range(width):
        tree.size[j] = 1
    for j in range(m, width):
        offer[j] = INFINITE
        tree.price[j] = INFINITE
    for i in range(n):
        tree.size[width + i] = 1
        least = row_minimum(cost, i * width, offer, width)
        tree.lowest[i] = least
        k = i
        while k > 0 and tree.lowest[tree.rank[k - 1]] > least:
            tree.rank[k] = tree.rank[k - 1]
            k -= 1
        tree.rank[k] = i
    hung, still_open = 0, m
    for turn in range(n):
        i = np.int64(tree.rank[turn])
        node, left, bound = width + i, supply[i], tree.lowest[i]
        while True:
            j = first_at_most(cost, i * width, offer, width, bound)
            if j < 0:  # its best column has closed since: look again
                bound = row_minimum(cost, i * width, offer, width)
                continue
            last = turn == n - 1
            if (demand[j] < left - _NOTHING or last) and still_open > 1:
                left = max(left - demand[j], 0.0)
                tree.flow[j] = demand[j]
                tree.parent[j] = node
                tree.size[node] += tree.size[j]
                tree.scratch[hung] = j
                hung += 1
                offer[j] = INFINITE
                still_open -= 1
            else:
                tree.flow[node] = left
                demand[j] = max(demand[j] - left, 0.0)
                tree.parent[node] = j
                tree.size[j] += tree.size[node]
                tree.scratch[hung] = node
                hung += 1
                break
    return hung


@njit(nogil=True, cache=True, inline="always")
def _number(cost: Any, width: int, hung: int, offer: Any, tree: Any) -> None:
    """Put the tree in preorder and price every node from the root on."""
    root = 0
    while offer[root] >= INFINITE:
        root += 1
    tree.parent[root], tree.flow[root], tree.price[root] = root, 0.0, 0.0
    tree.place[root], tree.order[0], tree.slot[root] = 0, root, 1
    for t in range(hung - 1, -1, -1):
        k = np.int64(tree.scratch[t])
        p = np.int64(tree.parent[k])
        at = np.int64(tree.slot[p])
        tree.place[k], tree.order[at] = at, k
        tree.slot[p], tree.slot[k] = at + np.int64(tree.size[k]), at + 1
        if k >= width:
            tree.price[k] = cost[(k - width) * width + p] + tree.price[p]
        else:
            tree.price[k] = tree.price[p] - cost[(p - width) * width + k]


@njit(nogil=True, cache=True, inline="always")
def _pivot(
    nodes: int, width: int, row: int, column: int, reduced: float, tree: Any
) -> None:
    """Let the edge (row, column) enter the tree, and the edge it replaces leave."""
    entering = width + row
    # The apex is the first ancestor of the row whose subtree has the column. Going
    # up, flow on the edges of rows (on this side) and columns (on the other) falls.
    here = np.int64(tree.place[column])
    least_row, leaving_row, x = INFINITE, 0, entering
    while True:
        start = np.int64(tree.place[x])
        if start <= here < start + np.int64(tree.size[x]):
            break
        if x >= width and tree.flow[x] < least_row:
            least_row, leaving_row = tree.flow[x], x
        x = np.int64(tree.parent[x])
    apex = x
    least_column, leaving_column, y = INFINITE, 0, column
    while y != apex:
        if y < width and tree.flow[y] <= least_column:
            least_column, leaving_column = tree.flow[y], y
        y = np.int64(tree.parent[y])
    if least_column <= least_row:
        change, leaving, inner, outer = least_column, leaving_column, column, entering
        shift = -reduced
    else:
        change, leaving, inner, outer = least_row, leaving_row, entering, column
        shift = reduced

    # The subtree of the leaving node is cut off and hung on the entering edge.
    moved = np.int64(tree.size[leaving])
    old_start = np.int64(tree.place[leaving])
    new_start = np.int64(tree.place[outer])
    new_end = new_start + np.int64(tree.size[outer])
    sign = -1.0
    x = outer
    while x != apex:
        tree.flow[x] += sign * change
        tree.size[x] += moved
        sign = -sign
        x = np.int64(tree.parent[x])
    sign = -1.0
    x = inner
    while x != leaving:
        tree.flow[x] += sign * change
        sign = -sign
        x = np.int64(tree.parent[x])
    sign = -sign
    x = np.int64(tree.parent[leaving])
    while x != apex:
        tree.flow[x] += sign * change
        tree.size[x] -= moved
        sign = -sign
        x = np.int64(tree.parent[x])
    _turn_around(inner, outer, leaving, moved, change, tree)
    at = _move(old_start, new_start, new_end, moved, tree)
    # Only one side of the entering edge changes its prices: the smaller one does.
    if 2 * moved <= nodes:
        for t in range(at, at + moved):
            tree.price[tree.order[t]] += shift
    else:
        for t in range(at):
            tree.price[tree.order[t]] -= shift
        for t in range(at + moved, nodes):
            tree.price[tree.order[t]] -= shift


@njit(nogil=True, cache=True, inline="always")
def _turn_around(
    inner: int, outer: int, leaving: int, moved: int, change: float, tree: Any
) -> None:
    """Make ``inner`` the root of the subtree of ``leaving``; its preorder to scratch.

    Every node from ``inner`` up to ``leaving`` becomes the child of the one below;
    its own subtree without that branch keeps its order.
    """
    filled = 0
    k, parent, flow = inner, outer, change
    branch_start = branch_end = np.int64(tree.place[inner])
    below = 0
    while True:
        start = np.int64(tree.place[k])
        end = start + np.int64(tree.size[k])
        for t in range(start, branch_start):
            tree.scratch[filled] = tree.order[t]
            filled += 1
        for t in range(branch_end, end):
            tree.scratch[filled] = tree.order[t]
            filled += 1
        branch_start, branch_end = start, end
        next_up, old_flow = np.int64(tree.parent[k]), tree.flow[k]
        tree.parent[k], tree.flow[k], tree.size[k] = parent, flow, moved - below
        below = end - start
        if k == leaving:
            return
        parent, flow, k = k, old_flow, next_up


@njit(nogil=True, cache=True, inline="always")
def _move(old_start: int, new_start: int, new_end: int, moved: int, tree: Any) -> int:
    """Put the subtree in scratch behind its new parent; return where it begins."""
    if new_start < old_start:
        at = new_end if new_end <= old_start else new_start + 1
        first, last = at, old_start + moved
        for t in range(old_start - 1, at - 1, -1):
            tree.order[t + moved] = tree.order[t]
    else:
        end = new_start + 1
        first, last = old_start, end
        for t in range(old_start + moved, end):
            tree.order[t - moved] = tree.order[t]
        at = end - moved
    for t in range(moved):
        tree.order[at + t] = tree.scratch[t]
    for t in range(first, last):
        tree.place[tree.order[t]] = t
    return at
