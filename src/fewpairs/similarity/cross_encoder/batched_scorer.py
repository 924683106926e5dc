"""A scorer that runs batches on devices, one order of the two texts or both."""

import warnings
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.errors import FewpairsWarning
from fewpairs.interrupts import exposed, shut
from fewpairs.similarity.base import Interrupted, Scorer
from fewpairs.similarity.cross_encoder.batch_scorers import (
    BatchScorer,
    Result,
    run_batch_scorers,
)
from fewpairs.similarity.cross_encoder.fp8 import Deviation
from fewpairs.similarity.cross_encoder.pair_batches import Batch
from fewpairs.types import Indices

__all__ = ["BatchedScorer"]


class BatchedScorer(Scorer):
    """Pairs of tokenized texts, scored in batches.

    Attributes
    ----------
    long_texts
        Texts that are over the model's length by themselves.
    truncated
        Pairs that were cut to the model's length so far, orders counted singly.
    deviation
        How far 8-bit products put scores off, measured on pairs of these texts;
        ``None`` in other precisions.
    """

    dtype = np.dtype(np.float32)

    def __init__(
        self,
        n: int,
        batch_scorers: list[BatchScorer],
        finish: Callable[[Any], Any],
        *,
        symmetric: bool,
        long_texts: int,
        max_length: int,
    ) -> None:
        self.n = n
        self.long_texts = long_texts
        self.truncated = 0
        self._batch_scorers = batch_scorers
        self._finish = finish
        self._both = symmetric
        self._max_length = max_length
        self._warned = False
        first = batch_scorers[0]
        how = getattr(first.forward, "backend", "transformers")
        self.backend = f"{how}, on {first.assembler.device}"
        self.deviation: Deviation | None = getattr(first.forward, "deviation", None)
        if self.deviation is not None:
            self.backend += f"; {self.deviation}"
        if self.long_texts:
            self._warn(f"{self.long_texts:,} of {self.n:,} texts are", stacklevel=6)

    @property
    def on_gpu(self) -> bool:
        """Whether the first device is a GPU."""
        return bool(self._batch_scorers[0].assembler.device.type == "cuda")

    def prepare(self, tell: Callable[[str], None]) -> None:
        """Compile kernels, where the forward pass has any."""
        import torch

        for scorer in self._batch_scorers:
            warm_up = getattr(scorer.forward, "warm_up", None)
            if warm_up is not None:
                tell("compiling kernels for the GPU")
                with torch.inference_mode():
                    warm_up(scorer.assembler)

    def pairs(self, i: Indices, j: Indices) -> NDArray[Any]:
        """Return the similarity of item ``i[t]`` to item ``j[t]``, for every t."""
        if not self._both:
            return self._score(i, j)
        # One order of the two first, so that (i, j) and (j, i) are the same request.
        low, high = np.minimum(i, j), np.maximum(i, j)
        other = np.flatnonzero(low != high)
        first = np.concatenate([low, high[other]])
        second = np.concatenate([high, low[other]])
        try:
            both = self._score(first, second)
        except Interrupted as stop:
            raise Interrupted(_average(stop.values, other), stop.cause) from stop
        return _average(both, other)

    @abstractmethod
    def _score(self, i: Indices, j: Indices) -> NDArray[Any]:
        """Return the scores of pairs in this order."""

    def _run(
        self, table: NDArray[np.int64], order: Indices, batches: list[Batch]
    ) -> NDArray[Any]:
        """Return the scores of the columns of ``table``, run in ``order``."""
        shut()  # but while batches are scored
        done: list[Result] = []
        out = np.full(table.shape[1], np.nan, dtype=np.float32)
        try:
            with exposed:
                ready = self._prepare(table[:, order])
                run_batch_scorers(self._batch_scorers, ready, batches, done)
        except BaseException as error:
            self._collect(done, order, out)
            raise Interrupted(out, error) from error
        self._collect(done, order, out)
        return out

    def _prepare(self, table: NDArray[np.int64]) -> list[Any]:
        """Prepare pairs for every scorer, once per device."""
        import torch

        assemblers = {
            scorer.assembler.device: scorer.assembler for scorer in self._batch_scorers
        }
        with torch.inference_mode():
            ready = {device: one.prepare(table) for device, one in assemblers.items()}
        return [ready[scorer.assembler.device] for scorer in self._batch_scorers]

    def _collect(self, done: list[Result], order: Indices, out: NDArray[Any]) -> None:
        """Copy the scores to the host, once per device."""
        import torch

        devices = {result.scores.device for result in done}
        for device in devices:
            mine = [result for result in done if result.scores.device == device]
            with torch.inference_mode():
                logits = torch.cat([result.scores for result in mine])
                values = self._finish(logits).cpu().numpy()
            places = [order[r.batch.start : r.batch.stop] for r in mine]
            out[np.concatenate(places)] = values

    def _count(self, truncated: int) -> None:
        self.truncated += truncated
        if truncated:
            self._warn(f"{truncated:,} pairs are", stacklevel=5)

    def _warn(self, what: str, *, stacklevel: int) -> None:
        if self._warned:
            return
        self._warned = True
        warnings.warn(
            f"{self._batch_scorers[0].call}: {what} over the model's length of "
            f"{self._max_length} tokens and truncated. Shorten the texts, or take a "
            "model for longer ones. The scorer's .truncated counts the pairs.",
            FewpairsWarning,
            stacklevel=stacklevel,
        )


def _average(both: NDArray[Any], other: Indices) -> NDArray[Any]:
    """Average the first values with those of the other order, which follow them."""
    pairs = len(both) - len(other)
    values = both[:pairs].copy()
    values[other] = 0.5 * (values[other] + both[pairs:])
    return values
