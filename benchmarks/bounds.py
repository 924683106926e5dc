"""Bounds are bounds: no pair that is excluded by proof ever reaches the threshold.

A million pairs per similarity: random texts, and texts edited a little, so that pairs
lie at every similarity. Thresholds are values of pairs themselves, and the next numbers
below and above them: ties, and what rounding does to them. Goal: none is excluded that
reaches the threshold, and every value is at most its bound.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

import fewpairs as fp
from fewpairs.answers.all_pairs import level_of
from fewpairs.similarity.base import Scorer
from fewpairs.similarity.string_bounds import has_bounds
from fewpairs.similarity.strings import SCORERS

__all__ = ["run"]

_TEXTS = 1_420  # a million pairs
_ROWS = 200
_THRESHOLDS = 12
_ALPHABETS = ("ab", "abcdefgh ", "abcdefghijklmnopqrstuvwxyz  ", "aé√ xyz")
_WORDS = 300


def _edited(text: list[str], letters: list[str], rng: np.random.Generator) -> None:
    """Delete, insert, replace or swap a letter, a few times."""
    for _ in range(rng.integers(1, 5)):
        at, kind = int(rng.integers(len(text) + 1)), int(rng.integers(4))
        if kind == 0 and text:
            text.pop(min(at, len(text) - 1))
        elif kind == 1:
            text.insert(at, str(rng.choice(letters)))
        elif kind == 2 and at < len(text):
            text[at] = str(rng.choice(letters))
        elif at + 1 < len(text):
            text[at], text[at + 1] = text[at + 1], text[at]


def _strings(n: int) -> list[str]:
    rng = np.random.default_rng(0)
    out = ["", " ", "a", "aa", "ab", "ba", "a" * 300]
    while len(out) < n:
        letters = list(_ALPHABETS[rng.integers(len(_ALPHABETS))])
        text = list(rng.choice(letters, rng.integers(1, 40)))
        for _ in range(4):
            out.append("".join(text))
            _edited(text, letters, rng)
    return out[:n]


def _sentences(n: int) -> list[str]:
    """Return sentences of few words, each changed by a word a few times."""
    rng = np.random.default_rng(1)
    out: list[str] = []
    while len(out) < n:
        words = rng.integers(_WORDS, size=rng.integers(1, 12))
        for _ in range(4):
            out.append(" ".join(f"w{word}" for word in words))
            words[rng.integers(len(words))] = rng.integers(_WORDS)
    return out[:n]


def _movers(n: int, gamma: float) -> Scorer:
    rng = np.random.default_rng(2)
    vectors = rng.standard_normal((_WORDS, 20))
    names = [f"w{word}" for word in range(_WORDS)]
    return fp.WMD((names, vectors), gamma=gamma).bind(_sentences(n))


def _wrong(scorer: Scorer, n: int) -> tuple[int, int, float]:
    """Return how many pairs are above their bound, and excluded wrongly."""
    rng = np.random.default_rng(3)
    everything = np.arange(n)
    i, j = np.triu_indices(n, 1)
    values = scorer.pairs(i, j).astype(np.float64)
    above = int((scorer.upper_bound(i, j) < values).sum())
    some = rng.choice(values, _THRESHOLDS // 3)
    thresholds = np.concatenate([some, np.nextafter(some, -1), np.nextafter(some, 2)])
    excluded = 0
    left: list[float] = []
    for threshold in thresholds:
        least = level_of(float(threshold), scorer.dtype)
        reaches = np.zeros((n, n), dtype=bool)
        reaches[i, j] = values >= least
        for start in range(0, n, _ROWS):
            rows = everything[start : start + _ROWS]
            possible: NDArray[np.bool_] = scorer.may_reach(rows, everything, least)
            excluded += int((reaches[rows] & ~possible).sum())
            left.append(float(possible.mean()))
    return above, excluded, float(np.median(left))


def run(only: Sequence[str] = ()) -> None:
    """Print how many bounds are wrong, by similarity."""
    texts = _strings(_TEXTS)
    scorers = {
        name: fp.StringSimilarity(name).bind(texts)
        for name in SCORERS
        if has_bounds(name)
    }
    for kind in ("jaccard", "dice", "overlap", "cosine"):
        scorers[f"tokens, {kind}"] = fp.TokenOverlap(kind).bind(_sentences(_TEXTS))
    for gamma in (0.3, 6.0):
        scorers[f"WMD, gamma {gamma:g}"] = _movers(_TEXTS, gamma)
    pairs = _TEXTS * (_TEXTS - 1) // 2
    print(f"\n{pairs:,} pairs each: values above their bound; pairs excluded wrongly,")
    print(f"at {_THRESHOLDS} thresholds; share that is left at the median one")
    for name, scorer in scorers.items():
        if only and name not in only:
            continue
        above, excluded, left = _wrong(scorer, _TEXTS)
        good = "reached" if above == excluded == 0 else "MISSED"
        print(f"  {name:<24} {above:>4} {excluded:>4} {left:>8.2%}  {good}", flush=True)
