"""Tokens of prompts: every text once as a left one and once as a right one."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.errors import FewpairsWarning, InputError
from fewpairs.similarity.causal_reranker.templates import PromptTemplate
from fewpairs.similarity.cross_encoder.pair_batches import TokenTable

__all__ = ["PromptTokens", "token_of"]

_CALL = "fewpairs.CausalReranker"
_LEAST = 16  # tokens for two texts
_SAMPLE = 64  # prompts that are tokenized as a whole too, to compare
Integers = NDArray[np.int64]
Tokens = NDArray[np.int32]


@dataclass(frozen=True)
class PromptTokens:
    """The tokens of all prompts: header · left · right · tail.

    Header and tail are the same for all. ``room`` is what is left for the two texts,
    ``long_texts`` how many were over three quarters of it as left ones, and cut there.
    """

    header: Tokens
    left: TokenTable
    right: TokenTable
    tail: Tokens
    room: int
    long_texts: int

    @classmethod
    def of(
        cls,
        tokenizer: Any,
        texts: list[str],
        template: PromptTemplate,
        *,
        instruction: str,
        max_length: int,
    ) -> "PromptTokens":
        """Tokenize every text once for either side."""
        bos = getattr(tokenizer, "bos_token", None) or ""
        before, left, right = template.parts(instruction, bos)
        header, tail = _constant(tokenizer, before), _constant(tokenizer, right[1:])
        room = max_length - len(header) - len(tail)
        if room < _LEAST:
            msg = (
                f"{_CALL}: max_length is {max_length}; the prompt alone has "
                f"{len(header) + len(tail)} tokens, and texts need {_LEAST}. Pass a "
                "larger one, or a shorter instruction."
            )
            raise InputError(msg)
        lefts, long_texts = _lefts(tokenizer, texts, left, most=room * 3 // 4)
        start, _, end = right[0].partition("{right}")
        rights = _encode(tokenizer, [start + text + end for text in texts])
        made = cls(header, _table(lefts), _table(rights), tail, room, long_texts)
        if template.whole and texts:
            made.compare(tokenizer, texts, "".join((*before, *left, *right)))
        return made

    def kept(self, i: Integers, j: Integers) -> tuple[Integers, int]:
        """Return how many right tokens are kept, and how many pairs are cut."""
        room = self.room - self.left.lengths[i]
        lengths = self.right.lengths[j]
        return np.minimum(lengths, room), int(np.count_nonzero(lengths > room))

    def prompt(self, i: int, j: int) -> list[int]:
        """Return the tokens of the prompt of two texts."""
        kept, _ = self.kept(np.array([i]), np.array([j]))
        start = self.left.starts[i]
        left = self.left.tokens[start : start + self.left.lengths[i]]
        start = self.right.starts[j]
        right = self.right.tokens[start : start + kept[0]]
        parts = (self.header, left, right, self.tail)
        return [int(token) for part in parts for token in part]

    def compare(self, tokenizer: Any, texts: list[str], form: str) -> None:
        """Warn where a prompt as one text has other tokens."""
        rng = np.random.default_rng(0)
        count = min(_SAMPLE, len(texts) ** 2)
        i, j = rng.integers(len(texts), size=(2, count))
        before, _, rest = form.partition("{left}")
        between, _, after = rest.partition("{right}")
        wholes = _encode(
            tokenizer,
            [
                before + texts[a] + between + texts[b] + after
                for a, b in zip(i, j, strict=True)
            ],
        )
        most = len(self.header) + len(self.tail) + self.room
        other = sum(
            len(whole) <= most and self.prompt(int(a), int(b)) != whole
            for a, b, whole in zip(i, j, wholes, strict=True)
        )
        if other:
            warnings.warn(
                f"{_CALL}: {other} of {count} sampled prompts have other tokens when "
                "they are tokenized as a whole; here their parts are tokenized by "
                "themselves. Let {left} and {right} follow a space in template=, or "
                "strip the texts.",
                FewpairsWarning,
                stacklevel=5,
            )


def token_of(tokenizer: Any, word: str, name: str) -> int:
    """Return the token of an answer, or refuse a word that is not a single one."""
    tokens = _encode(tokenizer, [word])[0]
    unknown = getattr(tokenizer, "unk_token_id", None)
    if len(tokens) != 1 or tokens[0] == unknown:
        made = tokenizer.convert_ids_to_tokens(tokens)
        msg = (
            f"{_CALL}: {name} is {word!r}, which the tokenizer turns into {made}; an "
            "answer must be a single token that it knows. Pass yes= and no= as this "
            "model was trained to answer."
        )
        raise InputError(msg)
    return int(tokens[0])


def _lefts(
    tokenizer: Any, texts: list[str], pieces: tuple[str, ...], *, most: int
) -> tuple[list[list[int]], int]:
    """Return the tokens of left parts, and how many texts were cut for it."""
    first, *others = pieces  # the first holds the text
    start, _, end = first.partition("{left}")
    after = _constant(tokenizer, tuple(others)).tolist()
    made = _encode(tokenizer, [start + text + end for text in texts])
    lefts = [tokens + after for tokens in made]
    stays = len(_constant(tokenizer, (end,))) + len(after)
    long = [t for t, tokens in enumerate(lefts) if len(tokens) > most]
    for t in long:
        tokens = lefts[t]
        lefts[t] = tokens[: max(0, most - stays)] + tokens[len(tokens) - stays :]
    return lefts, len(long)


def _constant(tokenizer: Any, pieces: tuple[str, ...]) -> Tokens:
    tokens = [t for piece in pieces if piece for t in _encode(tokenizer, [piece])[0]]
    return np.array(tokens, dtype=np.int32)


def _encode(tokenizer: Any, texts: list[str]) -> list[list[int]]:
    encoded: list[list[int]] = []
    for start in range(0, len(texts), 10_000):
        part = tokenizer(
            texts[start : start + 10_000], add_special_tokens=False, verbose=False
        )
        encoded.extend(part["input_ids"])
    return encoded


def _table(encoded: list[list[int]]) -> TokenTable:
    lengths = np.array([len(ids) for ids in encoded], dtype=np.int64)
    ends = np.cumsum(lengths)
    flat = [token for ids in encoded for token in ids]
    return TokenTable(np.array(flat, dtype=np.int32), ends - lengths, lengths)
