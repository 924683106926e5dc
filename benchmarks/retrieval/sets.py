"""Two sets with labelled partners, and a reader that keeps a budget."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["NEAREST", "SETS", "OverBudgetError", "Reader", "TwoSets", "load"]

Array = NDArray[Any]
NEAREST = 10
# The least label of a pair that people take for the same.
SETS = {"stsb": 4.0, "mrpc": 1.0, "rte": 1.0}


@dataclass(frozen=True)
class TwoSets:
    """First and second sentences of labelled pairs, and a cross-encoder's scores.

    Attributes
    ----------
    K
        (m, n) scores of first sentences with second ones, in this order.
    left, right
        Unit embeddings of both.
    same
        Left items whose labelled partner, the right item of the same number, people
        take for the same.
    """

    name: str
    K: NDArray[np.float32]
    left: NDArray[np.float32]
    right: NDArray[np.float32]
    same: Array

    def figures(self, found: Array) -> dict[str, float]:
        """Return recall@10, top-1 and the share of partners among the ten found.

        What is as similar as the tenth counts as one of the ten.
        """
        m = len(self.K)
        if found.shape != (m, NEAREST) or (np.diff(np.sort(found)) == 0).any():
            msg = f"found are not {NEAREST} different others of each of {m} items"
            raise AssertionError(msg)
        reached = np.take_along_axis(self.K, found, axis=1)
        order = -np.sort(-self.K, axis=1)
        tenth, first = order[:, NEAREST - 1 : NEAREST], order[:, 0]
        partners = (found[self.same] == self.same[:, None]).any(axis=1)
        return {
            "recall": float((reached >= tenth).mean()),
            "top1": float((reached[:, 0] >= first).mean()),
            "partner": float(partners.mean()),
        }


def load(name: str, data: Path) -> TwoSets:
    """Return the first half of the items against the second, their partners."""
    folder = data / "matrices"
    scores = np.load(folder / f"{name}.npy").astype(np.float32)
    embeddings = np.load(folder / f"{name}_embeddings.npy").astype(np.float32)
    embeddings /= np.linalg.norm(embeddings, axis=1, keepdims=True)
    lines = (folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    items = [json.loads(line) for line in lines]
    m = len(items) // 2
    if [item["pair"] for item in items[:m]] != list(range(m, 2 * m)):
        msg = f"{name}: the partner of first sentence t is not second sentence t"
        raise AssertionError(msg)
    gold = np.array([float(item["gold"]) for item in items[:m]])
    same = np.flatnonzero(gold >= SETS[name])
    return TwoSets(name, scores[:m, m:], embeddings[:m], embeddings[m:], same)


class OverBudgetError(Exception):
    """A rival read more than it may."""


class Reader:
    """Reads scores for a rival, each counted once, and refuses more than the budget."""

    def __init__(self, data: TwoSets, evaluations: int) -> None:
        self.data, self.budget = data, evaluations
        self.read = np.zeros(data.K.shape, dtype=bool)
        self.evaluations = 0

    @property
    def remaining(self) -> int:
        """Evaluations that are left."""
        return self.budget - self.evaluations

    def take(self, i: Array, j: Array) -> Array:
        """Read pairs; those that were read before are free."""
        flat = np.zeros(self.read.shape, dtype=bool)
        flat[i, j] = True
        self.evaluations += int((flat & ~self.read).sum())
        if self.evaluations > self.budget:
            msg = f"{self.evaluations:,} evaluations of {self.budget:,}"
            raise OverBudgetError(msg)
        self.read |= flat
        return np.asarray(self.data.K[i, j], dtype=np.float64)

    def take_best(self, score: Array, each: int) -> None:
        """Read the best unread others of every item, so many each."""
        hidden = np.where(self.read, -np.inf, score)
        top = np.argsort(-hidden, axis=1, kind="stable")[:, :each]
        items = np.repeat(np.arange(len(top)), top.shape[1])
        live = np.isfinite(hidden[items, top.ravel()])
        self.take(items[live], top.ravel()[live])

    def best_read(self, score: Array) -> Array:
        """Return the ten best of every item: what was read, then by score."""
        level = float(np.abs(score).max()) + float(np.abs(self.data.K).max()) + 1
        ranked = np.where(self.read, self.data.K + 2 * level, score)
        return np.argsort(-ranked, axis=1, kind="stable")[:, :NEAREST]
