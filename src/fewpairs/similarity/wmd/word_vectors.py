"""Word vectors from wherever people keep them."""

import gzip
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.checks import check_path, shown
from fewpairs.errors import InputError
from fewpairs.similarity.items import as_items

__all__ = ["WordVectors", "word_vectors"]

_CALL = "fewpairs.WMD"


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Words and their vectors: ``array[index[word]]``."""

    index: dict[str, int]
    array: NDArray[Any]


def word_vectors(source: Any) -> WordVectors:
    """Read word vectors.

    Parameters
    ----------
    source
        A pair (words, array); a dict of vectors by word; gensim's ``KeyedVectors``; or
        the path of a word2vec or GloVe text file (``.txt``, ``.vec``, also ``.gz``), of
        a word2vec binary file (``.bin``, also ``.gz``), of a ``.npy`` array with a file
        ``vocab.txt`` beside it, one word a line, or of a folder with one of these.
    """
    if isinstance(source, WordVectors):
        return source
    source = getattr(source, "wv", source)  # a trained model of gensim holds its own
    if hasattr(source, "key_to_index") and hasattr(source, "vectors"):  # gensim
        return _checked(list(source.key_to_index), np.asarray(source.vectors))
    if isinstance(source, tuple) and len(source) == 2:
        words = as_items(source[0], _CALL, name="the words of vectors")
        return _checked(list(words), source[1])
    if isinstance(source, Mapping):
        return _checked(list(source), list(source.values()))
    if isinstance(source, (str, Path)):
        return _from_file(Path(check_path(_CALL, "vectors", source)))
    msg = (
        f"{_CALL}: vectors is {source!r:.60}; pass a pair (words, array), a dict of "
        "vectors by word, gensim's KeyedVectors or the path of a vector file."
    )
    raise InputError(msg)


def _checked(words: list[str], array: Any) -> WordVectors:
    try:
        X = np.asarray(array)
    except Exception:  # noqa: BLE001 - ragged, or no array at all
        X = np.empty(0, dtype=object)
    if X.ndim != 2 or X.dtype.kind not in "fiu":
        msg = (
            f"{_CALL}: the vectors have shape {X.shape} and dtype {X.dtype}; they must "
            "be an array of numbers with one row a word, all of one length."
        )
        raise InputError(msg)
    if len(words) != len(X):
        msg = f"{_CALL}: {len(words):,} words for {len(X):,} vectors; pass one each."
        raise InputError(msg)
    strange = [word for word in words if not isinstance(word, str)]
    if strange:
        msg = f"{_CALL}: of the words of vectors, {shown(strange[0])} is no text."
        raise InputError(msg)
    index: dict[str, int] = {}
    for t, word in enumerate(words):
        index.setdefault(word, t)  # the first of equal words, as gensim does
    return WordVectors(index, X)


def _in_folder(folder: Path) -> Path:
    """Return the one vector file of a folder."""
    kinds = (".npy", ".bin", ".vec", ".txt")
    found = [
        path
        for path in sorted(folder.iterdir())
        if path.name != "vocab.txt"
        and path.name.removesuffix(".gz").endswith(kinds)
        and path.is_file()
    ]
    if len(found) != 1:
        names = ", ".join(path.name for path in found[:5]) or "none"
        msg = (
            f"{_CALL}: the folder {folder} holds {len(found)} vector files ({names}). "
            "Pass the path of one."
        )
        raise InputError(msg)
    return found[0]


def _from_file(path: Path) -> WordVectors:
    if path.is_dir():
        path = _in_folder(path)
    if not path.is_file():
        msg = f"{_CALL}: there is no file {path}. Pass the path of a vector file."
        raise InputError(msg)
    kind = path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix
    if kind == ".npy":
        vocabulary = path.with_name("vocab.txt")
        if not vocabulary.is_file():
            msg = (
                f"{_CALL}: {path.name} has no vocab.txt beside it; pass a pair "
                "(words, numpy.load(path))."
            )
            raise InputError(msg)
        words = vocabulary.read_text(encoding="utf-8").split("\n")
        words = words[:-1] if words and not words[-1] else words
        return _checked(words, np.load(path, allow_pickle=False))
    opener: Any = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rb") as file:
        try:
            return _binary(file) if kind == ".bin" else _text(file)
        except (ValueError, IndexError) as error:
            msg = (
                f"{_CALL}: {path} cannot be read as word vectors "
                f"({type(error).__name__}: {error}). It must be in the text or binary "
                "format of word2vec or GloVe."
            )
            raise InputError(msg) from error


def _text(file: IO[bytes]) -> WordVectors:
    """Read lines of a word and its numbers; a first line with two counts is skipped."""
    words: list[str] = []
    rows: list[NDArray[np.float32]] = []
    for word, numbers in _lines(file):
        row = np.array(numbers.split(), dtype=np.float32)
        if rows and len(row) != len(rows[0]):
            msg = f"{word!r} has {len(row)} numbers, the words before {len(rows[0])}"
            raise ValueError(msg)
        words.append(word)
        rows.append(row)
    if not rows:
        msg = "it holds no vectors"
        raise ValueError(msg)
    return _checked(words, np.array(rows))


def _lines(file: IO[bytes]) -> Iterator[tuple[str, bytes]]:
    for number, line in enumerate(file):
        word, _, numbers = line.rstrip().partition(b" ")
        header = number == 0 and len(numbers.split()) == 1 and word.isdigit()
        if numbers and not header:
            yield word.decode("utf-8", errors="replace"), numbers


def _binary(file: IO[bytes]) -> WordVectors:
    """Read word2vec's binary format: counts, then word, blank, float32 numbers."""
    count, length = (int(part) for part in file.readline().split())
    words: list[str] = []
    array = np.empty((count, length), dtype=np.float32)
    for t in range(count):
        word = bytearray()
        while (letter := file.read(1)) != b" ":
            if not letter:
                msg = f"it ends after {t} of {count} words"
                raise ValueError(msg)
            if letter != b"\n":  # some writers end a vector with one
                word += letter
        data = file.read(4 * length)
        if len(data) < 4 * length:
            msg = f"it ends after {t} of {count} words"
            raise ValueError(msg)
        words.append(word.decode("utf-8", errors="replace"))
        array[t] = np.frombuffer(data, dtype="<f4")
    return _checked(words, array)
