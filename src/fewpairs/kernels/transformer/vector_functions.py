"""Functions of vectors of sixteen floats: exponentials and GELU.

Polynomials that meet the function at Chebyshev's points, computed here, so that there
are no magic numbers. Each function has a twin in plain Python, as in `kernels.vectors`.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.polynomial import chebyshev

from fewpairs.kernels.transformer.vectors import (
    FAST,
    INT32,
    INT64,
    LANES,
    VECTOR,
    WHOLE,
    constant,
    everywhere,
    load,
    multiply_add,
    pointer_of,
    store,
    use_widest,
)

__all__ = ["exponentials", "gelu"]


def exponentials_twin(x: Any, at: int, width: int) -> float:
    """Replace x by exp(x − max x), up to ``width``, then zeros to the end of a vector.

    Returns their sum.
    """
    total, most = 0.0, max(x[at : at + width])
    for k in range(-(-width // LANES) * LANES):
        x[at + k] = math.exp(x[at + k] - most) if k < width else 0.0
        total += x[at + k]
    return total


def gelu_twin(x: Any, at: int, bias: Any, width: int) -> None:
    """Replace x by y · ½ (1 + erf(y / √2)) with y = x + bias."""
    for k in range(width):
        y = x[at + k] + bias[k]
        x[at + k] = 0.5 * y * (1 + math.erf(y / math.sqrt(2)))


def _polynomial(builder: Any, x: Any, coefficients: list[float]) -> Any:
    """Evaluate a polynomial, its highest coefficient last.

    Neighbors are joined, then pairs of them (Estrin's scheme): fewer steps wait for
    each other than in Horner's.
    """
    terms = [constant(coefficient) for coefficient in coefficients]
    while len(terms) > 1:
        pairs = zip(terms[::2], terms[1::2], strict=False)
        joined = [multiply_add(builder, high, x, low) for low, high in pairs]
        terms = joined + terms[len(terms) - len(terms) % 2 :]
        x = builder.fmul(x, x, flags=FAST)
    return terms[0]


def _clip(builder: Any, x: Any, low: float, high: float) -> Any:
    for bound, worse in ((constant(low), "<"), (constant(high), ">")):
        x = builder.select(builder.fcmp_ordered(worse, x, bound), bound, x)
    return x


def _meeting(function: Callable[[float], float], degree: int) -> list[float]:
    """Return the polynomial that meets a function at Chebyshev's points of [−1, 1]."""
    points = chebyshev.chebpts1(degree + 1)
    values = np.array([function(float(u)) for u in points])
    series = chebyshev.chebfit(points, values, degree)
    return [float(coefficient) for coefficient in chebyshev.cheb2poly(series)]


# exp(r) for |r| ≤ ½ log 2, by interpolation at Chebyshev's points: to 1e-8 relative.
_HALF = math.log(2) / 2
_EXP = [
    coefficient / _HALF**k
    for k, coefficient in enumerate(_meeting(lambda u: math.exp(_HALF * u), 6))
]


def _exp(builder: Any, x: Any) -> Any:
    """Return exp(x) of a vector, x from −87 to 0: 2ⁿ·exp(r), |r| ≤ ½ log 2."""
    x = _clip(builder, x, -87.0, 0.0)
    scaled = builder.fmul(x, constant(1 / math.log(2)), flags=FAST)
    # x ≤ 0: rounding to the nearest is cutting off what is half less.
    whole = builder.fptosi(builder.fsub(scaled, constant(0.5), flags=FAST), WHOLE)
    n = builder.sitofp(whole, VECTOR)
    # log 2 in two parts, the first of few bits, so that n times it is exact.
    high = 0.693359375
    rest = multiply_add(builder, n, constant(-high), x)
    rest = multiply_add(builder, n, constant(high - math.log(2)), rest)
    bits = builder.shl(
        builder.add(whole, ir.Constant(WHOLE, [127] * LANES)),
        ir.Constant(WHOLE, [23] * LANES),
    )
    power = builder.bitcast(bits, VECTOR)
    return builder.fmul(power, _polynomial(builder, rest, _EXP), flags=FAST)


@intrinsic
def exponentials(typing: Any, x: Any, at: Any, width: Any) -> Any:
    """See the twin; exp(−87) is as good as 0."""
    signature = types.float32(x, types.int64, types.int64)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        use_widest(builder)
        pointer = pointer_of(context, builder, signature.args[0], arguments[0])
        _, at, width = arguments
        zero, step = ir.Constant(INT64, 0), ir.Constant(INT64, LANES)
        largest = cgutils.alloca_once_value(builder, constant(-1e38))
        with cgutils.for_range_slice(builder, zero, width, step) as (k, _):
            value = load(builder, pointer, builder.add(at, k))
            value = builder.select(_inside(builder, width, k), value, constant(-1e38))
            builder.store(_larger(builder, value, builder.load(largest)), largest)
        most = everywhere(builder, _fold(builder, builder.load(largest), _larger))
        total = cgutils.alloca_once_value(builder, constant(0))
        with cgutils.for_range_slice(builder, zero, width, step) as (k, _):
            here = builder.add(at, k)
            value = builder.fsub(load(builder, pointer, here), most, flags=FAST)
            value = _exp(builder, value)
            value = builder.select(_inside(builder, width, k), value, constant(0))
            store(builder, value, pointer, here)
            builder.store(_sum(builder, builder.load(total), value), total)
        return _fold(builder, builder.load(total), _sum)

    return signature, generate


def _inside(builder: Any, width: Any, k: Any) -> Any:
    """Which lanes of the vector at ``k`` lie before ``width``."""
    left = everywhere(builder, builder.trunc(builder.sub(width, k), INT32))
    lane = ir.Constant(WHOLE, list(range(LANES)))
    return builder.icmp_signed("<", lane, left)


def _larger(builder: Any, x: Any, y: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", x, y), x, y)


def _sum(builder: Any, x: Any, y: Any) -> Any:
    return builder.fadd(x, y, flags=FAST)


def _fold(builder: Any, vector: Any, join: Callable[[Any, Any, Any], Any]) -> Any:
    """Join the sixteen numbers of a vector, halves at a time."""
    half = LANES // 2
    while half:
        nothing = ir.Constant(vector.type, ir.Undefined)
        kind = ir.VectorType(INT32, half)
        low, high = (
            builder.shuffle_vector(vector, nothing, ir.Constant(kind, list(lanes)))
            for lanes in (range(half), range(half, 2 * half))
        )
        vector, half = join(builder, low, high), half // 2
    return builder.extract_element(vector, ir.Constant(INT32, 0))


# erf(y/√2) = y · P(y²) for |y| ≤ 5.5, by interpolation in u = y²/w − 1 at Chebyshev's
# points; beyond, it is ±1 to 4e-8.
_FAR = 5.5
_WIDTH = _FAR**2 / 2


def _erf_over_y(u: float) -> float:
    y = math.sqrt(_WIDTH * (u + 1))  # no point is at −1 itself
    return math.erf(y / math.sqrt(2)) / y


_ERF = _meeting(_erf_over_y, 15)


@intrinsic
def gelu(typing: Any, x: Any, at: Any, bias: Any, width: Any) -> Any:
    """See the twin; ``width`` is a multiple of LANES. To 1e-6."""
    signature = types.void(x, types.int64, bias, types.int64)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        use_widest(builder)
        pointer = pointer_of(context, builder, signature.args[0], arguments[0])
        biases = pointer_of(context, builder, signature.args[2], arguments[2])
        zero, step = ir.Constant(INT64, 0), ir.Constant(INT64, LANES)
        with cgutils.for_range_slice(builder, zero, arguments[3], step) as (k, _):
            here = builder.add(arguments[1], k)
            y = builder.fadd(
                load(builder, pointer, here), load(builder, biases, k), FAST
            )
            near = _clip(builder, y, -_FAR, _FAR)
            square = builder.fmul(near, near, flags=FAST)
            u = multiply_add(builder, square, constant(1 / _WIDTH), constant(-1))
            erf = builder.fmul(near, _polynomial(builder, u, _ERF), flags=FAST)
            half = builder.fmul(y, constant(0.5), flags=FAST)
            store(builder, multiply_add(builder, half, erf, half), pointer, here)
        return context.get_dummy_value()

    return signature, generate
