"""Arrays in large pages of memory, where the system has any.

A processor keeps in mind where some two thousand pages lie. Of 4 KiB each, these are
fewer than the weights of a small model take, and it looks them up again in every pass.
"""

import mmap

import numpy as np
from numpy.typing import NDArray

__all__ = ["empty_in_large_pages"]

_PAGE = 1 << 21  # bytes of a large page, on most systems


def empty_in_large_pages(*shape: int) -> NDArray[np.float32]:
    """Return an array of float32, its values not set.

    Memory is taken when it is first written to, as that of any large array.
    """
    count = int(np.prod(shape, dtype=np.int64))
    try:
        private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        memory = mmap.mmap(-1, 4 * count + _PAGE, flags=private)
        memory.madvise(mmap.MADV_HUGEPAGE)
    except (AttributeError, OSError):  # another system, or a kernel without them
        return np.empty(shape, dtype=np.float32)
    # The array keeps the mapping alive. Only whole pages are large: begin with one.
    start = -np.frombuffer(memory, dtype=np.uint8).ctypes.data % _PAGE
    array = np.frombuffer(memory, dtype=np.float32, count=count, offset=start)
    return array.reshape(shape)
