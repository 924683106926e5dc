"""Cross-encoders: a transformer that reads both texts at once."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fewpairs.checks import check_flag, check_path, check_whole
from fewpairs.similarity.base import Scorer, Similarity, check_texts
from fewpairs.similarity.cross_encoder.batch_scorers import BatchScorer, free_tokens
from fewpairs.similarity.cross_encoder.batched_scorer import BatchedScorer
from fewpairs.similarity.cross_encoder.bert_forward import (
    forward_of,
    int8_forward,
    plain_forward,
)
from fewpairs.similarity.cross_encoder.flat_forward import flat_way
from fewpairs.similarity.cross_encoder.flat_pairs import FlatAssembler, plan_flat
from fewpairs.similarity.cross_encoder.fp8 import (
    Deviation,
    deviation_of,
    probe_pairs,
)
from fewpairs.similarity.cross_encoder.loading import load_classifier, require
from fewpairs.similarity.cross_encoder.options import (
    choose_activation,
    choose_devices,
    choose_label,
    choose_length,
    choose_precision,
)
from fewpairs.similarity.cross_encoder.packed_forward import fp8_forward, packed_way
from fewpairs.similarity.cross_encoder.packed_pairs import PackedAssembler, plan_packed
from fewpairs.similarity.cross_encoder.pair_assembly import PairAssembler
from fewpairs.similarity.cross_encoder.pair_batches import (
    Batch,
    PairTemplate,
    TokenTable,
    cut_pairs,
    plan_batches,
)
from fewpairs.similarity.cross_encoder.replicas import replicas
from fewpairs.types import Indices

__all__ = ["CrossEncoder"]

Activation = Literal["identity", "sigmoid", "softmax"]
Precision = Literal["float32", "float16", "bfloat16", "int8", "fp8"]
# What a score may differ by in another batch, or on another machine.
_ROUNDING = {"float32": 1e-3, "float16": 2e-2} | dict.fromkeys(
    ("bfloat16", "int8", "fp8"), 1e-1
)

_CALL = "fewpairs.CrossEncoder"


class CrossEncoder(Similarity):
    """Score of a sequence-classification model that reads ``a`` and ``b`` together.

    s(a, b) = activation(model([CLS] a [SEP] b [SEP])), with the template, token types
    and truncation of the model's own tokenizer. Values are those of
    ``sentence_transformers.CrossEncoder.predict`` (to 1e-5 in float32). Every text is
    tokenized once; pairs of all lengths lie one after another without padding, or those
    of one length make a batch, assembled on the device. On several GPUs batches are
    shared out. On a CPU every core takes its own, and what the first layer makes of a
    text is computed once for all pairs that have it in the same place.

    BERT, RoBERTa, XLM-RoBERTa, DistilBERT, ELECTRA, DeBERTa (v2, v3) and ModernBERT
    have a fast forward pass, which is taken if it gives what the model's own gives for
    the longest and the shortest of the texts; others run as they are. No clock decides,
    so that a run that goes on gives the same. The scorer's ``backend`` says what runs:
    "torch and Triton, packed pairs", "torch, packed pairs", "torch, padded pairs" or
    "transformers".

    Evaluations: one per pair, and one model call (two with ``symmetric=True``).

    Parameters
    ----------
    name
        Folder of a saved model, or a name on the Hugging Face hub. A name is looked
        for in the local cache first and downloaded only if it is not there.
    label
        Which output is the similarity, as a position or a name: needed when the model
        has several.
    activation
        ``"identity"``, ``"sigmoid"`` or ``"softmax"`` (over the labels). ``None``
        takes what sentence-transformers would: the model's configured one, else
        sigmoid for one label and identity for several.
    symmetric
        Whether to average both orders, ½(s(a, b) + s(b, a)), inside the scorer.
        Otherwise the similarity is declared asymmetric.
    device
        ``"cpu"``, ``"cuda"`` (all GPUs), ``"cuda:1"``…; ``None`` takes the GPUs where
        there are any.
    dtype
        On a GPU ``"float16"``, ``"bfloat16"``, ``"float32"`` or ``"fp8"``, on a CPU
        ``"float32"`` or ``"int8"``; ``None`` takes the first of these. int8 and fp8 are
        quicker and less exact, see docs/lab/benchmarks.md. fp8 needs a GPU of compute
        capability 8.9 (Ada, Hopper) or above, and pays from a width of 768 on; how far
        it puts scores off is measured on pairs of the texts, and is in the scorer's
        ``backend`` and ``deviation`` and in the receipt.
    batch_tokens
        Most tokens of a batch; ``None`` sets it from the free memory. It is halved
        when memory runs out, and scoring goes on.
    max_length
        Most tokens of a pair; ``None`` takes the tokenizer's and the model's limit.
    local_files_only
        Never ask the hub.

    References
    ----------
    Reimers and Gurevych, Sentence-BERT, EMNLP 2019; Devlin et al., BERT, NAACL 2019.

    Examples
    --------
    >>> import fewpairs as fp
    >>> encoder = fp.CrossEncoder("cross-encoder/stsb-roberta-base")  # doctest: +SKIP
    >>> approx = fp.approximate(texts, encoder, budget=0.05)  # doctest: +SKIP
    """

    def __init__(
        self,
        name: str,
        *,
        label: int | str | None = None,
        activation: Activation | None = None,
        symmetric: bool = False,
        device: str | None = None,
        dtype: Precision | None = None,
        batch_tokens: int | None = None,
        max_length: int | None = None,
        local_files_only: bool = False,
    ) -> None:
        require(_CALL, "torch", "transformers", "tokenizers")
        self.path = check_path(_CALL, "name", name)
        self._devices = choose_devices(device)
        self.dtype = choose_precision(dtype, self._devices)
        check_whole(_CALL, "batch_tokens", batch_tokens, least=1, none=True)
        check_whole(_CALL, "max_length", max_length, least=1, none=True)
        symmetric = check_flag(_CALL, "symmetric", symmetric)
        local_files_only = check_flag(_CALL, "local_files_only", local_files_only)
        loaded = load_classifier(self.path, local_files_only=local_files_only)
        config = loaded.model.config
        self.label = choose_label(label, config)
        self.activation = choose_activation(activation, self.path, config)
        self.template = PairTemplate.of(loaded.tokenizer, self.path)
        self.max_length = choose_length(max_length, loaded, self.template)
        self.batch_tokens = batch_tokens
        self.symmetric = symmetric
        self.proven = symmetric
        self.rounding = _ROUNDING[self.dtype]
        self.bounds = None if self.activation == "identity" else (0.0, 1.0)
        self._tokenizer = loaded.tokenizer
        self._models = replicas(loaded.model, self._devices, self.dtype)
        self._deviation: Deviation | None = None

    @property
    def name(self) -> str:
        """The call that makes this similarity."""
        return f"CrossEncoder({self.path!r})"

    @property
    def remark(self) -> str:
        """How far 8-bit products put scores off, once there are texts."""
        return "" if self._deviation is None else str(self._deviation)

    def identify(self) -> Iterable[Any]:
        """Return the model and what decides its values."""
        options = (self.label, self.activation, self.symmetric, self.max_length)
        return ("cross-encoder", self.path, *options, self.dtype)

    def bind(self, items: Sequence[Any]) -> Scorer:
        """Tokenize every text once and put the tokens on the devices."""
        texts = check_texts(items, _CALL)
        return _CrossScorer(self, TokenTable.of(self._tokenizer, texts))

    def batch_scorers(self, table: TokenTable) -> list[BatchScorer]:
        """Return the places that score pairs of these texts."""
        import torch

        scorers = []
        for device, model in zip(self._devices, self._models, strict=True):
            with torch.inference_mode():
                assembler, forward = self._way(model, table, device)
            flat = isinstance(assembler, FlatAssembler)
            tokens = self.batch_tokens or free_tokens(device, model.config, flat=flat)
            if self.dtype == "fp8" and table.tokens.size:
                exact = BatchScorer(assembler, forward, tokens)
                with torch.inference_mode():
                    forward = self._fp8_way(model, table, exact)
            copies = torch.get_num_threads() if device.type == "cpu" else 1
            scorers += [BatchScorer(assembler, forward, tokens) for _ in range(copies)]
        return scorers

    def _way(self, model: Any, table: TokenTable, device: Any) -> tuple[Any, Any]:
        """Return the fastest assembler and forward pass that suit the model."""
        assembler = PairAssembler(self.template, table, device)
        if self.dtype == "int8":
            return assembler, int8_forward(model)
        if not table.tokens.size:
            return assembler, plain_forward(model)
        cuts = _probe(table, self._longest)
        length = int((cuts[1] + cuts[3]).max()) + self.template.special
        batch = Batch(0, cuts.shape[1], length, full=False)
        probe = assembler.assemble(assembler.prepare(cuts), batch)
        if self.template.special:
            logits = plain_forward(model)(probe)
            packed = flat_way if device.type == "cpu" else packed_way
            way = packed(model, self.template, table, cuts, logits)
            if way is not None:
                return way
        return assembler, forward_of(model, [probe])

    def _fp8_way(self, model: Any, table: TokenTable, exact: BatchScorer) -> Any:
        """Return the pass with 8-bit products, and how far from ``exact`` it is."""
        import torch

        forward = fp8_forward(model, exact.forward, self.path)
        i, j = probe_pairs(len(table.lengths))
        left = self.template.cut_left
        cuts = cut_pairs(table, i, j, room=self._longest, cut_left=left)
        length = int(cuts.totals(self.template.special).max())
        batch = Batch(0, len(i), length, full=False)
        ready = exact.assembler.prepare(cuts.table)
        small = BatchScorer(exact.assembler, forward, exact.tokens)
        scores, expected = (
            self.finish(torch.cat([r.scores for r in scorer.score(ready, batch)]))
            for scorer in (small, exact)
        )
        self._deviation = forward.deviation = deviation_of(scores, expected)
        return forward

    def finish(self, logits: Any) -> Any:
        """Turn logits into similarities, in float32."""
        logits = logits.float()
        if self.activation == "softmax":
            return logits.softmax(dim=1)[:, self.label]
        chosen = logits[:, self.label]
        return chosen.sigmoid() if self.activation == "sigmoid" else chosen

    @property
    def _longest(self) -> int:
        return self.max_length - self.template.special


class _CrossScorer(BatchedScorer):
    """Pairs of tokenized texts, scored in batches of equal length."""

    def __init__(self, similarity: CrossEncoder, table: TokenTable) -> None:
        self._similarity = similarity
        self._table = table
        self._longest = similarity.max_length - similarity.template.special
        super().__init__(
            len(table.lengths),
            similarity.batch_scorers(table),
            similarity.finish,
            symmetric=bool(similarity.symmetric),
            long_texts=int(np.count_nonzero(table.lengths > self._longest)),
            max_length=similarity.max_length,
        )
        self.chunk = 1 << 18 if self.on_gpu else 1 << 14
        # Below this number, padding a batch costs less than starting one more.
        self._few = 512 if self.on_gpu else 8

    def _score(self, i: Indices, j: Indices) -> NDArray[Any]:
        if not len(i):
            return np.empty(0, dtype=np.float32)
        template = self._similarity.template
        cuts = cut_pairs(
            self._table, i, j, room=self._longest, cut_left=template.cut_left
        )
        self._count(cuts.truncated)
        order, batches = self._plan(cuts.totals(template.special))
        return self._run(cuts.table, order, batches)

    def _plan(self, totals: Indices) -> tuple[Indices, list[Batch]]:
        """Return an order of the pairs, and its batches."""
        tokens = max(scorer.tokens for scorer in self._batch_scorers)
        if isinstance(self._batch_scorers[0].assembler, FlatAssembler):
            return plan_flat(totals, tokens=tokens, threads=len(self._batch_scorers))
        if isinstance(self._batch_scorers[0].assembler, PackedAssembler):
            return plan_packed(totals, tokens=tokens)
        order = np.argsort(totals, kind="stable")
        longest = self._similarity.max_length
        return order, plan_batches(
            totals[order], tokens=tokens, few=self._few, longest=longest
        )


def _probe(table: TokenTable, room: int) -> NDArray[np.int64]:
    """Return pairs of different lengths, the last one of the shortest text alone."""
    long, short = int(table.lengths.argmax()), int(table.lengths.argmin())
    i, j = np.array([[long, short, short], [long, long, short]])
    return cut_pairs(table, i, j, room=room, cut_left=False).table
