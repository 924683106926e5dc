"""Batch scorers: devices where batches are scored side by side.

A batch scorer is a GPU with a copy of the model, or one core. On a CPU, those of one
thread each beat one of many threads: there is no waiting for each other inside a layer,
and a batch stays in a core's cache.
"""

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from fewpairs.errors import SimilarityError
from fewpairs.similarity.cross_encoder.flat_pairs import BIN
from fewpairs.similarity.cross_encoder.pair_batches import Batch

__all__ = ["BatchScorer", "Result", "free_tokens", "run_batch_scorers"]


@dataclass(frozen=True)
class Result:
    """Scores of a batch, still on the device."""

    batch: Batch
    scores: Any


class BatchScorer:
    """A device that scores batches: an assembler and a forward pass on a device.

    ``tokens`` is how many tokens a batch may have. It is halved whenever memory runs
    out, and stays so. ``call`` is what messages call the similarity.
    """

    def __init__(
        self,
        assembler: Any,
        forward: Callable[[Any], Any],
        tokens: int,
        *,
        call: str = "fewpairs.CrossEncoder",
    ) -> None:
        self.call = call
        self.assembler = assembler
        self.forward = forward
        self.tokens = tokens

    def score(self, pairs: Any, batch: Batch) -> list[Result]:
        """Score a batch, in halves if memory runs out."""
        waiting = deque(batch.split(max(1, self.tokens // batch.length)))
        done = []
        while waiting:
            part = waiting.popleft()
            rows = part.stop - part.start
            try:
                inputs = self.assembler.assemble(pairs, part)
                done.append(Result(part, self.forward(inputs)))
            except (_out_of_memory(), MemoryError) as error:
                if rows == 1:
                    msg = (
                        f"{self.call}: out of memory with a single pair of "
                        f"{part.length} tokens. Use a smaller model or dtype, or a "
                        "device with more free memory."
                    )
                    raise SimilarityError(msg) from error
                self.tokens = max(1, rows // 2) * part.length
            else:
                continue
            _empty_cache()  # outside the handler, which keeps tensors alive
            waiting.extendleft(reversed(part.split(max(1, rows // 2))))
        return done


def run_batch_scorers(
    scorers: list[BatchScorer],
    pairs: list[Any],
    batches: list[Batch],
    keep: list[Result],
) -> None:
    """Score all batches, the longest first, and append what is done to ``keep``.

    ``pairs`` holds them once a scorer, prepared by its assembler. What was done before
    an error is in ``keep``.
    """
    import torch

    waiting = deque(reversed(batches))
    stop = threading.Event()

    def work(scorer: BatchScorer, own: Any) -> None:
        with torch.inference_mode():
            while not stop.is_set():
                try:
                    batch = waiting.popleft()
                except IndexError:
                    return
                try:
                    keep.extend(scorer.score(own, batch))
                except BaseException:
                    stop.set()
                    raise

    if len(scorers) == 1 or len(batches) == 1:
        work(scorers[0], pairs[0])
        return
    threads = torch.get_num_threads()
    with ThreadPoolExecutor(
        len(scorers), initializer=torch.set_num_threads, initargs=(1,)
    ) as pool:
        futures = [
            pool.submit(work, *both) for both in zip(scorers, pairs, strict=True)
        ]
        try:
            for future in futures:
                future.result()
        finally:
            stop.set()
            pool.shutdown(wait=True)
            torch.set_num_threads(threads)


def free_tokens(device: Any, config: Any, *, flat: bool) -> int:
    """Return how many tokens make a good batch: what is fast, and fits free memory.

    A ``flat`` batch is scored bin by bin; its pairs share only the end of the model.
    """
    import torch

    if device.type != "cuda":
        return 8 * BIN if flat else 1_024
    free, _ = torch.cuda.mem_get_info(device)
    width = int(getattr(config, "hidden_size", 1_024))
    inner = int(getattr(config, "intermediate_size", 4 * width))
    # Activations of one layer at a time, four bytes each, twice for safety.
    most = int(free // (8 * (8 * width + 3 * inner)))
    return max(512, min(1 << 18, most))


def _out_of_memory() -> type[Exception]:
    import torch

    kind: type[Exception] = torch.OutOfMemoryError
    return kind


def _empty_cache() -> None:
    import torch

    if torch.cuda.is_available():
        torch.cuda.empty_cache()
