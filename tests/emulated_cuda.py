"""A GPU of one lane: ``word_movers.cu`` compiled as C++, behind the CuPy that we use.

It shows that the algorithm and all that is done around it are right. What only 32 lanes
at a time can do wrong takes a real one, on which ``test_wmd_cuda`` runs where it can.
"""

import ctypes
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import numpy as np

import fewpairs

SOURCE = Path(fewpairs.__file__).parent / "kernels" / "wmd" / "word_movers.cu"


def compiled(folder, **defined):
    """Return the library, or None where there is no compiler."""
    compiler = shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        return None
    target = folder / "word_movers.so"
    macros = [f"-D{name}={value}" for name, value in defined.items()]
    flags = ["-O2", "-shared", "-fPIC", "-Wall", "-Wno-unknown-pragmas", "-Werror"]
    subprocess.run(
        [compiler, *flags, *macros, "-x", "c++", SOURCE, "-o", target], check=True
    )
    return ctypes.CDLL(str(target))


class OnGPU(np.ndarray):
    """An array that must be fetched."""

    def get(self, out):
        assert out.flags.c_contiguous
        assert (out.shape, out.dtype) == (self.shape, self.dtype)
        out[...] = self


def send(values):
    return np.ascontiguousarray(values).view(OnGPU)


class Function:
    """A kernel; ``launched`` holds what it was started with."""

    def __init__(self, library, name, launched):
        self._call, self.name, self.launched = library.nothing_shared, name, launched
        self.max_dynamic_shared_size_bytes = 48 << 10  # unless more is asked for
        self.kernel = SimpleNamespace(ptr=0)

    def __call__(self, grid, block, arguments, shared_mem):
        assert shared_mem <= self.max_dynamic_shared_size_bytes
        self.launched.append((self.name, grid, shared_mem))
        *before, given, taken, out = arguments
        tree, costs = (int(arguments[at]) for at in (13, 14))
        outside = {"all_shared": 0, "tree_shared": costs}.get(self.name, tree + costs)
        assert len(given) >= grid[0] * outside
        assert shared_mem == tree + costs - outside
        assert tree % 16 == costs % 16 == 0, "the next block is not aligned"
        spare = np.full(tree + costs, 0xAB, dtype=np.uint8)
        types = {"int32": ctypes.c_int, "int64": ctypes.c_longlong}
        passed = []
        for value in (*before, spare, taken, out):
            if isinstance(value, np.ndarray):
                passed.append(ctypes.c_void_p(value.ctypes.data))
            else:
                kind = types.get(value.dtype.name, ctypes.c_double)
                passed.append(kind(value.item()))
        self._call(*passed)


class Device:
    def __init__(self, number):
        self.id = number
        memory = {"MaxSharedMemoryPerBlockOptin": 64 << 10}
        self.attributes = {"MultiProcessorCount": 4, **memory}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


class Stream:
    """Counts how often it was waited for."""

    def __init__(self, non_blocking):
        assert non_blocking
        self.used = self.waited = 0

    def __enter__(self):
        self.used += 1
        return self

    def __exit__(self, *_):
        return None

    def synchronize(self):
        self.waited += 1


class OutOfMemoryError(MemoryError):
    pass


def fake_cupy(library, gpus=1):
    """Return what takes the place of the module."""
    launched = []
    runtime = SimpleNamespace(
        getDeviceCount=lambda: gpus,
        memGetInfo=lambda: (1 << 30, 1 << 30),
        CUDARuntimeError=RuntimeError,
    )
    cuda = SimpleNamespace(
        Device=Device,
        Stream=Stream,
        memory=SimpleNamespace(OutOfMemoryError=OutOfMemoryError),
        get_current_stream=lambda: SimpleNamespace(synchronize=lambda: None),
        runtime=runtime,
        driver=SimpleNamespace(
            occupancyMaxActiveBlocksPerMultiprocessor=lambda *_: 8,
        ),
    )
    pool = SimpleNamespace(free_all_blocks=lambda: launched.append("freed"))
    return SimpleNamespace(
        get_default_memory_pool=lambda: pool,
        asarray=send,
        full=lambda shape, value: send(np.full(shape, value)),
        empty=lambda size, dtype: send(np.empty(size, dtype)),
        zeros=lambda size, dtype: send(np.zeros(size, dtype)),
        cuda=cuda,
        RawModule=lambda **_: SimpleNamespace(
            get_function=lambda name: Function(library, name, launched)
        ),
        launched=launched,
    )
