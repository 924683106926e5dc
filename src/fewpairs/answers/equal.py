"""Equal items: pairs that need no approximation to be found."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from fewpairs.types import Indices

__all__ = ["count_equal", "equal_pairs"]


def count_equal(items: Sequence[Any] | None) -> int:
    """Return how many pairs of texts are equal.

    >>> count_equal(["a", "b", "a", "a"])
    3
    """
    return sum(len(group) * (len(group) - 1) // 2 for group in _groups(items))


def equal_pairs(items: Sequence[Any] | None) -> tuple[Indices, Indices]:
    """Return all pairs of equal texts, i < j; of other items none.

    >>> [side.tolist() for side in equal_pairs(["a", "b", "a"])]
    [[0], [2]]
    """
    none = np.empty(0, dtype=np.int64)
    i, j = [none], [none]
    for group in _groups(items):
        a, b = np.triu_indices(len(group), 1)
        at = np.array(group)
        i.append(at[a])
        j.append(at[b])
    return np.concatenate(i), np.concatenate(j)


def _groups(items: Sequence[Any] | None) -> list[list[int]]:
    groups: dict[str, list[int]] = {}
    for t, item in enumerate(() if items is None else items):
        if isinstance(item, str):
            groups.setdefault(item, []).append(t)
    return [group for group in groups.values() if len(group) > 1]
