"""The truth of a data set, and how near a contender comes to it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.few.answers import Answer
from benchmarks.few.sets import DataSet

__all__ = ["NEAREST", "Truth", "figures", "truth_of"]

Array = NDArray[Any]
NEAREST = 10
ROWS = 200  # that are read in full
ALL_ROWS = 5_000  # items up to which all rows are
PAIRS = 200_000  # random ones, for R²


@dataclass(frozen=True)
class Truth:
    """Rows with their nearest (ties of the tenth included), and random pairs."""

    rows: Array
    start: Array
    nearest: Array
    i: Array
    j: Array
    values: Array

    def recall(self, found: Array) -> float:
        """Return the share of the true ten that is found; equals count as one."""
        n = len(self.rows)
        if found.shape != (n, NEAREST) or (np.diff(np.sort(found)) == 0).any():
            msg = f"neighbors are not {NEAREST} different items for each of {n} rows"
            raise AssertionError(msg)
        hits = 0
        for t in range(n):
            true = self.nearest[self.start[t] : self.start[t + 1]]
            hits += int(np.isin(found[t], true).sum())
        return hits / (n * NEAREST)

    def r2(self, predicted: Array) -> float:
        """Return the share of the variance of random pairs that is explained."""
        spread = np.sum((self.values - self.values.mean()) ** 2)
        return float(1 - np.sum((self.values - predicted) ** 2) / spread)


def figures(answer: Answer, data: DataSet, truth: Truth) -> dict[str, Any]:
    """Return recall@10, R² and the correlation with labels of an answer."""
    value: dict[str, Any] = {
        "recall": truth.recall(answer.neighbors(truth.rows, NEAREST)),
        "r2": truth.r2(answer.pairs(truth.i, truth.j)),
        "evaluations": answer.evaluations,
    }
    if data.labels is not None:
        i, j, gold = data.labels
        predicted = answer.pairs(i, j)
        varies = float(np.std(predicted)) > 1e-12
        value["labels"] = float(np.corrcoef(predicted, gold)[0, 1]) if varies else 0.0
    return value


def truth_of(data: DataSet, work: Path, rows: int | None = None) -> Truth:
    """Return the truth, which is made once and kept; nobody's budget pays for it.

    ``rows`` that are read in full; all of few items, unless they are given.
    """
    path = work / f"{data.name}-truth.npz"
    if not path.exists():
        work.mkdir(parents=True, exist_ok=True)
        _make(data, path, rows)
    with np.load(path) as kept:
        return Truth(**{name: kept[name] for name in Truth.__dataclass_fields__})


def _make(data: DataSet, path: Path, number: int | None) -> None:
    rng = np.random.default_rng(2026)
    n = data.n
    number = number or (n if n <= ALL_ROWS else ROWS)
    rows = np.arange(n) if number >= n else np.sort(rng.permutation(n)[:number])
    nearest = []
    for row in rows:
        values = data.row(int(row))
        values[row] = -np.inf
        tenth = np.partition(values, n - NEAREST)[n - NEAREST]
        nearest.append(np.flatnonzero(values >= tenth))
    i = rng.integers(n, size=PAIRS)
    j = (i + rng.integers(1, n, size=PAIRS)) % n
    i, j = np.minimum(i, j), np.maximum(i, j)
    part = path.with_suffix(".part.npz")
    np.savez_compressed(
        part,
        rows=rows,
        start=np.cumsum([0, *map(len, nearest)]),
        nearest=np.concatenate(nearest),
        i=i,
        j=j,
        values=data.score(i, j).astype(np.float32),
    )
    part.rename(path)
