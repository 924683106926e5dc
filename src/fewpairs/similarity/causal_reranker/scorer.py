"""Causal rerankers: a language model is asked whether two texts go together."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fewpairs.checks import (
    check_flag,
    check_path,
    check_text,
    check_whole,
    refuse,
    shown,
)
from fewpairs.errors import InputError
from fewpairs.similarity.base import Scorer, Similarity, check_texts
from fewpairs.similarity.causal_reranker.loading import check_causal, load_causal
from fewpairs.similarity.causal_reranker.prompts import PromptTokens, token_of
from fewpairs.similarity.causal_reranker.shared_forward import (
    PromptAssembler,
    SharedForward,
    WholeForward,
)
from fewpairs.similarity.causal_reranker.templates import (
    choose_template,
    instruction_of,
)
from fewpairs.similarity.causal_reranker.two_logits import TwoLogits
from fewpairs.similarity.cross_encoder.batch_scorers import BatchScorer
from fewpairs.similarity.cross_encoder.batched_scorer import BatchedScorer
from fewpairs.similarity.cross_encoder.bert_forward import agree
from fewpairs.similarity.cross_encoder.fp8 import (
    check_fp8,
    deviation_of,
    probe_pairs,
    swap_linears,
)
from fewpairs.similarity.cross_encoder.loading import require
from fewpairs.similarity.cross_encoder.options import choose_devices
from fewpairs.similarity.cross_encoder.pair_batches import Batch
from fewpairs.similarity.cross_encoder.replicas import replicas
from fewpairs.types import Indices

__all__ = ["CausalReranker"]

Precision = Literal["float32", "float16", "bfloat16", "fp8"]
# What a score may differ by in another batch, or on another machine.
_ROUNDING = {"float32": 1e-3, "float16": 2e-2, "bfloat16": 1e-1, "fp8": 1e-1}
_LONGEST = 8_192  # tokens, as the model cards have it
_CALL = "fewpairs.CausalReranker"


class CausalReranker(Similarity):
    """How sure a language model is of "yes" rather than "no" for two texts.

    s(a, b) = exp(y) / (exp(y) + exp(n)), where y and n are the logits of the two
    answers after the prompt of the model's card, with ``a`` as query and ``b`` as
    document: Qwen3-Reranker, bge-reranker-v2-gemma, mxbai-rerank-v2, or a template of
    your own. Values are those of the model run on whole prompts, to what its precision
    allows. Prompts share their beginning: the header is encoded once, a left text once
    for all its pairs of a batch, and pairs are sorted by their left text.

    Evaluations: one per pair (two model calls with ``symmetric=True``).

    Parameters
    ----------
    name
        Folder of a saved model, or a name on the Hugging Face hub. A name is looked
        for in the local cache first and downloaded only if it is not there.
    instruction
        What the model is to judge; ``None`` takes the card's.
    yes, no
        The answers, each a single token; ``None`` takes the card's ("yes" and "no",
        for bge "Yes" and "No", for mxbai "1" and "0").
    template
        The prompt, a text with ``{left}``, ``{right}`` and ``{instruction}``. ``None``
        takes the card's, by the model's name or else its kind.
    symmetric
        Whether to average both orders, ½(s(a, b) + s(b, a)), inside the scorer.
        Otherwise the similarity is declared asymmetric.
    device
        ``"cpu"``, ``"cuda"`` (all GPUs), ``"cuda:1"``…; ``None`` takes the GPUs where
        there are any.
    dtype
        On a GPU ``"bfloat16"``, ``"float16"``, ``"float32"`` or ``"fp8"``, on a CPU
        ``"float32"``; ``None`` takes the first of these. fp8 is quicker for models of
        4 billion parameters, not for small ones; it is less exact, and needs compute
        capability 8.9 or above. How far it puts scores off is measured on pairs of the
        first texts, and is in the scorer's ``backend`` and ``deviation`` and in the
        receipt.
    batch_tokens
        Most tokens of a batch; ``None`` sets it from the free memory. It is halved
        when memory runs out, and scoring goes on.
    max_length
        Most tokens of a prompt; ``None`` takes the model's limit, at most 8,192.
        Left texts are cut to three quarters of it, right ones to what is left.
    local_files_only
        Never ask the hub.

    See Also
    --------
    fewpairs.CrossEncoder : for classifiers; quicker where one will do.

    Notes
    -----
    bge-reranker-v2-gemma's own score is the logit of "Yes" alone; here it is compared
    with that of "No", as the other cards do.

    References
    ----------
    Zhang et al., Qwen3 Embedding, 2025; Chen et al., BGE M3-Embedding, 2024; Nogueira
    et al., Document Ranking with a Pretrained Sequence-to-Sequence Model, 2020.

    Examples
    --------
    >>> import fewpairs as fp
    >>> judge = fp.CausalReranker("Qwen/Qwen3-Reranker-0.6B")  # doctest: +SKIP
    >>> approx = fp.approximate(texts, judge, budget="20/item")  # doctest: +SKIP
    """

    bounds = (0.0, 1.0)

    def __init__(
        self,
        name: str,
        *,
        instruction: str | None = None,
        yes: str | None = None,
        no: str | None = None,
        template: str | None = None,
        symmetric: bool = False,
        device: str | None = None,
        dtype: Precision | None = None,
        batch_tokens: int | None = None,
        max_length: int | None = None,
        local_files_only: bool = False,
    ) -> None:
        require(_CALL, "torch", "transformers", "tokenizers")
        self.path = check_path(_CALL, "name", name)
        self._devices = choose_devices(device, _CALL)
        self.dtype = _precision(dtype, self._devices)
        check_text(_CALL, "instruction", instruction, none=True)
        check_whole(_CALL, "batch_tokens", batch_tokens, least=1, none=True)
        check_whole(_CALL, "max_length", max_length, least=1, none=True)
        self.symmetric = self.proven = check_flag(_CALL, "symmetric", symmetric)
        local_files_only = check_flag(_CALL, "local_files_only", local_files_only)
        stored = "bfloat16" if self.dtype == "fp8" else self.dtype
        loaded = load_causal(self.path, dtype=stored, local_files_only=local_files_only)
        kind = str(loaded.model.config.model_type)
        self.template = choose_template(template, self.path, kind)
        self.instruction = instruction_of(self.template, instruction)
        self.answers = tuple(
            str(check_text(_CALL, what, own if given is None else given))
            for what, given, own in (
                ("no", no, self.template.no),
                ("yes", yes, self.template.yes),
            )
        )
        self._tokens = [
            token_of(loaded.tokenizer, word, what)
            for word, what in zip(self.answers, ("no", "yes"), strict=True)
        ]
        self.max_length = min(loaded.max_length, max_length or _LONGEST)
        self.batch_tokens = batch_tokens
        self.rounding = _ROUNDING[self.dtype]
        self._tokenizer = loaded.tokenizer
        self._models = replicas(loaded.model, self._devices, self.dtype)
        check_causal(self._models[0], self.path)
        # By model, once texts to try it with were seen.
        self._forwards: dict[int, SharedForward | WholeForward] = {}

    @property
    def name(self) -> str:
        """The call that makes this similarity."""
        return f"CausalReranker({self.path!r})"

    @property
    def remark(self) -> str:
        """How far 8-bit products put scores off, once there were texts."""
        first = self._forwards.get(0)
        return str(first.deviation or "") if first is not None else ""

    def identify(self) -> Iterable[Any]:
        """Return the model and what decides its values."""
        prompt = (*self.template.pieces, self.instruction, *self.answers)
        options = (self.symmetric, self.max_length, self.dtype)
        return ("causal-reranker", self.path, *prompt, *options)

    def bind(self, items: Sequence[Any]) -> Scorer:
        """Tokenize every text once for either side of a prompt."""
        texts = check_texts(items, _CALL)
        if not texts:
            raise refuse(_CALL, "items", items, "at least one text")
        prompts = PromptTokens.of(
            self._tokenizer,
            texts,
            self.template,
            instruction=self.instruction,
            max_length=self.max_length,
        )
        return _CausalScorer(self, prompts)

    def batch_scorers(self, prompts: PromptTokens) -> list[BatchScorer]:
        """Return the places that score pairs of these texts."""
        import torch

        scorers = []
        for t, (device, model) in enumerate(
            zip(self._devices, self._models, strict=True)
        ):
            assembler = PromptAssembler(prompts, device)
            tokens = self.batch_tokens or _free_tokens(device, model.config)
            if t not in self._forwards:
                with torch.inference_mode():
                    forward = self._way(model, prompts, assembler)
                    if self.dtype == "fp8":
                        exact = BatchScorer(assembler, forward, tokens, call=_CALL)
                        forward = self._fp8_way(model, prompts, exact)
                self._forwards[t] = forward
            forward = self._forwards[t]
            scorers.append(BatchScorer(assembler, forward, tokens, call=_CALL))
        return scorers

    def _way(self, model: Any, prompts: PromptTokens, assembler: Any) -> Any:
        """Return the forward pass over shared prefixes, if it gives the model's own."""
        answers = TwoLogits(model, self._tokens)
        whole = WholeForward(model, prompts.header, answers)
        probe = assembler.assemble(_probe(prompts), Batch(0, 3, 1, full=False))
        expected = whole(probe)
        shared = None
        try:
            shared = SharedForward(model, prompts.header, answers)
            if agree(shared(probe), expected):
                return shared
        except (AttributeError, TypeError, RuntimeError, ValueError):
            pass
        if shared is not None:
            shared.give_up()
        return whole

    def _fp8_way(self, model: Any, prompts: PromptTokens, exact: BatchScorer) -> Any:
        """Return the same pass with 8-bit products, and how far from it that is."""
        import torch

        i, j = probe_pairs(len(prompts.left.lengths))
        table = np.stack([i, j, prompts.kept(i, j)[0]])
        longest = int((prompts.left.lengths[i] + table[2]).max()) + len(prompts.tail)
        batch = Batch(0, len(i), len(prompts.header) + longest, full=False)

        def scores(scorer: BatchScorer) -> Any:
            done = scorer.score(table, batch)
            return self.finish(torch.cat([r.scores for r in done]))

        expected = scores(exact)
        swap_linears(model.get_decoder(), _CALL, self.path)
        way: Any = type(exact.forward)
        forward = way(model, prompts.header, TwoLogits(model, self._tokens))
        forward.backend += ", 8-bit floating point"
        small = BatchScorer(exact.assembler, forward, exact.tokens, call=_CALL)
        forward.deviation = deviation_of(scores(small), expected)
        return forward

    def finish(self, logits: Any) -> Any:
        """Turn logits of no and yes into similarities, in float32."""
        return logits.float().softmax(dim=1)[:, 1]


class _CausalScorer(BatchedScorer):
    """Pairs of tokenized texts, scored by left text."""

    def __init__(self, similarity: CausalReranker, prompts: PromptTokens) -> None:
        self._prompts = prompts
        super().__init__(
            len(prompts.left.lengths),
            similarity.batch_scorers(prompts),
            similarity.finish,
            symmetric=bool(similarity.symmetric),
            long_texts=prompts.long_texts,
            max_length=similarity.max_length,
        )
        self.chunk = 1 << 14 if self.on_gpu else 1 << 10

    def _score(self, i: Indices, j: Indices) -> NDArray[Any]:
        if not len(i):
            return np.empty(0, dtype=np.float32)
        kept, truncated = self._prompts.kept(i, j)
        self._count(truncated)
        order = np.lexsort((kept, i))
        tokens = max(scorer.tokens for scorer in self._batch_scorers)
        batches = _plan(self._prompts, i[order], kept[order], tokens=tokens)
        return self._run(np.stack([i, j, kept]), order, batches)


def _plan(
    prompts: PromptTokens, i: Indices, kept: Indices, *, tokens: int
) -> list[Batch]:
    """Cut pairs, sorted by left text, into batches of at most ``tokens`` tokens.

    A left text counts where it begins, and again where a batch does.
    """
    right = kept + len(prompts.tail)
    prefix = len(prompts.header) + prompts.left.lengths[i]
    batches, start, used = [], 0, 0
    for pair in range(len(i)):
        new = pair == start or i[pair] != i[pair - 1]
        size = int(right[pair] + (prefix[pair] if new else 0))
        if used and used + size > tokens:
            batches.append(_batch(start, pair, used))
            start, used, size = pair, 0, int(right[pair] + prefix[pair])
        used += size
    return [*batches, _batch(start, len(i), used)]


def _batch(start: int, stop: int, tokens: int) -> Batch:
    return Batch(start, stop, max(1, tokens // (stop - start)), full=False)


def _probe(prompts: PromptTokens) -> NDArray[np.int64]:
    """Return three pairs of two left texts, of different lengths."""
    low, high = (
        int(pick(prompts.right.lengths)) for pick in (np.argmin, np.argmax)
    )  # fmt: skip
    i = np.array([min(low, high), max(low, high), max(low, high)])
    j = np.array([high, low, high])
    return np.stack([i, j, prompts.kept(i, j)[0]])


def _precision(dtype: Any, devices: list[Any]) -> str:
    """Return the precision that is asked for, or the one that suits the device."""
    if dtype == "fp8":
        check_fp8(_CALL, devices)
        return "fp8"
    kind = devices[0].type
    # Half precision on a CPU is slow or, where its matrix instructions are announced
    # and then forbidden (some virtual machines), ends the process.
    known = ("float32",) if kind == "cpu" else ("bfloat16", "float16", "float32")
    if dtype is None:
        return known[0]
    if not isinstance(dtype, str) or dtype not in known:
        msg = (
            f"{_CALL}: dtype {shown(dtype)} on {kind!r}; there it can be one of "
            f"{', '.join(known)}."
        )
        raise InputError(msg)
    return dtype


def _free_tokens(device: Any, config: Any) -> int:
    """Return how many tokens make a good batch: what is fast, and fits free memory."""
    import torch

    if device.type != "cuda":
        return 2_048
    free, _ = torch.cuda.mem_get_info(device)
    width, inner = int(config.hidden_size), int(config.intermediate_size)
    heads = int(config.num_attention_heads)
    size = int(getattr(config, "head_dim", None) or width // heads)
    shared = int(getattr(config, "num_key_value_heads", None) or heads)
    layers = int(config.num_hidden_layers)
    # Keys and values of prefixes, twice while they are joined; activations of a layer.
    each = 8 * layers * shared * size + 16 * width + 8 * inner + 16 * heads * size
    return max(512, min(1 << 16, int(free // (2 * each))))
