"""A GPU of one lane: ``word_movers.cu`` compiled as C++, behind the CuPy that we use.

It shows that the algorithm and all that is done around it are right. What only 32 lanes
at a time can do wrong is left to ``test_gpu.py``.
"""

import ctypes
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np

import fewpairs

SOURCE = Path(fewpairs.__file__).parent / "kernels" / "word_movers.cu"


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

    def get(self, out=None):
        if out is None:
            return np.array(self)
        out[...] = self
        return out


def send(values):
    return np.ascontiguousarray(values).view(OnGPU)


class Function:
    """A kernel; ``launched`` holds what it was started with."""

    def __init__(self, library, name, launched):
        self._call, self.name, self.launched = library.nothing_shared, name, launched
        self.max_dynamic_shared_size_bytes = 48 << 10
        self.kernel = SimpleNamespace(ptr=0)

    def __call__(self, grid, block, arguments, shared_mem):
        assert shared_mem <= self.max_dynamic_shared_size_bytes
        self.launched.append((self.name, grid, shared_mem))
        *before, _, taken, out = arguments
        tree, cells = (int(arguments[at]) for at in (13, 14))
        spare = np.full(tree + 4 * cells, 0xAB, dtype=np.uint8)
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


@contextmanager
def _stream(non_blocking):
    assert non_blocking
    yield SimpleNamespace(synchronize=lambda: None)


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
        Stream=_stream,
        get_current_stream=lambda: SimpleNamespace(synchronize=lambda: None),
        runtime=runtime,
        driver=SimpleNamespace(
            occupancyMaxActiveBlocksPerMultiprocessor=lambda *_: 8,
        ),
    )
    return SimpleNamespace(
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
