"""Products with weights that are packed once, called from within compiled code.

MKL rearranges a matrix in memory before it multiplies by it. For weights that never
change, this is done beforehand. torch has such products too, but every call of them
holds Python's lock for a while, which threads side by side then wait for.
"""

import ctypes
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from fewpairs.kernels.transformer.large_pages import empty_in_large_pages
from fewpairs.kernels.transformer.vectors import FLOAT, INT32, pointer_of

__all__ = ["Packing", "multiply"]

Array = NDArray[np.float32]

# Of the C interface: rows lie one after another, as they are or turned over; the second
# factor is meant, and it is packed.
_ROW_MAJOR, _AS_IT_IS, _TURNED, _SECOND, _PACKED = 101, 111, 112, 162, 151
_WORD = ctypes.c_int32


class Packing:
    """MKL's packed products, from a library that has them inside.

    ``address`` is where `multiply` finds them. Raises ``AttributeError`` where there
    are none, or they count otherwise than expected here.
    """

    def __init__(self, library: ctypes.CDLL) -> None:
        self._size = library.cblas_sgemm_pack_get_size
        self._size.argtypes, self._size.restype = [_WORD] * 4, ctypes.c_size_t
        self._pack = library.cblas_sgemm_pack
        self._pack.restype = None
        self._pack.argtypes = [
            *[_WORD] * 6, ctypes.c_float, ctypes.c_void_p, _WORD, ctypes.c_void_p
        ]  # fmt: skip
        found = ctypes.cast(library.cblas_sgemm_compute, ctypes.c_void_p)
        self.address = int(found.value or 0)
        self._check()

    def pack(self, weight: Array, *, rows: int) -> Array:
        """Return ``weight``, shape (columns, depth), packed for so many rows of x."""
        weight = np.ascontiguousarray(weight, dtype=np.float32)
        columns, depth = weight.shape
        # A generous bound: what is not written to takes no memory.
        size = self._size(_SECOND, rows, columns, depth)
        packed = empty_in_large_pages(-(-size // 4))
        self._pack(
            _ROW_MAJOR, _SECOND, _TURNED, rows, columns, depth, 1.0,
            weight.ctypes.data, depth, packed.ctypes.data,
        )  # fmt: skip
        return packed

    def _check(self) -> None:
        """Multiply small whole numbers, of which sums are exact."""
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        weight = np.arange(12, dtype=np.float32).reshape(4, 3)
        out = np.zeros((2, 4), dtype=np.float32)
        multiply(self.address, x, self.pack(weight, rows=2), out)
        if not np.array_equal(out, x @ weight.T):
            msg = "packed products that are called in another way"
            raise AttributeError(msg)


@intrinsic
def _compute(
    typing: Any, address: Any, rows: Any, columns: Any, depth: Any, x: Any,
    packed: Any, out: Any,
) -> Any:  # fmt: skip
    """Call ``cblas_sgemm_compute`` at ``address``."""
    number = types.int64
    signature = types.void(number, number, number, number, x, packed, out)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address, *sizes = arguments[:4]
        rows, columns, depth = (builder.trunc(size, INT32) for size in sizes)
        left, right, into = (
            pointer_of(context, builder, signature.args[k], arguments[k])
            for k in (4, 5, 6)
        )
        kinds = (_ROW_MAJOR, _AS_IT_IS, _PACKED)
        given = [ir.Constant(INT32, kind) for kind in kinds]
        given += [rows, columns, depth, left, depth, right, depth]
        given += [ir.Constant(FLOAT, 0.0), into, columns]  # nothing is added to
        kind = ir.FunctionType(ir.VoidType(), [each.type for each in given])
        builder.call(builder.inttoptr(address, kind.as_pointer()), given)
        return context.get_dummy_value()

    return signature, generate


@njit(nogil=True, cache=True)
def multiply(address: int, x: Array, packed: Array, out: Array) -> None:
    """Write x · weightᵀ, the weight packed for as many rows as ``x`` has.

    Arrays lie in one piece each; ``address`` is that of a `Packing`.
    """
    _compute(address, x.shape[0], out.shape[1], x.shape[1], x, packed, out)
