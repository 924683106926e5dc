"""Arithmetic on vectors of sixteen floats, written out for the compiler.

LLVM by itself takes half of the widest registers, and keeps no tile of a product there.
Each function has a twin in plain Python, which says what it computes. Arrays are flat
float32; offsets and steps count numbers.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

__all__ = [
    "FAST",
    "INT32",
    "INT64",
    "LANES",
    "TALL",
    "VECTOR",
    "WHOLE",
    "constant",
    "everywhere",
    "load",
    "multiply_add",
    "pointer_of",
    "product_tile",
    "shift_and_scale",
    "store",
    "turn_tile",
    "use_widest",
]

LANES = 16
TALL = 8  # rows of a tile
FLOAT, INT64, INT32 = ir.FloatType(), ir.IntType(64), ir.IntType(32)
VECTOR, WHOLE = ir.VectorType(FLOAT, LANES), ir.VectorType(INT32, LANES)
FAST = ("contract", "reassoc", "nsz", "arcp")  # of a NaN comes a NaN all the same


def product_tile_twin(
    a: Any, at: int, step: int, b: Any, b_at: int, b_step: int, depth: int,
    out: Any, out_at: int, out_step: int,
) -> None:  # fmt: skip
    """Write out[r, c] = Σ a[r, k] · b[k, c] of a tile of TALL × LANES."""
    for r in range(TALL):
        for c in range(LANES):
            out[out_at + r * out_step + c] = sum(
                a[at + r * step + k] * b[b_at + k * b_step + c] for k in range(depth)
            )


def shift_and_scale_twin(
    x: Any, at: int, shift: Any, shift_at: int, factor: float,
    out: Any, out_at: int, width: int,
) -> None:  # fmt: skip
    """Write out = (x + shift) · factor."""
    for k in range(width):
        out[out_at + k] = (x[at + k] + shift[shift_at + k]) * factor


def turn_tile_twin(
    x: Any, at: int, step: int, out: Any, out_at: int, out_step: int
) -> None:
    """Write out[c, r] = x[r, c] of a tile of LANES × LANES."""
    for r in range(LANES):
        for c in range(LANES):
            out[out_at + c * out_step + r] = x[at + r * step + c]


def pointer_of(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    """Return where the numbers of an array begin."""
    return context.make_array(kind)(context, builder, array).data


def use_widest(builder: Any) -> None:
    """Let the function use registers of 512 bits, where there are any.

    LLVM keeps to 256 otherwise: it fears for the clock of processors of 2017.
    """
    wanted = ('"min-legal-vector-width"="512"', '"prefer-vector-width"="512"')
    set.update(builder.function.attributes, wanted)


def _place(builder: Any, pointer: Any, at: Any) -> Any:
    return builder.bitcast(builder.gep(pointer, [at]), VECTOR.as_pointer())


def load(builder: Any, pointer: Any, at: Any) -> Any:
    """Load a vector from an address that need not be aligned."""
    return builder.load(_place(builder, pointer, at), align=4)


def store(builder: Any, vector: Any, pointer: Any, at: Any) -> None:
    """Store a vector at an address that need not be aligned."""
    builder.store(vector, _place(builder, pointer, at), align=4)


def constant(value: float) -> Any:
    """Return a vector of sixteen times the same number, known beforehand."""
    return ir.Constant(VECTOR, [float(np.float32(value))] * LANES)


def everywhere(builder: Any, scalar: Any) -> Any:
    """Return a vector of sixteen times the same scalar."""
    kind = ir.VectorType(scalar.type, LANES)
    nothing = ir.Constant(kind, ir.Undefined)
    single = builder.insert_element(nothing, scalar, ir.Constant(INT32, 0))
    return builder.shuffle_vector(single, nothing, ir.Constant(WHOLE, [0] * LANES))


def multiply_add(builder: Any, x: Any, y: Any, z: Any) -> Any:
    """Return x · y + z, rounded once where the processor can."""
    return builder.fadd(builder.fmul(x, y, flags=FAST), z, flags=FAST)


@intrinsic
def product_tile(
    typing: Any, a: Any, at: Any, step: Any, b: Any, b_at: Any, b_step: Any,
    depth: Any, out: Any, out_at: Any, out_step: Any,
) -> Any:  # fmt: skip
    """See the twin: the tile stays in registers."""
    number = types.int64
    signature = types.void(
        a, number, number, b, number, number, number, out, number, number
    )

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        use_widest(builder)
        kinds = signature.args
        left, right, into = (
            pointer_of(context, builder, kinds[k], arguments[k]) for k in (0, 3, 7)
        )
        _, at, step, _, b_at, b_step, depth, _, out_at, out_step = arguments
        sums = [cgutils.alloca_once_value(builder, constant(0)) for _ in range(TALL)]
        begins = [
            builder.add(at, builder.mul(step, ir.Constant(INT64, r)))
            for r in range(TALL)
        ]
        with cgutils.for_range(builder, depth) as loop:
            row = load(
                builder, right, builder.add(b_at, builder.mul(b_step, loop.index))
            )
            for begin, total in zip(begins, sums, strict=True):
                where = builder.gep(left, [builder.add(begin, loop.index)])
                factor = everywhere(builder, builder.load(where, align=4))
                builder.store(
                    multiply_add(builder, factor, row, builder.load(total)), total
                )
        for r, total in enumerate(sums):
            place = builder.add(out_at, builder.mul(out_step, ir.Constant(INT64, r)))
            store(builder, builder.load(total), into, place)
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def shift_and_scale(
    typing: Any, x: Any, at: Any, shift: Any, shift_at: Any, factor: Any,
    out: Any, out_at: Any, width: Any,
) -> Any:  # fmt: skip
    """See the twin; ``width`` is a multiple of LANES."""
    number = types.int64
    signature = types.void(x, number, shift, number, types.float32, out, number, number)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        use_widest(builder)
        source, shifts, into = (
            pointer_of(context, builder, signature.args[k], arguments[k])
            for k in (0, 2, 5)
        )
        _, at, _, shift_at, factor, _, out_at, width = arguments
        factor = everywhere(builder, factor)
        zero, step = ir.Constant(INT64, 0), ir.Constant(INT64, LANES)
        with cgutils.for_range_slice(builder, zero, width, step) as (k, _):
            value = load(builder, source, builder.add(at, k))
            shift = load(builder, shifts, builder.add(shift_at, k))
            value = builder.fadd(value, shift, flags=FAST)
            value = builder.fmul(value, factor, flags=FAST)
            store(builder, value, into, builder.add(out_at, k))
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def turn_tile(
    typing: Any, x: Any, at: Any, step: Any, out: Any, out_at: Any, out_step: Any
) -> Any:
    """See the twin: by halves, quarters, …, in registers."""
    number = types.int64
    signature = types.void(x, number, number, out, number, number)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        use_widest(builder)
        source, into = (
            pointer_of(context, builder, signature.args[k], arguments[k])
            for k in (0, 3)
        )
        _, at, step, _, out_at, out_step = arguments
        rows = [ir.Constant(INT64, r) for r in range(LANES)]
        vectors = [
            load(builder, source, builder.add(at, builder.mul(step, r))) for r in rows
        ]
        block = LANES // 2
        while block:  # swap what is off the diagonal in all blocks of this size
            for r in (r for r in range(LANES) if not r & block):
                low, high = vectors[r], vectors[r + block]
                lanes = range(LANES)
                first = [c if not c & block else c - block + LANES for c in lanes]
                second = [c + block if not c & block else c + LANES for c in lanes]
                for k, mask in ((r, first), (r + block, second)):
                    vectors[k] = builder.shuffle_vector(
                        low, high, ir.Constant(WHOLE, mask)
                    )
            block //= 2
        for r, vector in zip(rows, vectors, strict=True):
            place = builder.add(out_at, builder.mul(out_step, r))
            store(builder, vector, into, place)
        return context.get_dummy_value()

    return signature, generate
