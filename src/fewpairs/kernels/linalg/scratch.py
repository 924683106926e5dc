"""Scratch: arrays that are too large for memory, in files without a name."""

import mmap
import os
import tempfile
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

__all__ = [
    "beside",
    "copy_of",
    "drop",
    "folder_of",
    "like",
    "lines_like",
    "lines_on_disk",
    "on_disk",
    "parts",
    "put_rows",
    "rows_of",
]

_PART = 1 << 24  # bytes looked at at once


class DiskArray(np.memmap[Any, np.dtype[Any]]):
    """An array in a file that ends with it, also when the process is killed."""

    folder: str
    file: Any


def on_disk(shape: tuple[int, ...], dtype: DTypeLike, folder: str) -> NDArray[Any]:
    """Return an array of zeros in a file of ``folder`` that has no name."""
    file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115 - see below
    size = max(1, int(np.prod(shape, dtype=np.int64))) * np.dtype(dtype).itemsize
    try:
        if hasattr(os, "posix_fallocate"):  # a full disk is an error now, not later
            os.posix_fallocate(file.fileno(), 0, size)
        else:
            file.truncate(size)
        out = DiskArray(file, dtype=dtype, mode="r+", shape=shape)
    except BaseException:
        file.close()
        raise
    out.folder, out.file = folder, file
    weakref.finalize(out, file.close)
    return np.asanyarray(out)


def rows_of(array: NDArray[Any], part: slice) -> NDArray[Any]:
    """Return rows to be read once.

    Of an array on disk they are read from its file, which is quicker than looking at
    them through memory page by page.
    """
    base = _whole(array)
    if base is None:
        return np.asarray(array[part])
    out = np.empty((part.stop - part.start, *array.shape[1:]), dtype=array.dtype)
    left, at = out.reshape(-1).view(np.uint8).data, part.start * out.strides[0]
    while len(left):
        read = os.preadv(base.file.fileno(), [left], at)
        left, at = left[read:], at + read
    return out


def put_rows(array: NDArray[Any], part: slice, values: NDArray[Any]) -> None:
    """Write rows; those of an array on disk are written to its file."""
    base = _whole(array)
    if base is None:
        array[part] = values
        return
    data = np.ascontiguousarray(values, dtype=array.dtype)
    left, at = data.reshape(-1).view(np.uint8).data, part.start * data.strides[0]
    while len(left):
        written = os.pwrite(base.file.fileno(), left, at)
        left, at = left[written:], at + written


def _whole(array: NDArray[Any]) -> "DiskArray | None":
    """Return the array on disk that this one is a view of all of, row by row."""
    base: Any = array
    while base is not None and not hasattr(base, "file"):
        base = getattr(base, "base", None)
    same = base is not None and hasattr(os, "preadv") and array.size > 0
    if not same or array.shape != base.shape or array.strides != base.strides:
        return None
    return base if isinstance(base, DiskArray) else None


def folder_of(array: NDArray[Any]) -> str | None:
    """Return where an array of `on_disk`, or one that a view looks at, has its file."""
    base: Any = array
    while base is not None:
        if isinstance(base, DiskArray) and getattr(base, "folder", None):
            return base.folder
        base = getattr(base, "base", None)
    return None


def like(array: NDArray[Any], shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Return an empty array in memory, or on disk where another one is."""
    folder = folder_of(array)
    if folder is None:
        return np.empty(shape, dtype=dtype)
    return on_disk(shape, dtype, folder)


def copy_of(array: NDArray[Any]) -> NDArray[Any]:
    """Return a copy, on disk where the array is."""
    if folder_of(array) is None:
        return np.array(array)
    out = like(array, array.shape, array.dtype)
    for part in parts(len(array), array.shape[1]):
        put_rows(out, part, rows_of(array, part))
    return out


def beside(left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    """Return two arrays side by side, on disk where the first one is."""
    right = right.astype(left.dtype, copy=False)
    if folder_of(left) is None:
        return np.hstack([left, right])
    width = left.shape[1] + right.shape[1]
    out = like(left, (len(left), width), left.dtype)
    for part in parts(len(left), width):
        put_rows(out, part, np.hstack([rows_of(left, part), right[part]]))
    return out


def lines_on_disk(lines: int, n: int, dtype: DTypeLike, folder: str) -> NDArray[Any]:
    """Return a (k, n) array on disk in which a part of all lines lies together."""
    return on_disk((n, lines), dtype, folder).T


def lines_like(array: NDArray[Any], lines: int, dtype: DTypeLike) -> NDArray[Any]:
    """Return (k, n) empty lines in memory, or on disk where others are."""
    folder = folder_of(array)
    if folder is None:
        return np.empty((lines, array.shape[1]), dtype=dtype)
    return lines_on_disk(lines, array.shape[1], dtype, folder)


def drop(*arrays: NDArray[Any]) -> None:
    """Let go of the memory through which these arrays on disk were looked at."""
    for array in arrays:
        base: Any = array
        while base is not None and not isinstance(base, mmap.mmap):
            base = getattr(base, "base", None)
        if base is not None and hasattr(mmap, "MADV_DONTNEED"):
            # A shared mapping: the file keeps what was written.
            base.madvise(mmap.MADV_DONTNEED)


def parts(rows: int, width: int, itemsize: int = 8) -> Iterator[slice]:
    """Cut rows into parts of some 16 MiB."""
    step = max(1, _PART // max(1, width * itemsize))
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))
