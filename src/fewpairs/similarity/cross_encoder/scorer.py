"""Cross-encoders: a transformer that reads both texts at once."""

import copy
import warnings
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fewpairs.checks import check_flag, check_path, check_whole
from fewpairs.errors import FewpairsWarning
from fewpairs.interrupts import exposed, shut
from fewpairs.similarity.base import Interrupted, Scorer, Similarity, check_texts
from fewpairs.similarity.cross_encoder.batch_scorers import (
    BatchScorer,
    Result,
    free_tokens,
    run_batch_scorers,
)
from fewpairs.similarity.cross_encoder.bert_forward import (
    forward_of,
    int8_forward,
    plain_forward,
)
from fewpairs.similarity.cross_encoder.flat_forward import flat_way
from fewpairs.similarity.cross_encoder.flat_pairs import FlatAssembler, plan_flat
from fewpairs.similarity.cross_encoder.loading import load_classifier, require
from fewpairs.similarity.cross_encoder.options import (
    choose_activation,
    choose_devices,
    choose_label,
    choose_length,
    choose_precision,
)
from fewpairs.similarity.cross_encoder.pair_assembly import PairAssembler
from fewpairs.similarity.cross_encoder.pair_batches import (
    Batch,
    PairTemplate,
    TokenTable,
    cut_pairs,
    plan_batches,
)
from fewpairs.types import Indices

__all__ = ["CrossEncoder"]

Activation = Literal["identity", "sigmoid", "softmax"]
Precision = Literal["float32", "float16", "bfloat16", "int8"]
# What a score may differ by in another batch, or on another machine.
_ROUNDING = {"float32": 1e-3, "float16": 2e-2, "bfloat16": 1e-1, "int8": 1e-1}

_CALL = "fewpairs.CrossEncoder"


class CrossEncoder(Similarity):
    """Score of a sequence-classification model that reads ``a`` and ``b`` together.

    s(a, b) = activation(model([CLS] a [SEP] b [SEP])), with the template, token types
    and truncation of the model's own tokenizer. Values are those of
    ``sentence_transformers.CrossEncoder.predict`` (to 1e-5 in float32). Every text is
    tokenized once; pairs of one length make batches without padding, assembled on the
    device. On several GPUs batches are shared out. On a CPU every core takes its own,
    pairs of all lengths lie one after another, and what the first layer makes of a text
    is computed once for all pairs that have it in the same place.

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
        On a GPU ``"float16"``, ``"bfloat16"`` or ``"float32"``, on a CPU ``"float32"``
        or ``"int8"``; ``None`` takes the first of these. int8 is quicker and less
        exact, see docs/lab/benchmarks.md for both.
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
        self._models = _replicas(loaded.model, self._devices, self.dtype)

    @property
    def name(self) -> str:
        """The call that makes this similarity."""
        return f"CrossEncoder({self.path!r})"

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
        if device.type == "cpu" and self.template.special:
            logits = plain_forward(model)(probe)
            flat = flat_way(model, self.template, table, cuts, logits)
            if flat is not None:
                return flat
        return assembler, forward_of(model, [probe])

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


class _CrossScorer(Scorer):
    """Pairs of tokenized texts, scored in batches of equal length.

    Attributes
    ----------
    long_texts
        Texts that are over the model's length by themselves.
    truncated
        Pairs that were cut to the model's length so far, orders counted singly.
    """

    dtype = np.dtype(np.float32)

    def __init__(self, similarity: CrossEncoder, table: TokenTable) -> None:
        self.n = len(table.lengths)
        self._similarity = similarity
        self._table = table
        self._longest = similarity.max_length - similarity.template.special
        self._batch_scorers = similarity.batch_scorers(table)
        gpu = self._batch_scorers[0].assembler.device.type == "cuda"
        self.chunk = 1 << 18 if gpu else 1 << 14
        first = self._batch_scorers[0]
        how = getattr(first.forward, "backend", "transformers")
        self.backend = f"{how}, on {first.assembler.device}"
        # Below this number, padding a batch costs less than starting one more.
        self._few = 512 if gpu else 8
        self.truncated = 0
        self.long_texts = int(np.count_nonzero(table.lengths > self._longest))
        self._warned = False
        if self.long_texts:
            self._warn(f"{self.long_texts:,} of {self.n:,} texts are")

    def pairs(self, i: Indices, j: Indices) -> NDArray[Any]:
        if not self._similarity.symmetric:
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

    def _score(self, i: Indices, j: Indices) -> NDArray[Any]:
        if not len(i):
            return np.empty(0, dtype=np.float32)
        shut()  # but while batches are scored
        template = self._similarity.template
        cuts = cut_pairs(
            self._table, i, j, room=self._longest, cut_left=template.cut_left
        )
        self._count(cuts.truncated)
        order, batches = self._plan(cuts.totals(template.special))
        done: list[Result] = []
        out = np.full(len(i), np.nan, dtype=np.float32)
        try:
            with exposed:
                run_batch_scorers(
                    self._batch_scorers,
                    self._prepare(cuts.table[:, order]),
                    batches,
                    done,
                )
        except BaseException as error:
            self._collect(done, order, out)
            raise Interrupted(out, error) from error
        self._collect(done, order, out)
        return out

    def _plan(self, totals: Indices) -> tuple[Indices, list[Batch]]:
        """Return an order of the pairs, and its batches."""
        tokens = max(scorer.tokens for scorer in self._batch_scorers)
        if isinstance(self._batch_scorers[0].assembler, FlatAssembler):
            return plan_flat(totals, tokens=tokens, threads=len(self._batch_scorers))
        order = np.argsort(totals, kind="stable")
        longest = self._similarity.max_length
        return order, plan_batches(
            totals[order], tokens=tokens, few=self._few, longest=longest
        )

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
                values = self._similarity.finish(logits).cpu().numpy()
            places = [order[r.batch.start : r.batch.stop] for r in mine]
            out[np.concatenate(places)] = values

    def _count(self, truncated: int) -> None:
        self.truncated += truncated
        if truncated:
            self._warn(f"{truncated:,} pairs are")

    def _warn(self, what: str) -> None:
        if self._warned:
            return
        self._warned = True
        warnings.warn(
            f"{_CALL}: {what} over the model's length of {self._similarity.max_length} "
            "tokens and truncated. Shorten the texts, or take a model for longer ones. "
            "The scorer's .truncated counts the pairs.",
            FewpairsWarning,
            stacklevel=4,
        )


def _average(both: NDArray[Any], other: Indices) -> NDArray[Any]:
    """Average the first values with those of the other order, which follow them."""
    pairs = len(both) - len(other)
    values = both[:pairs].copy()
    values[other] = 0.5 * (values[other] + both[pairs:])
    return values


def _probe(table: TokenTable, room: int) -> NDArray[np.int64]:
    """Return two pairs of different lengths: the longest text and the shortest."""
    ends = np.array([int(table.lengths.argmax()), int(table.lengths.argmin())])
    return cut_pairs(table, ends, ends[[0, 0]], room=room, cut_left=False).table


def _replicas(model: Any, devices: list[Any], dtype: str) -> list[Any]:
    """Return the model once per device, in its precision."""
    import torch

    if dtype == "int8":  # products are made of 8 bits, all else is float32
        return [model.float()]
    model = model.to(getattr(torch, dtype))
    others = [copy.deepcopy(model).to(device) for device in devices[1:]]
    return [model.to(devices[0]), *others]
