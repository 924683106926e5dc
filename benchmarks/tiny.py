"""Tiny inputs: how many milliseconds a block of 2 × 2 takes beyond the plain way.

The plain way is what one writes without fewpairs: a loop over the pairs. Both sides
start from items that were prepared once (bags of words, vectors, tokens).
"""

import importlib.util
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

import fewpairs as fp
from benchmarks import cross_encoder
from benchmarks.measure import best_of, table

RUNS = 200
ROWS, COLUMNS = np.array([0, 1]), np.array([2, 3])
TEXTS = ["a cat sat", "two dogs ran far", "the cat ran", "birds of a feather"]

Sides = tuple[Callable[[], object], Callable[[], object]]


def run() -> None:
    """Print the extra milliseconds of every similarity that can be had here."""
    rows = []
    for what, needs, sides, runs in (
        ("WMD: beyond a loop over ot.emd2", ("numba", "ot"), _wmd, RUNS),
        ("strings: beyond a loop over rapidfuzz", (), _strings, RUNS),
        ("token overlap: beyond a loop over sets", (), _sets, RUNS),
        ("PairMLP: beyond a torch forward", ("torch",), _pair_mlp, RUNS),
        ("cross-encoder, CPU: beyond predict", ("torch",), _cross_encoder, 10),
    ):
        lacking = [name for name in needs if importlib.util.find_spec(name) is None]
        if not lacking and sides is _cross_encoder:
            lacking = [reason] if (reason := cross_encoder.why_not()) else []
        if lacking:
            print(f"\n{what}: skipped, {', '.join(lacking)}")
            continue
        ours, plain = best_of(runs, *sides())
        rows.append((what, 1e3 * (ours - plain), "≤ 1"))
    table("a 2 × 2 block, milliseconds more than the plain way", rows)


def _wmd() -> Sides:
    import ot
    from scipy.spatial.distance import cdist

    words = sorted({word for text in TEXTS for word in text.split()})
    X = np.random.default_rng(0).standard_normal((len(words), 100))
    scorer = fp.WMD((words, X)).bind(TEXTS)
    bags = [
        (X[[words.index(w) for w in text.split()]], np.full(k, 1 / k))
        for text in TEXTS
        for k in [len(text.split())]
    ]

    def plain() -> list[float]:
        return [
            ot.emd2(bags[i][1], bags[j][1], cdist(bags[i][0], bags[j][0]))
            for i, j in product(ROWS, COLUMNS)
        ]

    return lambda: scorer.block(ROWS, COLUMNS), plain


def _strings() -> Sides:
    from rapidfuzz.distance import Levenshtein

    scorer = fp.StringSimilarity("levenshtein").bind(TEXTS)

    def plain() -> list[float]:
        score = Levenshtein.normalized_similarity
        return [score(TEXTS[i], TEXTS[j]) for i, j in product(ROWS, COLUMNS)]

    return lambda: scorer.block(ROWS, COLUMNS), plain


def _sets() -> Sides:
    scorer = fp.TokenOverlap().bind(TEXTS)
    sets = [set(text.split()) for text in TEXTS]

    def plain() -> list[float]:
        pairs = product(ROWS, COLUMNS)
        return [len(sets[i] & sets[j]) / len(sets[i] | sets[j]) for i, j in pairs]

    return lambda: scorer.block(ROWS, COLUMNS), plain


def _pair_mlp() -> Sides:
    import torch

    width, hidden = 256, 128
    network = torch.nn.Sequential(
        torch.nn.Linear(3 * width, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, 1)
    )
    layers = [
        (layer.weight.detach().numpy(), layer.bias.detach().numpy())
        for layer in (network[0], network[2])
    ]
    X = np.random.default_rng(0).standard_normal((4, width), dtype=np.float32)
    scorer = fp.PairMLP(layers).bind(X)
    vectors = torch.from_numpy(X)
    i, j = torch.tensor([0, 0, 1, 1]), torch.tensor([2, 3, 2, 3])

    def plain() -> Any:
        with torch.inference_mode():
            a, b = vectors[i], vectors[j]
            return torch.sigmoid(network(torch.cat([a, b, a * b], dim=1)))

    return lambda: scorer.block(ROWS, COLUMNS), plain


def _cross_encoder() -> Sides:
    scorer, theirs = cross_encoder.both("cpu", TEXTS)
    pairs = [(TEXTS[i], TEXTS[j]) for i, j in product(ROWS, COLUMNS)]
    return lambda: scorer.block(ROWS, COLUMNS), lambda: theirs.predict(pairs)


if __name__ == "__main__":
    run()
