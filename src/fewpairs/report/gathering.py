"""The items on a page: where they lie, their groups, neighbors and words."""

import base64
import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.progress import Progress
from fewpairs.report.layout import (
    broad_groups,
    neighbor_graph,
    place_items,
    spectral_features,
)
from fewpairs.result.approximation import Approximation
from fewpairs.types import Indices

__all__ = ["MOST_ITEMS", "Nearest", "gather_items", "group_words", "mapped", "packed"]

MOST_ITEMS = 25_000  # on one page; of more, a sample is shown
_GROUPS = 10
_NEIGHBORS = 10
_LENGTHS = (1_000, 600, 400, 280, 200, 150, 110, 80, 60)
_TEXT_BYTES = 6_000_000
_BLOCK = 1 << 22  # entries looked at at once
_WORD = re.compile(r"[^\W\d_][\w'-]{3,}")
_COMMON = 0.1  # words of more than this share of the texts name nothing

Nearest = tuple[Indices, NDArray[np.float64]]


def gather_items(
    approx: Approximation,
    texts: Sequence[str],
    items: Indices,
    labels: NDArray[np.int64] | None,
    progress: Progress,
) -> dict[str, Any]:
    """Return everything that the map and the explorer show of these items."""
    k = min(_NEIGHBORS, len(items) - 1)
    if approx.known.sides is not None:
        k = min(k, *(len(part) for part in approx.known.sides.parted(items)))
        indices, values = nearest_among(approx, items, k)
    elif len(items) == len(texts):
        indices, values = approx.neighbors(k, progress=progress)
        values = values.astype(np.float64)
    else:
        indices, values = nearest_among(approx, items, k)
    place, found = mapped(indices, values)
    if labels is None:
        labels, kind = found, "groups"
    else:
        labels, kind = labels[items], "clusters"
    shown = [texts[t] for t in items]
    labels, groups = _named(labels, shown, whole=kind == "groups")
    i = np.repeat(items, k)
    read, _ = approx.known.lookup(i, items[indices.ravel()])
    low, high = float(values.min()), float(values.max())
    scale = (high - low) or 1.0
    length = _length(shown)
    return {
        "kind": kind,
        "k": k,
        "numbers": None if len(items) == len(texts) else packed(items, "<u4"),
        "texts": [
            text[:length] + ("…" if len(text) > length else "") for text in shown
        ],
        "x": packed(_level(place[:, 0]), "<u2"),
        "y": packed(_level(place[:, 1]), "<u2"),
        "group": packed(labels, "<u2"),
        "groups": groups,
        "near": packed(indices, "<u4"),
        "similar": packed(np.rint(65_535 * (values - low) / scale), "<u2"),
        "range": [low, high],
        "read": packed(np.packbits(read, bitorder="little"), "u1"),
    }


def nearest_among(approx: Approximation, items: Indices, k: int) -> Nearest:
    """Return every item's k most similar among these, as positions among them.

    Of two sets, those on the other side.
    """
    known = approx.known
    n = len(items)
    indices = np.empty((n, k), dtype=np.int64)
    values = np.empty((n, k))
    step = max(1, _BLOCK // n)
    for start in range(0, n, step):
        part = np.arange(start, min(n, start + step))
        block = approx.model.block(items[part], items).astype(np.float64)
        known.overlay(block, items[part], items)
        block[np.arange(len(part)), part] = -np.inf
        if known.sides is not None:
            block[known.sides.within(items[part][:, None], items)] = -np.inf
        top = np.argpartition(-block, k - 1, axis=1)[:, :k]
        best = np.take_along_axis(block, top, axis=1)
        order = np.lexsort((top, -best), axis=1)
        indices[part] = np.take_along_axis(top, order, axis=1)
        values[part] = np.take_along_axis(best, order, axis=1)
    return indices, values


def mapped(
    indices: Indices, values: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return positions in the plane and broad groups."""
    n = len(indices)
    if n < 12:  # too few for a map to have directions
        angle = 2 * np.pi * np.arange(n) / n
        return np.column_stack([np.cos(angle), np.sin(angle)]), np.zeros(n, np.int64)
    graph = neighbor_graph(indices, values)
    number = int(np.clip(round(np.sqrt(n / 8)), 2, _GROUPS))
    features = spectral_features(graph, max(2, number))
    return place_items(graph, features[:, :2]), broad_groups(features, number)


def _named(
    labels: NDArray[np.int64], texts: Sequence[str], *, whole: bool
) -> tuple[NDArray[np.int64], list[dict[str, Any]]]:
    """Return labels by size, the largest first, and the words that name groups.

    Ten have a color. Of clusters there may be thousands: the others share the last.
    """
    found, inverse, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    order = np.argsort(-sizes, kind="stable")
    rank = np.empty(len(found), dtype=np.int64)
    rank[order] = np.arange(len(found))
    labels = np.minimum(rank[inverse], _GROUPS)
    if not whole:  # a cluster of one is no group
        labels[sizes[inverse] < 2] = _GROUPS
    words = group_words(labels, texts, min(_GROUPS, len(found)))
    groups = [
        {"size": int((labels == t).sum()), "words": words[t]}
        for t in range(min(_GROUPS, len(found)))
        if (labels == t).any()
    ]
    return labels, groups


def group_words(
    labels: NDArray[np.int64], texts: Sequence[str], number: int
) -> list[str]:
    """Return three telling words a group: frequent in it, and not outside it.

    >>> group_words(np.array([0, 0, 1, 1]), ["a tiger"] * 2 + ["a horse"] * 2, 2)
    ['tiger', 'horse']
    """
    everywhere: Counter[str] = Counter()
    within: list[Counter[str]] = [Counter() for _ in range(number)]
    for label, text in zip(labels.tolist(), texts, strict=True):
        words = {word.lower() for word in _WORD.findall(text[:2_000])}
        everywhere.update(words)
        if label < number:
            within[label].update(words)
    sizes = np.bincount(labels, minlength=number)
    names = []
    for label, counts in enumerate(within):
        size = max(1, int(sizes[label]))

        def telling(
            word: str, counts: Counter[str] = counts, size: int = size
        ) -> float:
            inside = counts[word] / size
            outside = everywhere[word] - counts[word]
            usual = outside * size / len(texts)
            return inside * math.log((counts[word] + 1) / (usual + 1))

        rare = [w for w in counts if everywhere[w] <= max(2, _COMMON * len(texts))]
        best = sorted(rare, key=lambda word: (-telling(word), word))[:3]
        names.append(" · ".join(best) or f"group {label + 1}")
    return names


def packed(array: NDArray[Any], kind: str) -> str:
    """Return numbers as base64 of little-endian bytes, a third of their decimals."""
    return base64.b64encode(np.ascontiguousarray(array, dtype=kind).tobytes()).decode()


def _level(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return coordinates on the grid 0 … 65535; what lies far out is drawn nearer.

    A few islands that nothing holds would leave no room for the rest.
    """
    low, high = np.quantile(x, [0.01, 0.99])
    half = (high - low) / 2 or 1.0
    z = (x - (low + high) / 2) / half
    beyond = np.maximum(np.abs(z) - 1, 0)
    z = np.sign(z) * (np.minimum(np.abs(z), 1) + 0.15 * np.log1p(beyond / 0.15))
    z -= (z.max() + z.min()) / 2
    return np.asarray(np.rint((z / (2.04 * np.abs(z).max() or 1.0) + 0.5) * 65_535))


def _length(texts: Sequence[str]) -> int:
    """Return how many characters of a text the page has room for."""
    for length in _LENGTHS:
        if sum(len(text[:length].encode()) for text in texts) <= _TEXT_BYTES:
            return length
    return _LENGTHS[-1]
