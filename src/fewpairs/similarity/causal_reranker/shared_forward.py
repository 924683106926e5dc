"""A causal language model over prompts that share their beginning.

The header is encoded once for all prompts, a left text once for all its pairs in a
batch; only right texts are encoded per pair. Of the last token the two logits that
matter are computed, not those of the whole vocabulary.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewpairs.similarity.causal_reranker.fused_norms import fuse_norms
from fewpairs.similarity.causal_reranker.prompts import PromptTokens
from fewpairs.similarity.causal_reranker.shared_attention import Layout, enter
from fewpairs.similarity.cross_encoder.flat_pairs import spread
from fewpairs.similarity.cross_encoder.fp8 import Deviation
from fewpairs.similarity.cross_encoder.pair_batches import Batch

__all__ = ["PromptAssembler", "PromptBatch", "SharedForward", "WholeForward"]

Integers = NDArray[np.int64]


class PromptBatch(NamedTuple):
    """Tokens of different left texts, and of right texts in the order of the lefts."""

    left: NDArray[np.int32]
    left_lengths: Integers
    groups: Integers  # how many right texts each left one has
    right: NDArray[np.int32]
    right_lengths: Integers


class PromptAssembler:
    """Joins prompts of pairs that are sorted by their left text."""

    def __init__(self, prompts: PromptTokens, device: Any) -> None:
        self.device = device
        self._prompts = prompts

    def prepare(self, table: Integers) -> Integers:
        """Take a table of left texts, right texts, and how many tokens are kept."""
        return table

    def assemble(self, table: Integers, batch: Batch) -> PromptBatch:
        """Return the tokens of a batch."""
        i, j, kept = table[:, batch.start : batch.stop]
        prompts, tail = self._prompts, self._prompts.tail
        first = np.flatnonzero(np.diff(i, prepend=-1))
        lefts = i[first]
        lengths = prompts.left.lengths[lefts]
        left = prompts.left.tokens[spread(prompts.left.starts[lefts], lengths)]
        ends = np.cumsum(kept + len(tail))
        right = np.empty(int(ends[-1]), dtype=np.int32)
        begins = ends - kept - len(tail)
        right[spread(begins, kept)] = prompts.right.tokens[
            spread(prompts.right.starts[j], kept)
        ]
        right[(ends[:, None] - len(tail)) + np.arange(len(tail))] = tail
        groups = np.diff(np.append(first, len(i)))
        return PromptBatch(left, lengths, groups, right, kept + len(tail))


class SharedForward:
    """The forward pass over shared prefixes; gives the logits of no and yes.

    Raises ``AttributeError`` or ``ValueError`` for a model whose attention cannot be
    replaced.
    """

    backend = "transformers' layers, shared prefixes"
    deviation: Deviation | None = None

    def __init__(self, model: Any, header: NDArray[np.int32], answers: Any) -> None:
        self._model, self._answers = model, answers
        self._decoder = model.get_decoder()
        self._header = header
        self._start: Any = None
        self._before = model.config._attn_implementation
        half = model.device.type == "cuda" and model.dtype.itemsize == 2
        self._norms = fuse_norms(model) if half else []
        model.set_attn_implementation(enter())

    def give_up(self) -> None:
        """Leave the model as it was."""
        self._model.set_attn_implementation(self._before)
        for module, name, norm in self._norms:
            setattr(module, name, norm)

    def __call__(self, batch: PromptBatch) -> Any:
        """Return the logits, shape (pairs, 2)."""
        import torch

        enter()  # again: this may be another process
        layout = self._left(batch)
        places = np.repeat(layout.prefixes, batch.groups)
        states = self._run(batch.right, places, layout)
        last = torch.from_numpy(np.cumsum(batch.right_lengths) - 1)
        return self._answers(states.index_select(0, last.to(states.device)))

    def _left(self, batch: PromptBatch) -> Layout:
        """Encode the left texts, and return the layout of the right ones."""
        import torch

        (keys, values), size = self._encoded_header(), len(self._header)
        lengths, one = batch.left_lengths, np.array([len(batch.left_lengths)])
        left = Layout(lengths, one, np.array([size]), keys, values, keep=[])
        self._run(batch.left, np.full(len(lengths), size), left)
        # Header and left text, one prefix after another.
        begins = size + np.cumsum(lengths) - lengths
        both = np.stack([np.zeros_like(begins), begins], axis=1).ravel()
        sizes = np.stack([np.full_like(lengths, size), lengths], axis=1).ravel()
        rows = torch.from_numpy(spread(both, sizes))
        device = self._model.device
        rows = rows.to(device)
        own = [list(side) for side in zip(*(left.keep or []), strict=True)]
        if size:
            own = [
                [torch.cat(both, dim=1) for both in zip(start, side, strict=True)]
                for start, side in zip((keys, values), own, strict=True)
            ]
        keys, values = ([part.index_select(1, rows) for part in side] for side in own)
        return Layout(batch.right_lengths, batch.groups, size + lengths, keys, values)

    def _encoded_header(self) -> Any:
        """Return keys and values of the header, by layer; computed once."""
        size = len(self._header)
        if self._start is None and size:
            one = np.array([size])
            layout = Layout(one, np.array([1]), np.array([0]), keep=[])
            self._run(self._header, np.zeros(1, dtype=np.int64), layout)
            self._start = tuple(map(list, zip(*(layout.keep or []), strict=True)))
        return self._start if size else (None, None)

    def _run(self, tokens: NDArray[np.int32], first: Integers, layout: Layout) -> Any:
        """Run the decoder over texts that begin at the places ``first``."""
        import torch

        places = torch.from_numpy(spread(first, layout.lengths))
        ids = torch.from_numpy(tokens.astype(np.int64))
        device = self._model.device
        out = self._decoder(
            input_ids=ids.to(device)[None],
            position_ids=places.to(device)[None],
            use_cache=False,
            layout=layout,
        )
        return out.last_hidden_state[0]


class WholeForward:
    """The model's own forward pass over whole prompts."""

    backend = "transformers, whole prompts"
    deviation: Deviation | None = None

    def __init__(self, model: Any, header: NDArray[np.int32], answers: Any) -> None:
        self._model, self._header, self._answers = model, header, answers
        self._decoder = model.get_decoder()

    def __call__(self, batch: PromptBatch) -> Any:
        """Return the logits, shape (pairs, 2); prompts of one length go together."""
        import torch

        lefts = np.split(batch.left, np.cumsum(batch.left_lengths)[:-1])
        rights = np.split(batch.right, np.cumsum(batch.right_lengths)[:-1])
        of = np.repeat(np.arange(len(lefts)), batch.groups)
        prompts = [
            np.concatenate([self._header, lefts[t], right])
            for t, right in zip(of, rights, strict=True)
        ]
        lengths = np.array([len(prompt) for prompt in prompts])
        out: Any = None
        for length in np.unique(lengths):
            where = np.flatnonzero(lengths == length)
            ids = np.stack([prompts[t] for t in where]).astype(np.int64)
            tokens = torch.from_numpy(ids).to(self._model.device)
            states = self._decoder(input_ids=tokens, use_cache=False).last_hidden_state
            logits = self._answers(states[:, -1])
            if out is None:
                out = logits.new_empty(len(prompts), 2)
            out[torch.from_numpy(where).to(out.device)] = logits
        return out
