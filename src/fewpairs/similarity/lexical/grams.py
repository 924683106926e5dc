"""Grams: what texts are made of, as sparse rows of counts in hashed columns.

Texts are looked at as code points, all texts of a batch at once, so that a million of
them take a minute and any script is as good as another.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

__all__ = ["BUCKETS", "KINDS", "counted"]

BUCKETS = 1 << 16  # columns
_BATCH = 1 << 20  # characters looked at at once
_HALF = 1 << 13
_LONGEST = 2 * _HALF  # characters of a text that are looked at, half from either end
_PRIME = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio (Knuth 1973, 6.4)
_MIX = np.uint64(0xD6E8FEB86659FD93)
_CELL = 12  # characters that share a place
_OFTEN = 1 << 12  # occurrences in one text that are told apart
# Of the first code points, those between words; and the blank of East Asian scripts.
_MARKS = np.array([not chr(code).isalnum() for code in range(192)])
_WIDE_BLANK = 0x3000

Hashes = NDArray[np.uint64]


class _Codes(NamedTuple):
    """Code points of some texts, one after the other."""

    points: Hashes
    row: NDArray[np.int64]  # the text of every point
    place: NDArray[np.int64]  # of every point in its text


def counted(texts: Sequence[str], kind: str) -> sparse.csr_matrix:
    """Return (texts, BUCKETS) counts of one kind of grams.

    Examples
    --------
    >>> counted(["abab", "ba"], "characters").toarray().sum(axis=1).tolist()
    [4.0, 2.0]
    """
    hashed = KINDS[kind]
    parts = []
    for batch in _batches(texts):
        codes = _codes(batch)
        row, key = hashed(codes)
        column = (_mixed(key) >> np.uint64(48)).astype(np.int32)
        ones = np.ones(len(row), dtype=np.float32)
        shape = (len(batch), BUCKETS)
        part = sparse.coo_matrix((ones, (row, column)), shape=shape)
        parts.append(part.tocsr())
    return sparse.csr_matrix(sparse.vstack(parts, format="csr"))


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for text in texts:
        long = len(text) > _LONGEST
        batch.append(text[:_HALF] + text[-_HALF:] if long else text)
        size += len(batch[-1])
        if size >= _BATCH:
            yield batch
            batch, size = [], 0
    if batch or not texts:
        yield batch


def _codes(texts: list[str]) -> _Codes:
    joined = "".join(texts).encode("utf-32-le", errors="surrogatepass")
    points = np.frombuffer(joined, dtype=np.uint32).astype(np.uint64)
    lengths = np.array([len(text) for text in texts], dtype=np.int64)
    row = np.repeat(np.arange(len(texts)), lengths)
    first = np.cumsum(lengths) - lengths
    return _Codes(points, row, np.arange(len(points)) - first[row])


def _mixed(key: Hashes) -> Hashes:
    """Return numbers whose leading bits depend on all bits (xorshift-multiply)."""
    key = (key ^ (key >> np.uint64(32))) * _MIX
    return np.asarray((key ^ (key >> np.uint64(29))) * _PRIME)


def _grams(codes: _Codes, size: int) -> tuple[NDArray[np.int64], Hashes]:
    """Return the rows and hashes of all runs of ``size`` characters."""
    number = max(0, len(codes.points) - size + 1)
    key = np.full(number, size, dtype=np.uint64)
    for t in range(size):
        key = key * _PRIME + codes.points[t : t + number]
    whole = codes.row[:number] == codes.row[len(codes.row) - number :]
    return codes.row[:number][whole], key[whole]


def _occurrences(
    row: NDArray[np.int64], key: Hashes
) -> tuple[NDArray[np.int64], Hashes]:
    """Tell equal grams of a text apart: two then share the smaller of their counts.

    Σ min(a, b) over characters bounds what an edit distance can leave in common.
    """
    order = np.lexsort((key, row))
    row, key = row[order], key[order]
    new = np.ones(len(row), dtype=bool)
    new[1:] = (row[1:] != row[:-1]) | (key[1:] != key[:-1])
    start = np.flatnonzero(new)
    number = np.arange(len(row)) - np.repeat(start, np.diff(np.append(start, len(row))))
    kept = number < _OFTEN
    return row[kept], (key + _PRIME * number.astype(np.uint64))[kept]


def _characters(codes: _Codes) -> tuple[NDArray[np.int64], Hashes]:
    return _occurrences(*_grams(codes, 1))


def _pairs(codes: _Codes) -> tuple[NDArray[np.int64], Hashes]:
    """Return characters and pairs of them."""
    ones, twos = _occurrences(*_grams(codes, 1)), _occurrences(*_grams(codes, 2))
    return np.concatenate([ones[0], twos[0]]), np.concatenate([ones[1], twos[1]])


def _runs(codes: _Codes) -> tuple[NDArray[np.int64], Hashes]:
    """Return runs of two to four characters, and words."""
    found = [*(_grams(codes, size) for size in (2, 3, 4)), _words(codes)]
    rows, keys = zip(*found, strict=True)
    return np.concatenate(rows), np.concatenate(keys)


def _words(codes: _Codes) -> tuple[NDArray[np.int64], Hashes]:
    """Return the rows and hashes of words: what stands between blanks and marks."""
    points, row = codes.points, codes.row
    inside = (points >= len(_MARKS)) & (points != _WIDE_BLANK)
    low = points < len(_MARKS)
    inside[low] = ~_MARKS[points[low].astype(np.int64)]
    first = inside.copy()
    first[1:] &= ~(inside[:-1] & (row[1:] == row[:-1]))
    start = np.flatnonzero(first)
    if not len(start):
        return row[:0], points[:0]
    number = np.cumsum(first) - 1  # of the word, also behind its end
    place = np.arange(len(points)) - start[np.maximum(number, 0)]
    letters = _mixed(points + place.astype(np.uint64) * _PRIME)
    letters[~inside] = 0
    return row[start], np.add.reduceat(letters, start)


def _places(codes: _Codes) -> tuple[NDArray[np.int64], Hashes]:
    """Return characters with where they stand, in two grids half a cell apart."""
    found = []
    for side in (0, 1):
        cell = (codes.place + side * _CELL // 2) // _CELL * 2 + side
        key = codes.points * _PRIME + cell.astype(np.uint64)
        found.append(_occurrences(codes.row, key))
    rows, keys = zip(*found, strict=True)
    return np.concatenate(rows), np.concatenate(keys)


KINDS: dict[str, Callable[[_Codes], tuple[NDArray[Any], Hashes]]] = {
    "characters": _characters,
    "pairs": _pairs,
    "runs": _runs,
    "places": _places,
}
