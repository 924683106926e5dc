"""Pairs of tokenized texts, cut and joined as the tokenizer would do it.

Texts are tokenized once; a pair is then nothing but four numbers: where each text
starts and how many of its tokens are kept. Batches are assembled from these on the
device, by indexing.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.errors import InputError

__all__ = ["Batch", "Cuts", "PairTemplate", "TokenTable", "cut_pairs", "plan_batches"]

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class PairTemplate:
    """How a tokenizer joins two texts: prefix · a · middle · b · suffix.

    Read off from one encoded pair, so that any template works: BERT's
    ``[CLS] a [SEP] b [SEP]``, RoBERTa's ``<s> a </s></s> b </s>`` and others.

    Attributes
    ----------
    prefix, middle, suffix
        The tokens around the texts.
    types
        Token types of prefix, a, middle, b, suffix and padding, or ``None`` for a
        model that takes no token types.
    pad
        The padding token.
    pad_left, cut_left
        Whether padding is put, and truncation takes, on the left.
    """

    prefix: tuple[int, ...]
    middle: tuple[int, ...]
    suffix: tuple[int, ...]
    types: tuple[int, ...] | None
    pad: int
    pad_left: bool
    cut_left: bool

    @property
    def special(self) -> int:
        """Number of tokens that every pair has besides its texts."""
        return len(self.prefix) + len(self.middle) + len(self.suffix)

    @classmethod
    def of(cls, tokenizer: Any, name: str) -> "PairTemplate":
        """Encode one pair and see what the tokenizer puts around its texts."""
        if not getattr(tokenizer, "is_fast", False) or tokenizer.pad_token_id is None:
            msg = (
                f"fewpairs.CrossEncoder: the tokenizer of {name!r} is "
                f"{type(tokenizer).__name__}; a fast tokenizer with a padding token is "
                "needed. Save the model with one (a tokenizer.json and a pad_token)."
            )
            raise InputError(msg)
        encoded = tokenizer("one", "two", return_token_type_ids=True)
        ids, kinds = encoded["input_ids"], encoded["token_type_ids"]
        side = np.array([-1 if s is None else s for s in encoded.sequence_ids()])
        a, b = np.flatnonzero(side == 0), np.flatnonzero(side == 1)
        if not (a.size and b.size and a[-1] < b[0]):
            msg = (
                f"fewpairs.CrossEncoder: the tokenizer of {name!r} encodes a pair of "
                f"texts as {ids}, where the first does not come before the second. "
                "Only tokenizers that join pairs in order can be used."
            )
            raise InputError(msg)
        parts = (slice(a[0]), slice(a[-1] + 1, b[0]), slice(b[-1] + 1, None))
        prefix, middle, suffix = (tuple(ids[part]) for part in parts)
        around = [tuple(kinds[part])[:1] or (0,) for part in parts]
        types = None
        if "token_type_ids" in tokenizer.model_input_names:
            first, second = kinds[a[0]], kinds[b[0]]
            pad = tokenizer.pad_token_type_id
            types = (*around[0], first, *around[1], second, *around[2], pad)
        left = tokenizer.padding_side == "left", tokenizer.truncation_side == "left"
        return cls(prefix, middle, suffix, types, tokenizer.pad_token_id, *left)


@dataclass(frozen=True)
class TokenTable:
    """The tokens of all texts in one array, without special tokens."""

    tokens: NDArray[np.int32]
    starts: Integers
    lengths: Integers

    @classmethod
    def of(cls, tokenizer: Any, texts: list[str]) -> "TokenTable":
        """Tokenize every text once."""
        encoded: list[list[int]] = []
        for start in range(0, len(texts), 10_000):
            part = tokenizer(
                texts[start : start + 10_000],
                add_special_tokens=False,
                truncation=False,
                padding=False,
                return_attention_mask=False,
                return_token_type_ids=False,
                verbose=False,
            )
            encoded.extend(part["input_ids"])
        lengths = np.array([len(ids) for ids in encoded], dtype=np.int64)
        ends = np.cumsum(lengths)
        tokens = np.empty(int(lengths.sum()), dtype=np.int32)
        for ids, end in zip(encoded, ends, strict=True):
            tokens[end - len(ids) : end] = ids
        return cls(tokens, ends - lengths, lengths)


@dataclass(frozen=True)
class Cuts:
    """Pairs as four columns: start and kept tokens of a, start and kept of b."""

    table: Integers
    truncated: int

    def totals(self, special: int) -> Integers:
        """Return the number of tokens of every pair, special ones included."""
        return np.asarray(self.table[1] + self.table[3] + special)


def cut_pairs(
    texts: TokenTable, i: Integers, j: Integers, *, room: int, cut_left: bool
) -> Cuts:
    """Truncate pairs to ``room`` tokens, longest first.

    As fast tokenizers do it: the longer text gives way until both are of one length
    and then both do; of an odd number of tokens the longer text keeps one more (the
    second, where they are equally long).
    """
    a, b = texts.lengths[i], texts.lengths[j]
    over = a + b > room
    truncated = int(np.count_nonzero(over))
    keep_a, keep_b = a, b
    if truncated:
        short = np.minimum(a, b)
        half = room // 2
        kept_short = np.where(short <= half, short, half)
        kept_long = room - kept_short
        keep_a = np.where(over, np.where(a <= b, kept_short, kept_long), a)
        keep_b = np.where(over, np.where(a <= b, kept_long, kept_short), b)
    shift_a, shift_b = (a - keep_a, b - keep_b) if cut_left else (0, 0)
    table = [texts.starts[i] + shift_a, keep_a, texts.starts[j] + shift_b, keep_b]
    return Cuts(np.stack(table), truncated)


@dataclass(frozen=True)
class Batch:
    """Pairs ``start`` to ``stop`` of a list in order of length, padded to ``length``.

    ``full`` tells that all have this length: there is no padding, and no mask.
    """

    start: int
    stop: int
    length: int
    full: bool

    def split(self, rows: int) -> list["Batch"]:
        """Cut into batches of at most ``rows`` pairs."""
        cuts = range(self.start, self.stop, rows)
        ends = (min(cut + rows, self.stop) for cut in cuts)
        return [
            Batch(cut, end, self.length, self.full)
            for cut, end in zip(cuts, ends, strict=True)
        ]


def plan_batches(
    totals: Integers, *, tokens: int, few: int, longest: int
) -> list[Batch]:
    """Cut pairs, sorted by length, into batches of at most ``tokens`` tokens.

    Pairs of one length make batches without any padding. Where fewer than ``few``
    have the same length they are joined with longer ones, and padded to a multiple
    of 8 (at most ``longest``).
    """
    batches = []
    start = 0
    while start < len(totals):
        length = int(totals[start])
        stop = int(np.searchsorted(totals, length, side="right"))
        full = True
        if stop - start < few and stop < len(totals):
            stop = min(start + few, len(totals))
            length = min(-(-int(totals[stop - 1]) // 8) * 8, longest)
            full = length == int(totals[start])
        whole = Batch(start, stop, length, full)
        batches.extend(whole.split(max(1, tokens // max(1, length))))
        start = stop
    return batches
