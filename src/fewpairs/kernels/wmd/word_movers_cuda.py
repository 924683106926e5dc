"""Word mover's distances of whole blocks and of pairs, on a GPU.

``word_movers.cu`` has the code that runs there; CuPy compiles and starts it.
"""

from collections.abc import Callable
from functools import cache, cached_property
from importlib.resources import files
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.kernels.wmd.bags import Corpus
from fewpairs.kernels.wmd.segments import (
    Segments,
    WarpBatch,
    batches,
    cost_bytes,
    of_block,
    of_pairs,
    tree_bytes,
)

__all__ = ["Cuda", "count_gpus"]

Indices = NDArray[np.int64]

_WARP = 32
_TOLERANCE = 1e-13
_PAIRS = 1 << 24  # whose distances are on the GPU at a time
_LONGEST_SEGMENT = 64  # pairs: enough to learn prices from
_FEWEST_WARPS = 16  # on a multiprocessor, for whose costs there must be shared memory
_SHARES = 16  # of the GPU's memory, one of which a batch may take
_NO_GPU = (35, 100)  # cudaErrorInsufficientDriver, cudaErrorNoDevice
_RESERVED = 1_024  # bytes of shared memory that every block takes for itself


class Cuda:
    """The kernel of one GPU, with the documents it was last asked about.

    Parameters
    ----------
    device
        Number of the GPU.
    """

    def __init__(self, device: int = 0) -> None:
        import cupy

        self._cupy: Any = cupy
        self._device = cupy.cuda.Device(device)
        self._held: tuple[Corpus, tuple[Any, ...]] | None = None
        self._streams: list[Any] = []
        self._lock = Lock()  # one call keeps the GPU busy

    def prepare(self, tell: Callable[[str], None]) -> None:
        """Compile the code, or load what CuPy has kept of it."""
        tell("compiling word mover's distance for the GPU")
        with self._device:
            for name in ("all_shared", "tree_shared", "nothing_shared"):
                _function(name, self._device.id)

    def block_distances(
        self,
        corpus: Corpus,
        rows: Indices,
        columns: Indices,
        *,
        threads: int,
        relaxed: bool,
    ) -> NDArray[np.float64]:
        """Return the distances of rows to columns; below 0 where none was found.

        With ``relaxed``, lower bounds.
        """
        if len(rows) > len(columns):
            turned = self.block_distances(
                corpus, columns, rows, threads=threads, relaxed=relaxed
            )
            return turned.T
        out = np.empty((len(rows), len(columns)))
        if not out.size:
            return out
        lengths = np.diff(corpus.bags.start)
        step = max(1, _PAIRS // len(columns))
        for start in range(0, len(rows), step):
            part = rows[start : start + step]
            most = self._segment(len(part) * len(columns))
            segments, order = of_block(lengths, part, columns, most)
            self._solve(corpus, segments, order, relaxed, out[start : start + step])
        return out

    def pair_distances(
        self,
        corpus: Corpus,
        i: Indices,
        j: Indices,
        *,
        threads: int,
        relaxed: bool = False,
    ) -> NDArray[np.float64]:
        """Return the distances of single pairs; below 0 where none was found.

        With ``relaxed``, lower bounds.
        """
        del threads
        out = np.empty(len(i))
        lengths = np.diff(corpus.bags.start)
        for start in range(0, len(i), _PAIRS):
            part = slice(start, start + _PAIRS)
            most = self._segment(len(i[part]))
            segments, order = of_pairs(lengths, i[part], j[part], most)
            self._solve(corpus, segments, order, relaxed, out[part])
        return out

    def _segment(self, pairs: int) -> int:
        """Return how long segments may be: few pairs are shared out among all warps."""
        return int(np.clip(pairs // (64 * self._processors), 1, _LONGEST_SEGMENT))

    def _solve(
        self,
        corpus: Corpus,
        segments: Segments,
        order: Indices,
        relaxed: bool,
        out: NDArray[np.float64],
    ) -> None:
        """Write the distances of segments whose last axis is in this order."""
        lengths = np.diff(corpus.bags.start)
        back = np.empty(len(order), dtype=np.int64)
        back[order] = np.arange(len(order))
        with self._lock, self._device:
            texts = self._texts(corpus)
            others = self._cupy.asarray(segments.others)
            found = self._cupy.full(out.shape, -1.0)
            self._cupy.cuda.get_current_stream().synchronize()
            # Side by side: while the last ones of a batch are solved, the next begins.
            used = []
            try:
                for number, batch in enumerate(batches(lengths, segments)):
                    with self._stream(number):
                        used.append(self._launch(texts, batch, others, relaxed, found))
            finally:
                # Memory that is still written to must not go to anyone else.
                self._wait()
            found[..., self._cupy.asarray(back)].get(out=out)
        # Costs are in units of the scale; what was not found stays below 0.
        out *= corpus.scale or 1.0

    def _stream(self, number: int) -> Any:
        """Return one of the streams, which keep their memory for the next call."""
        while len(self._streams) <= number:
            self._streams.append(self._cupy.cuda.Stream(non_blocking=True))
        return self._streams[number]

    def _wait(self) -> None:
        for stream in self._streams:
            stream.synchronize()

    def _texts(self, corpus: Corpus) -> tuple[Any, ...]:
        """Return the documents on the GPU; they stay there for the next call."""
        if self._held is None or self._held[0] is not corpus:
            vectors = _padded(corpus.vectors, corpus.scale)
            bags = corpus.bags
            send = self._cupy.asarray
            self._held = (
                corpus,
                (
                    send(vectors),
                    np.int32(vectors.shape[1] // 4),
                    send(bags.start.astype(np.int64)),
                    send(bags.word.astype(np.int32)),
                    send(bags.mass.astype(np.float64)),
                ),
            )
        return self._held[1]

    def _launch(
        self,
        texts: tuple[Any, ...],
        batch: WarpBatch,
        others: Any,
        relaxed: bool,
        out: Any,
    ) -> tuple[Any, ...]:
        """Start a batch; return the arrays that it reads until it ends."""
        anchor, _, first, length, place = batch.segments
        tree, costs = tree_bytes(batch), cost_bytes(batch)
        # Costs beside the tree where enough warps find room, else where the cache is.
        room = self._shared // _FEWEST_WARPS - _RESERVED
        if tree + costs <= room:
            name, shared, spare = "all_shared", tree + costs, 0
        elif tree <= self._shared - _RESERVED:
            name, shared, spare = "tree_shared", tree, costs
        else:
            name, shared, spare = "nothing_shared", 0, tree + costs
        function = _function(name, self._device.id)
        fitting = self._cupy.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(
            function.kernel.ptr, _WARP, shared
        )
        warps = min(len(anchor), max(1, fitting) * self._processors)
        if spare:
            warps = max(1, min(warps, self._memory // _SHARES // spare))
        memory = self._take(max(16, warps * spare))
        send = self._cupy.asarray
        arguments = (
            *texts,
            send(anchor),
            others,
            send(first),
            send(length),
            send(place),
            np.int32(len(anchor)),
            np.int32(batch.nodes),
            np.int32(batch.longest),
            np.int64(tree),
            np.int64(costs),
            np.float64(_TOLERANCE),
            np.int32(relaxed),
            memory,
            self._cupy.zeros(1, dtype=np.int32),
            out,
        )
        function((warps,), (_WARP,), arguments, shared_mem=shared)
        return arguments

    def _take(self, size: int) -> Any:
        """Return so many bytes; where none are left, after all others are done."""
        try:
            return self._cupy.empty(size, dtype=np.uint8)
        except self._cupy.cuda.memory.OutOfMemoryError:
            self._wait()
            self._cupy.get_default_memory_pool().free_all_blocks()
            return self._cupy.empty(size, dtype=np.uint8)

    @cached_property
    def _memory(self) -> int:
        return int(self._cupy.cuda.runtime.memGetInfo()[1])

    @cached_property
    def _processors(self) -> int:
        return int(self._device.attributes["MultiProcessorCount"])

    @cached_property
    def _shared(self) -> int:
        """Bytes of shared memory that one block may have, nearly all there is."""
        return int(self._device.attributes["MaxSharedMemoryPerBlockOptin"])


def count_gpus() -> int:
    """Return how many GPUs there are: 0 also where there is no driver."""
    import cupy

    try:
        return int(cupy.cuda.runtime.getDeviceCount())
    except cupy.cuda.runtime.CUDARuntimeError as error:
        if error.status in _NO_GPU:
            return 0
        raise


def _padded(vectors: NDArray[np.float64], scale: float) -> NDArray[np.float32]:
    """Return vectors in single precision, by fours, of a size that suits it.

    Distances are those of the vectors around their mean, over ``scale``: what all have
    in common would leave no digits for the rest.
    """
    rows, columns = vectors.shape
    out = np.zeros((rows, -(-columns // 4) * 4), dtype=np.float32)
    if rows:
        out[:, :columns] = (vectors - vectors.mean(axis=0)) / (scale or 1.0)
    return out


@cache
def _function(name: str, device: int) -> Any:
    """Return compiled code, of the GPU that is in use now."""
    import cupy

    source = files("fewpairs.kernels.wmd").joinpath("word_movers.cu").read_text("utf-8")
    module = cupy.RawModule(code=source, options=("--std=c++17",))
    function = module.get_function(name)
    # Once and for all: a lower limit would be seen by whoever else starts it.
    limit = cupy.cuda.Device(device).attributes["MaxSharedMemoryPerBlockOptin"]
    function.max_dynamic_shared_size_bytes = limit
    return function
