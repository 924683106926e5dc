"""Made-up data in the form of the real ones, small enough for seconds.

They let every experiment run in the tests, through the same readers. Their numbers
mean nothing.
"""

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["make_data", "tiny_encoder"]

THEMES = {
    "animals": "cat dog horse bird fish mouse cow sheep fox wolf".split(),
    "food": "bread cheese apple soup rice cake tea milk salt pepper".split(),
    "travel": "train plane ticket hotel beach city map road bridge boat".split(),
}
WORDS = [word for theme in THEMES.values() for word in theme]
ITEMS = 60
TOPICS = (1, 3, 2, 36, 37)  # two to train on, one to tune on, two to test on


def make_data(folder: Path) -> Path:
    """Write all data sets and return their folder."""
    rng = np.random.default_rng(0)
    _write_vectors(folder / "glove", rng)
    _write_tweets(folder / "twitter", rng)
    for task in ("stsb", "mrpc", "rte"):
        _write_matrix(folder / "matrices", task, rng)
        _write_pairs(folder, task, rng)
    _write_ecb(folder / "ecbplus", rng)
    return folder


def _text(rng: np.random.Generator, theme: str, length: int = 6) -> str:
    own = rng.choice(THEMES[theme], length)
    other = rng.choice(WORDS, length)
    return " ".join(np.where(rng.random(length) < 0.8, own, other))


def _themes(rng: np.random.Generator, count: int) -> list[str]:
    return [str(name) for name in rng.choice(list(THEMES), count)]


def _write_vectors(place: Path, rng: np.random.Generator) -> None:
    place.mkdir(parents=True)
    centers = np.repeat(np.eye(len(THEMES), 8), 10, axis=0)
    array = centers + 0.3 * rng.standard_normal((len(WORDS), 8))
    np.save(place / "vectors.npy", array.astype(np.float16))
    (place / "vocab.txt").write_text("\n".join(WORDS) + "\n", encoding="utf-8")


def _write_tweets(place: Path, rng: np.random.Generator) -> None:
    place.mkdir(parents=True)
    lines = [f'"{name}"\t{_text(rng, name)}' for name in _themes(rng, ITEMS)]
    (place / "twitter.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _write_matrix(place: Path, task: str, rng: np.random.Generator) -> None:
    place.mkdir(parents=True, exist_ok=True)
    half = ITEMS // 2
    X = rng.standard_normal((half, 8))
    X = np.vstack([X, X + 0.5 * rng.standard_normal((half, 8))])
    noise = 0.05 * rng.standard_normal((ITEMS, ITEMS))
    K = np.tanh(X @ X.T / 4 - 0.3) + noise
    np.save(place / f"{task}.npy", K.astype(np.float16))
    np.save(place / f"{task}_embeddings.npy", X.astype(np.float16))
    clean = np.einsum("ij,ij->i", X[:half], X[half:])
    gold = clean if task == "stsb" else (clean > np.median(clean)).astype(float)
    lines = [
        json.dumps(
            {"text": f"t{t}", "pair": (t + half) % ITEMS, "gold": float(gold[t % half])}
        )
        for t in range(ITEMS)
    ]
    path = place / f"{task}.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _write_pairs(folder: Path, task: str, rng: np.random.Generator) -> None:
    place = folder / task
    place.mkdir(parents=True)
    for split, count in (("train", 24), ("dev", 10)):
        rows = []
        for t, (one, two) in enumerate(
            zip(_themes(rng, count), _themes(rng, count), strict=True)
        ):
            a, b, same = _text(rng, one), _text(rng, two), one == two
            if task == "stsb":
                rows.append(f"main\ttoy\t2012\t{t}\t{5.0 * same:.3f}\t{a}\t{b}")
            elif task == "mrpc":
                rows.append(f"{int(same)}\t{t}\t{t}\t{a}\t{b}")
            else:
                label = "entailment" if same else "not_entailment"
                rows.append(f"{t}\t{a}\t{b}\t{label}")
        heads = {
            "mrpc": "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String",
            "rte": "index\tsentence1\tsentence2\tlabel",
        }
        if task in heads:
            rows.insert(0, heads[task])
        name = f"sts-{split}.csv" if task == "stsb" else f"{split}.tsv"
        (place / name).write_text("\n".join(rows) + "\n", encoding="utf-8")


def _write_ecb(place: Path, rng: np.random.Generator) -> None:
    """Write topics of two documents; a sentence mentions one event and one entity."""
    place.mkdir(parents=True)
    listed = ["Topic,File,Sentence Number"]
    with tarfile.open(place / "ecbplus.tar.xz", "w:xz") as archive:
        for topic in TOPICS:
            for name in ("1ecb", "1ecbplus"):
                text = _document(rng, topic, name)
                _add(archive, f"ECB+_LREC2014/ECB+/{topic}/{topic}_{name}.xml", text)
                # A blank after a number, as in the real file.
                listed += [f"{topic},{name},{number} " for number in range(1, 16)]
        path = "ECB+_LREC2014/ECBplus_coreference_sentences.csv"
        _add(archive, path, "\n".join(listed) + "\n")


def _add(archive: tarfile.TarFile, name: str, text: str) -> None:
    content = text.encode("utf-8")
    info = tarfile.TarInfo(name)
    info.size = len(content)
    archive.addfile(info, io.BytesIO(content))


def _document(rng: np.random.Generator, topic: int, name: str) -> str:
    tokens: list[str] = []
    marks: list[str] = []
    chains: dict[str, list[int]] = {}
    number = 0
    for sentence in range(16):
        for position, word in enumerate(rng.choice(WORDS, 6)):
            number += 1
            ids = f't_id="{number}" sentence="{sentence}" number="{position}"'
            tokens.append(f"<token {ids}>{word}</token>")
        for tag, first, count in (("ACTION_OCCURRENCE", 5, 1), ("HUMAN_PART", 2, 2)):
            own = len(marks) + 1
            inside = "".join(
                f'<token_anchor t_id="{number - first + t}"/>' for t in range(count)
            )
            marks.append(f'<{tag} m_id="{own}">{inside}</{tag}>')
            referent = f"{tag[:3]}{topic}_{int(rng.integers(4))}"
            if sentence % 5:  # the others are clusters of their own
                chains.setdefault(referent, []).append(own)
    relations = []
    for t, (referent, members) in enumerate(chains.items()):
        own = 900 + t
        marks.append(f'<ACTION m_id="{own}" RELATED_TO="" instance_id="{referent}" />')
        sources = "".join(f'<source m_id="{m}" />' for m in members)
        target = f'<target m_id="{own}" />'
        relations.append(
            f'<CROSS_DOC_COREF r_id="{own}">{sources}{target}</CROSS_DOC_COREF>'
        )
    return (
        f'<Document doc_name="{topic}_{name}.xml">{"".join(tokens)}'
        f"<Markables>{''.join(marks)}</Markables>"
        f"<Relations>{''.join(relations)}</Relations></Document>"
    )


def tiny_encoder(place: Path) -> str:
    """Save a random encoder of one layer that knows the toy words."""
    import torch
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS]
    ids = {name: t for t, name in enumerate(names)}
    backend: Any = Tokenizer(models.WordLevel(ids, unk_token="[UNK]"))  # noqa: S106
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend,
        pad_token="[PAD]",  # noqa: S106
        unk_token="[UNK]",  # noqa: S106
        cls_token="[CLS]",  # noqa: S106
        sep_token="[SEP]",  # noqa: S106
        model_max_length=64,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(names),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
    )
    transformers.BertModel(config).save_pretrained(place)
    tokenizer.save_pretrained(place)
    return str(place)
