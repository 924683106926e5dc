"""Row minima in vector registers.

LLVM does not vectorize a minimum over floats by itself: it would have to reorder
comparisons that may meet NaN. Written out as vectors of eight doubles it takes a sixth
of the time, and the row minimum is the inner loop of transport. Each function has a
twin in plain Python, which says what it computes.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

__all__ = ["LANES", "first_at_most", "row_minimum"]

LANES = 8
_DOUBLE, _INT64, _INT32 = ir.DoubleType(), ir.IntType(64), ir.IntType(32)
_VECTOR = ir.VectorType(_DOUBLE, LANES)


def row_minimum_twin(cost: Any, start: int, price: Any, width: int) -> float:
    """Return the least cost[start + j] + price[j] over j < width."""
    return min(cost[start + j] + price[j] for j in range(width))


def first_at_most_twin(
    cost: Any, start: int, price: Any, width: int, bound: float
) -> int:
    """Return the first j < width with cost[start + j] + price[j] <= bound, or −1."""
    found = (j for j in range(width) if cost[start + j] + price[j] <= bound)
    return next(found, -1)


def _pointer(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    return context.make_array(kind)(context, builder, array).data


def _load(builder: Any, pointer: Any, at: Any) -> Any:
    """Load eight doubles from an address that need not be aligned to 64 bytes."""
    where = builder.bitcast(builder.gep(pointer, [at]), _VECTOR.as_pointer())
    return builder.load(where, align=8)


def _smaller(builder: Any, x: Any, y: Any) -> Any:
    return builder.select(builder.fcmp_ordered("<", x, y), x, y)


def _pick(builder: Any, vector: Any, lanes: list[int]) -> Any:
    mask = ir.Constant(ir.VectorType(_INT32, len(lanes)), lanes)
    nothing = ir.Constant(vector.type, ir.Undefined)
    return builder.shuffle_vector(vector, nothing, mask)


@intrinsic
def row_minimum(typing: Any, cost: Any, start: Any, price: Any, width: Any) -> Any:
    """See the twin; ``width`` is a multiple of eight, arrays are flat doubles."""
    signature = types.float64(cost, types.int64, price, types.int64)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kinds = signature.args
        costs = _pointer(context, builder, kinds[0], arguments[0])
        prices = _pointer(context, builder, kinds[2], arguments[2])
        huge = ir.Constant(_VECTOR, [1e300] * LANES)
        least = cgutils.alloca_once_value(builder, huge)
        zero, step = ir.Constant(_INT64, 0), ir.Constant(_INT64, LANES)
        with cgutils.for_range_slice(builder, zero, arguments[3], step) as (j, _):
            at = builder.add(arguments[1], j)
            total = builder.fadd(_load(builder, costs, at), _load(builder, prices, j))
            builder.store(_smaller(builder, total, builder.load(least)), least)
        vector = builder.load(least)
        for half in (4, 2, 1):
            low = _pick(builder, vector, list(range(half)))
            high = _pick(builder, vector, list(range(half, 2 * half)))
            vector = _smaller(builder, low, high)
        return builder.extract_element(vector, ir.Constant(_INT32, 0))

    return signature, generate


@intrinsic
def _lanes_at_most(
    typing: Any,
    cost: Any,
    start: Any,
    price: Any,
    first: Any,
    bound: Any,
) -> Any:
    """Bit k is set where cost[start + first + k] + price[first + k] <= bound."""
    signature = types.int64(cost, types.int64, price, types.int64, types.float64)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kinds = signature.args
        costs = _pointer(context, builder, kinds[0], arguments[0])
        prices = _pointer(context, builder, kinds[2], arguments[2])
        at = builder.add(arguments[1], arguments[3])
        total = builder.fadd(
            _load(builder, costs, at), _load(builder, prices, arguments[3])
        )
        single = builder.insert_element(
            ir.Constant(_VECTOR, ir.Undefined), arguments[4], ir.Constant(_INT32, 0)
        )
        below = builder.fcmp_ordered("<=", total, _pick(builder, single, [0] * LANES))
        return builder.zext(builder.bitcast(below, ir.IntType(LANES)), _INT64)

    return signature, generate


# Position of the lowest set bit of every byte.
_LOWEST = np.array([(b & -b).bit_length() - 1 for b in range(256)], dtype=np.int64)


@njit(nogil=True, cache=True, inline="always")
def first_at_most(cost: Any, start: int, price: Any, width: int, bound: float) -> int:
    """See the twin; ``width`` is a multiple of eight, arrays are flat doubles."""
    for j in range(0, width, LANES):
        bits = _lanes_at_most(cost, start, price, j, bound)
        if bits != 0:
            return j + _LOWEST[bits]
    return -1
