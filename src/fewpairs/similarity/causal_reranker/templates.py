"""Prompts: what a causal reranker reads, as its model card has it.

A prompt is cut into pieces that are tokenized by themselves: what comes before the left
text and is the same for all pairs, a piece with the left text, one with the right text,
and what follows. Where a model card tokenizes the prompt as a whole, pieces end where
no tokenizer of its kind joins characters: before a space.

Model cards: Qwen3-Reranker (Zhang et al., Qwen3 Embedding, 2025), bge-reranker-v2-gemma
(Chen et al., BGE M3, 2024; FlagEmbedding), mxbai-rerank-v2 (mixedbread, 2025).
"""

import warnings
from dataclasses import dataclass
from typing import Any

from fewpairs.checks import shown
from fewpairs.errors import FewpairsWarning, InputError

__all__ = ["PromptTemplate", "choose_template"]

_CALL = "fewpairs.CausalReranker"
_WEB = "Given a web search query, retrieve relevant passages that answer the query"
_GEMMA = (
    "Given a query A and a passage B, determine whether the passage contains an answer "
    "to the query by providing a prediction of either 'Yes' or 'No'."
)
_JUDGE = (
    "<|im_start|>system\nJudge whether the Document meets the requirements based on "
    "the Query and the Instruct provided. Note that the answer can only be "
    '"yes" or "no".<|im_end|>\n<|im_start|>user\n'
)
_EXPERT = (
    "You are a search relevance expert who evaluates how well documents match search "
    "queries. For each query-document pair, carefully analyze the semantic "
    "relationship between them, then provide your binary relevance judgment (0 for "
    "not relevant, 1 for relevant).\nRelevance:"
)
_ASSISTANT = (
    "<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful "
    "assistant.<|im_end|>\n<|im_start|>user\n"
)


@dataclass(frozen=True)
class PromptTemplate:
    """The pieces of a prompt, each tokenized by itself.

    Attributes
    ----------
    pieces
        Texts with the places ``{instruction}``, ``{left}``, ``{right}`` and ``{bos}``.
    instruction
        What fills ``{instruction}`` when nothing is asked for.
    yes, no
        The words whose logits are compared.
    whole
        Whether the tokens should be those of the prompt as one text.
    """

    pieces: tuple[str, ...]
    instruction: str = _WEB
    yes: str = "yes"
    no: str = "no"
    whole: bool = True

    def parts(self, instruction: str, bos: str) -> tuple[tuple[str, ...], ...]:
        """Return the pieces before the left text, with it, and from the right on."""
        filled = [
            piece.replace("{bos}", bos).replace("{instruction}", instruction)
            for piece in self.pieces
        ]
        left = next(t for t, piece in enumerate(self.pieces) if "{left}" in piece)
        right = next(t for t, piece in enumerate(self.pieces) if "{right}" in piece)
        return tuple(filled[:left]), tuple(filled[left:right]), tuple(filled[right:])


_QWEN3 = PromptTemplate(
    (
        _JUDGE,
        "<Instruct>: {instruction}\n<Query>:",
        " {left}\n<Document>:",
        " {right}",
        "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n",
    )
)
_BGE_GEMMA = PromptTemplate(
    ("{bos}", "A: {left}", "\n", "B: {right}", "\n", "{instruction}"),
    instruction=_GEMMA,
    yes="Yes",
    no="No",
    whole=False,
)
_MXBAI = PromptTemplate(
    (
        _ASSISTANT,
        "{instruction}query: {left}",
        "\n",
        "document: {right}",
        "\n",
        _EXPERT,
        "<|im_end|>\n<|im_start|>assistant\n",
    ),
    instruction="",
    yes="1",
    no="0",
    whole=False,
)
# By what a model's name holds, then by its kind.
_BY_NAME = {"qwen3-reranker": _QWEN3, "gemma": _BGE_GEMMA, "mxbai": _MXBAI}
_BY_KIND = {"qwen3": _QWEN3, "gemma": _BGE_GEMMA, "qwen2": _MXBAI}


def choose_template(given: Any, name: str, kind: str) -> PromptTemplate:
    """Return the template that is asked for, or the one of the model's card."""
    if given is None:
        last = name.rstrip("/").rpartition("/")[2].lower()
        for word, template in _BY_NAME.items():
            if word in last:
                return template
        if kind not in _BY_KIND:
            warnings.warn(
                f"{_CALL}: no prompt is known for {last!r}, a model of the kind "
                f"{kind!r}; that of Qwen3-Reranker is taken. Pass template=, the "
                "prompt that this model was trained with.",
                FewpairsWarning,
                stacklevel=3,
            )
        return _BY_KIND.get(kind, _QWEN3)
    places = [str(given).count(place) for place in ("{left}", "{right}")]
    if not isinstance(given, str) or places != [1, 1]:
        msg = (
            f"{_CALL}: template is {shown(given)}; it must be a text with {{left}} and "
            "{right} once each, and {instruction} where it is to stand."
        )
        raise InputError(msg)
    start, end = given.index("{left}"), given.index("{right}")
    if start > end:
        msg = (
            f"{_CALL}: template is {shown(given)}, where {{right}} comes before "
            "{left}; what is shared by many pairs comes first. Swap them."
        )
        raise InputError(msg)
    start -= given[:start].endswith(" ")
    end -= given[:end].endswith(" ")
    after = given.index("{right}") + len("{right}")
    pieces = (given[:start], given[start:end], given[end:after], given[after:])
    return PromptTemplate(tuple(piece for piece in pieces if piece))


def instruction_of(template: PromptTemplate, given: str | None) -> str:
    """Return what fills the place of the instruction."""
    text = template.instruction if given is None else given
    if template is _MXBAI and text:  # its card has a line for it
        return f"instruction: {text}\n"
    return text
