"""Mentions as vectors, and a scorer that finds them.

Every sentence is read by an encoder with the sentences beside it. A span's vector is
[first word; last word; attention-pooled words; width], as in Lee et al. (2017) and
Cattan et al. (2020). The attention and the widths' vectors are learned by the span
scorer, which tells gold mentions of the training topics from all other spans.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.ecb import Sentence

__all__ = ["SpanScorer", "Spans", "all_spans", "encode", "train_span_scorer"]

WIDEST = 10  # words of a span; wider ones count as this wide
WIDTH_SIZE = 20


class Spans(NamedTuple):
    """Words ``start`` to ``end`` of sentences, by position in a list of sentences."""

    sentence: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]


def encode(
    sentences: Sequence[Sentence], model: str, *, batch: int = 32
) -> list[NDArray[np.float32]]:
    """Return a (words, d) array a sentence: the mean of every word's pieces."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model)
    network = AutoModel.from_pretrained(model, dtype=torch.float32).eval()
    longest = min(tokenizer.model_max_length, network.config.max_position_embeddings)
    out: list[NDArray[np.float32]] = [np.empty(0, np.float32)] * len(sentences)
    order = np.argsort([len(s.before) + len(s.words) for s in sentences])
    for start in range(0, len(order), batch):
        part = [sentences[t] for t in order[start : start + batch]]
        windows = [[*s.before, *s.words, *s.after] for s in part]
        inputs = tokenizer(
            [[word or "." for word in words] for words in windows],
            is_split_into_words=True,
            padding=True,
            truncation=True,
            max_length=min(longest, 512),
            return_tensors="pt",
        )
        with torch.no_grad():
            hidden = network(**inputs).last_hidden_state.numpy()
        for row, t in enumerate(order[start : start + batch]):
            first = len(sentences[t].before)
            own = np.array([-1 if w is None else w for w in inputs.word_ids(row)])
            out[t] = _words(hidden[row], own, first, len(sentences[t].words))
    return out


def _words(
    hidden: NDArray[Any], own: NDArray[np.int64], first: int, count: int
) -> NDArray[np.float32]:
    """Average the pieces of each word; a word cut off gets the mean of the others."""
    sums = np.zeros((count, hidden.shape[1]), dtype=np.float32)
    numbers = np.zeros(count)
    inside = (own >= first) & (own < first + count)
    np.add.at(sums, own[inside] - first, hidden[inside])
    np.add.at(numbers, own[inside] - first, 1)
    seen = numbers > 0
    sums[seen] /= numbers[seen, None]
    if not seen.all():
        sums[~seen] = sums[seen].mean(axis=0) if seen.any() else 0.0
    return sums


def all_spans(sentences: Sequence[Sentence]) -> Spans:
    """Return every span of up to WIDEST words."""
    parts = []
    for t, sentence in enumerate(sentences):
        n = len(sentence.words)
        start, width = np.divmod(np.arange(n * WIDEST), WIDEST)
        fits = start + width < n
        parts.append((np.full(fits.sum(), t), start[fits], (start + width)[fits]))
    sentence_of, start, end = (
        np.concatenate(side) for side in zip(*parts, strict=True)
    )
    return Spans(sentence_of, start, end)


@dataclass(frozen=True)
class SpanScorer:
    """What training found: attention over words, vectors of widths, a network."""

    attention: NDArray[np.float32]
    widths: NDArray[np.float32]
    layers: tuple[tuple[NDArray[np.float32], NDArray[np.float32]], ...]

    def vectors(
        self, words: Sequence[NDArray[np.float32]], spans: Spans
    ) -> NDArray[np.float32]:
        """Return the vectors of spans."""
        d = len(self.attention)
        out = np.empty((len(spans.start), 3 * d + WIDTH_SIZE), dtype=np.float32)
        for row, (t, start, end) in enumerate(zip(*spans, strict=True)):
            inside = words[t][start : end + 1]
            weight = inside @ self.attention
            weight = np.exp(weight - weight.max())
            pooled = weight @ inside / weight.sum()
            width = self.widths[min(end - start, WIDEST - 1)]
            out[row] = np.concatenate([inside[0], inside[-1], pooled, width])
        return out

    def scores(
        self, words: Sequence[NDArray[np.float32]], spans: Spans
    ) -> NDArray[np.float32]:
        """Return the logit of being a mention."""
        out = np.empty(len(spans.start), dtype=np.float32)
        for start in range(0, len(out), 8_192):
            part = Spans(*(side[start : start + 8_192] for side in spans))
            H = self.vectors(words, part)
            for t, (weight, bias) in enumerate(self.layers):
                H = H @ weight.T + bias
                if t < len(self.layers) - 1:
                    H = np.maximum(H, 0)
            out[start : start + 8_192] = H[:, 0]
        return out


def train_span_scorer(
    words: Sequence[NDArray[np.float32]],
    spans: Spans,
    labels: NDArray[np.bool_],
    *,
    hidden: int = 256,
    epochs: int = 3,
    negatives: float = 4.0,
    batch: int = 512,
    seed: int = 0,
) -> SpanScorer:
    """Learn to tell mentions from other spans; ``negatives`` others a mention."""
    import torch

    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    d = words[0].shape[1]
    attention = torch.nn.Linear(d, 1, bias=False)
    widths = torch.nn.Embedding(WIDEST, WIDTH_SIZE)
    network = torch.nn.Sequential(
        torch.nn.Linear(3 * d + WIDTH_SIZE, hidden),
        torch.nn.ReLU(),
        torch.nn.Linear(hidden, 1),
    )
    modules = torch.nn.ModuleList([attention, widths, network])
    optimizer = torch.optim.AdamW(modules.parameters(), lr=1e-3, weight_decay=1e-2)
    entropy = torch.nn.functional.binary_cross_entropy_with_logits
    yes, no = np.flatnonzero(labels), np.flatnonzero(~labels)
    for _ in range(epochs):
        drawn = rng.permutation(no)[: int(negatives * len(yes))]
        order = rng.permutation(np.concatenate([yes, drawn]))
        for start in range(0, len(order), batch):
            part = order[start : start + batch]
            joined = _joined(words, Spans(*(s[part] for s in spans)), attention, widths)
            target = torch.from_numpy(labels[part].astype(np.float32))
            optimizer.zero_grad()
            entropy(network(joined)[:, 0], target).backward()
            optimizer.step()
    layers = [
        tuple(p.detach().numpy().copy() for p in (layer.weight, layer.bias))
        for layer in network
        if hasattr(layer, "weight")
    ]
    return SpanScorer(
        attention.weight.detach().numpy()[0].copy(),
        widths.weight.detach().numpy().copy(),
        tuple((w, b) for w, b in layers),
    )


def _joined(words: Any, spans: Spans, attention: Any, widths: Any) -> Any:
    """Return the spans' vectors as a function of what is learned."""
    import torch

    width = np.minimum(spans.end - spans.start, WIDEST - 1)
    padded = np.zeros((len(width), WIDEST, words[0].shape[1]), dtype=np.float32)
    last = np.empty((len(width), words[0].shape[1]), dtype=np.float32)
    for row, (t, start, end) in enumerate(zip(*spans, strict=True)):
        inside = words[t][start : min(end + 1, start + WIDEST)]
        padded[row, : len(inside)] = inside
        last[row] = words[t][end]
    H = torch.from_numpy(padded)
    weight = attention(H)[:, :, 0]
    outside = torch.arange(WIDEST)[None, :] > torch.from_numpy(width)[:, None]
    weight = torch.softmax(weight.masked_fill(outside, -torch.inf), dim=1)
    pooled = (weight[:, :, None] * H).sum(dim=1)
    own = widths(torch.from_numpy(width))
    return torch.cat([H[:, 0], torch.from_numpy(last), pooled, own], dim=1)
