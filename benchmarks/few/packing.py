"""The sentences in a folder that travels: texts, rounded embeddings and the model.

A machine with a GPU then needs neither the data sets nor an encoder of sentences.
"""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fewpairs as fp
from benchmarks.few.cosines import unit_rows
from benchmarks.few.sets import DataSet, models, read_sentences

__all__ = ["embeddings_of", "pack", "packed"]

MODEL = "stsb-cross-encoder"
ENCODER = "all-minilm-l6-v2"


def embeddings_of(texts: list[str], folder: Path, work: Path) -> NDArray[np.float32]:
    """Return MiniLM's embeddings, made once; rounded to a byte a number.

    The rounded ones are the prior everywhere, so that a packed run sees the same.
    """
    path = work / "sentences-embeddings.npz"
    if not path.exists():
        work.mkdir(parents=True, exist_ok=True)
        _save(path, _encoded(texts, folder / ENCODER))
    return _restored(path)


def _encoded(texts: list[str], encoder: Path) -> NDArray[np.float32]:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(encoder)).float()
    return np.asarray(model.encode(texts, normalize_embeddings=True))


def _save(path: Path, rows: NDArray[Any]) -> None:
    """Write rows as bytes, with a scale each."""
    scale = np.abs(rows).max(axis=1, keepdims=True) / 127
    rounded = np.rint(rows / scale).astype(np.int8)
    np.savez_compressed(path, bytes=rounded, scale=scale)


def _restored(path: Path) -> NDArray[np.float32]:
    with np.load(path) as kept:
        return unit_rows(kept["bytes"] * kept["scale"].astype(np.float32))


def pack(data: Path, work: Path, folder: Path) -> int:
    """Write what a run on the sentences needs; return its size in bytes."""
    texts, (i, j, gold) = read_sentences(data)
    embeddings_of(texts, models(data), work)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sentences.txt").write_text("\n".join(texts), encoding="utf-8")
    np.savez_compressed(folder / "labels.npz", i=i, j=j, gold=gold)
    shutil.copy(work / "sentences-embeddings.npz", folder / "embeddings.npz")
    truth = work / "sentences-truth.npz"
    if truth.exists():
        shutil.copy(truth, folder)
    (folder / MODEL).mkdir(exist_ok=True)
    for path in (models(data) / MODEL).iterdir():
        shutil.copyfile(path, folder / MODEL / path.name)
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def packed(folder: Path) -> DataSet:
    """Return the sentences from such a folder."""
    texts = (folder / "sentences.txt").read_text(encoding="utf-8").split("\n")
    with np.load(folder / "labels.npz") as kept:
        labels = kept["i"], kept["j"], kept["gold"]
    similarity = fp.CrossEncoder(
        str(folder / MODEL), activation="identity", symmetric=True
    )
    prior = _restored(folder / "embeddings.npz")
    return DataSet("sentences", similarity, texts, prior, labels)
