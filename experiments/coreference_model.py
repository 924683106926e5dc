"""The pairwise model of the coreference experiment: training, and exact matrices."""

import json
import os
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fewpairs as fp
from experiments.data import workshop
from experiments.ecb import Mention, Sentence, read, split_of
from experiments.mentions import (
    Spans,
    SpanScorer,
    all_spans,
    encode,
    train_span_scorer,
)
from experiments.toy import tiny_encoder

__all__ = ["Topic", "topics"]

ENCODER = "sentence-transformers/all-MiniLM-L6-v2"
NEGATIVES = 5  # pairs that do not corefer, for every one that does
HIDDEN, EPOCHS = 128, 4  # of the pairwise network
Words = list[NDArray[np.float32]]


@dataclass(frozen=True)
class Topic:
    """The mentions of a topic, their exact scores, and the gold clusters.

    Attributes
    ----------
    raw, K
        Scores as they came, and ½(K + Kᵀ).
    vectors
        Of the mentions: what the pairwise model reads, and the default's prior.
    places
        Where each mention is.
    gold
        The cluster of every gold mention, by place; not of predicted ones.
    """

    raw: NDArray[np.float32]
    vectors: NDArray[np.float32]
    places: list[Any]
    gold: dict[Any, str]

    @cached_property
    def K(self) -> NDArray[np.float32]:
        """½(K + Kᵀ)."""
        return np.asarray((self.raw + self.raw.T) / 2)


@dataclass(frozen=True)
class _Model:
    sentences: list[Sentence]
    words: Words
    place: dict[tuple[str, int], int]
    scorer: SpanScorer
    mlp: Any
    least: float  # logit from which on a span is taken for a mention


@cache
def topics(
    data: Path, mentions: str, kind: str, split: str, *, toy: bool
) -> list[Topic]:
    """Return the topics of a split with the scores of their mentions, from disk."""
    kept = workshop(data, toy=toy) / f"ecb-{mentions}-{kind}-{split}.npz"
    if kept.exists():
        return _load_topics(kept)
    found = _scored(data, mentions, kind, split, toy=toy)
    part = kept.with_suffix(".part.npz")
    _save_topics(part, found)
    part.rename(kept)
    return found


def _scored(
    data: Path, mentions: str, kind: str, split: str, *, toy: bool
) -> list[Topic]:
    model = _model(data, kind, toy=toy)
    gold = _mentions(data, kind, split)
    out = []
    for topic in sorted({m.sentence.topic for m in gold}):
        own = [m for m in gold if m.sentence.topic == topic]
        spans = _spans(model, own)
        if mentions == "predicted":
            spans = _predicted(model, topic)
        X = model.scorer.vectors(model.words, spans)
        everything = np.arange(len(X))
        raw = model.mlp.bind(X).block(everything, everything)
        places = [
            (model.sentences[t].document, model.sentences[t].number, a, b)
            for t, a, b in zip(*(side.tolist() for side in spans), strict=True)
        ]
        out.append(Topic(raw, X, places, {m.place: m.cluster for m in own}))
    return out


def _save_topics(path: Path, found: list[Topic]) -> None:
    arrays: dict[str, Any] = {}
    for t, topic in enumerate(found):
        arrays |= {f"raw{t}": topic.raw, f"vectors{t}": topic.vectors}
    gold = [[*map(list, topic.gold.items())] for topic in found]
    rest = {"places": [topic.places for topic in found], "gold": gold}
    np.savez(path, rest=np.array(json.dumps(rest)), **arrays)


def _load_topics(path: Path) -> list[Topic]:
    with np.load(path) as stored:
        rest = json.loads(str(stored["rest"]))
        return [
            Topic(
                stored[f"raw{t}"],
                stored[f"vectors{t}"],
                [tuple(place) for place in places],
                {tuple(place): cluster for place, cluster in gold},
            )
            for t, (places, gold) in enumerate(
                zip(rest["places"], rest["gold"], strict=True)
            )
        ]


def _mentions(data: Path, kind: str, split: str) -> list[Mention]:
    return [
        mention
        for mention in read(data)[1]
        if mention.event == (kind == "event")
        and split_of(mention.sentence.topic) == split
    ]


@cache
def _words(data: Path, *, toy: bool) -> Words:
    """Return word vectors of all sentences, kept on disk."""
    kept = workshop(data, toy=toy) / "ecb-words.npz"
    sentences = read(data)[0]
    if not kept.exists():
        if toy:
            model = tiny_encoder(data / "encoder")
        else:
            model = os.environ.get("FEWPAIRS_ENCODER", ENCODER)
        np.savez(kept, *encode(sentences, model))
    with np.load(kept) as stored:
        return [stored[f"arr_{t}"] for t in range(len(sentences))]


@cache
def _model(data: Path, kind: str, *, toy: bool) -> _Model:
    sentences, words = list(read(data)[0]), _words(data, toy=toy)
    place = {(s.document, s.number): t for t, s in enumerate(sentences)}
    train = _mentions(data, kind, "train")
    kept = workshop(data, toy=toy) / f"ecb-{kind}-{HIDDEN}-{NEGATIVES}-{EPOCHS}"
    if kept.exists():
        return _load(kept, sentences, words, place)
    scorer = _trained_scorer(sentences, words, place, train, toy=toy)
    model = _Model(sentences, words, place, scorer, None, 0.0)
    X = scorer.vectors(words, _spans(model, train))
    pairs, labels = _training_pairs(train)
    mlp = fp.train_pair_mlp(
        X,
        pairs,
        labels,
        hidden=(16,) if toy else (HIDDEN,),
        epochs=2 if toy else EPOCHS,
        learning_rate=5e-4,
        patience=2,
    )
    least = _tune_spans(model, _mentions(data, kind, "dev"))
    model = _Model(sentences, words, place, scorer, mlp, least)
    _save(kept, model)
    return model


def _save(kept: Path, model: _Model) -> None:
    """Write what was learned, so that a run that goes on does not learn it again."""
    part = kept.with_suffix(".part")
    part.mkdir(exist_ok=True)
    model.mlp.save(part / "pairs.safetensors")
    layers = [array for layer in model.scorer.layers for array in layer]
    np.savez(
        part / "spans.npz",
        *layers,
        attention=model.scorer.attention,
        widths=model.scorer.widths,
        least=np.array(model.least),
    )
    part.rename(kept)


def _load(
    kept: Path,
    sentences: list[Sentence],
    words: Words,
    place: dict[tuple[str, int], int],
) -> _Model:
    with np.load(kept / "spans.npz") as stored:
        layers = tuple(
            (stored[f"arr_{2 * t}"], stored[f"arr_{2 * t + 1}"]) for t in range(2)
        )
        scorer = SpanScorer(stored["attention"], stored["widths"], layers)
        least = float(stored["least"])
    mlp = fp.PairMLP.from_safetensors(kept / "pairs.safetensors")
    return _Model(sentences, words, place, scorer, mlp, least)


def _trained_scorer(
    sentences: list[Sentence],
    words: Words,
    place: dict[tuple[str, int], int],
    train: list[Mention],
    *,
    toy: bool,
) -> SpanScorer:
    own = [t for t, s in enumerate(sentences) if split_of(s.topic) == "train"]
    spans = all_spans([sentences[t] for t in own])
    spans = spans._replace(sentence=np.array(own)[spans.sentence])
    wanted = {(place[m.place[:2]], m.start, m.end) for m in train}
    triples = zip(*(side.tolist() for side in spans), strict=True)
    labels = np.array([triple in wanted for triple in triples])
    return train_span_scorer(words, spans, labels, epochs=1 if toy else 4)


def _spans(model: _Model, mentions: list[Mention]) -> Spans:
    rows = [(model.place[m.place[:2]], m.start, m.end) for m in mentions]
    return Spans(*np.array(rows, dtype=np.int64).reshape(-1, 3).T)


def _training_pairs(train: list[Mention]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return pairs within topics: all that corefer, and so many others."""
    topic = np.array([m.sentence.topic for m in train])
    number = np.unique([m.cluster for m in train], return_inverse=True)[1]
    i, j = np.triu_indices(len(train), 1)
    same = topic[i] == topic[j]
    i, j = i[same], j[same]
    yes = number[i] == number[j]
    rng = np.random.default_rng(0)
    no = rng.permutation(np.flatnonzero(~yes))[: NEGATIVES * int(yes.sum())]
    some = np.concatenate([np.flatnonzero(yes), no])
    i, j = i[some], j[some]
    turned = rng.random(len(some)) < 0.5  # the model is to see both orders
    pairs = np.column_stack([np.where(turned, j, i), np.where(turned, i, j)])
    return pairs, yes[some]


def _candidates(model: _Model, topic: int) -> Spans:
    own = [t for t, s in enumerate(model.sentences) if s.topic == topic]
    spans = all_spans([model.sentences[t] for t in own])
    return spans._replace(sentence=np.array(own)[spans.sentence])


def _predicted(model: _Model, topic: int) -> Spans:
    """Return the spans of a topic that look like mentions."""
    spans = _candidates(model, topic)
    taken = model.scorer.scores(model.words, spans) >= model.least
    return Spans(*(side[taken] for side in spans))


def _tune_spans(model: _Model, dev: list[Mention]) -> float:
    """Return the logit with the best F₁ of finding the dev topics' mentions."""
    scores, labels = [], []
    wanted = {(model.place[m.place[:2]], m.start, m.end) for m in dev}
    for topic in sorted({m.sentence.topic for m in dev}):
        spans = _candidates(model, topic)
        scores.append(model.scorer.scores(model.words, spans))
        triples = zip(*(side.tolist() for side in spans), strict=True)
        labels += [triple in wanted for triple in triples]
    from fewpairs.evaluation import classification

    return classification(labels, np.concatenate(scores)).threshold
