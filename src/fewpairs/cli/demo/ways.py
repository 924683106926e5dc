"""Three ways to every item's ten most similar: cosine alone, re-ranking, fewpairs."""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewpairs.cli.demo.chart import Line
from fewpairs.datasets import DocstringScores
from fewpairs.result.approximation import Approximation
from fewpairs.run.approximate import approximate
from fewpairs.similarity import from_matrix

__all__ = ["BUDGETS", "LINES", "K", "Truth", "few_of", "follow", "rerank", "top"]

K = 10
BUDGETS = (5, 10, 20, 30, 40, 60)  # calls per item
LINES = (
    Line("cosine alone", "○", "yellow"),
    Line("re-ranking", "△", "magenta"),
    Line("fewpairs", "●", "bold cyan"),
)
_READ = 10.0  # added to scores that were read: they come before any cosine

Curves = dict[str, list[tuple[float, float]]]


class Truth(NamedTuple):
    """The scores of all pairs, and every item's ten most similar by them."""

    scores: NDArray[np.float32]
    nearest: NDArray[np.int64]

    @classmethod
    def of(cls, scores: NDArray[np.float32]) -> "Truth":
        """Rank all pairs."""
        return cls(scores, top(scores, K))

    def recall(self, found: NDArray[np.int64]) -> float:
        """Return the share of the true ten among ten that were found."""
        shared = [
            len(np.intersect1d(a, b)) for a, b in zip(found, self.nearest, strict=True)
        ]
        return float(np.mean(shared)) / K


def follow(data: DocstringScores) -> Iterator[tuple[Curves, Approximation | None]]:
    """Yield recall@10 of the three ways, more of it every time, and the last answer."""
    truth, cosines = Truth.of(data.scores), data.vectors @ data.vectors.T
    matrix = from_matrix(data.scores, symmetric=True, diagonal=1.0)
    alone = truth.recall(top(cosines, K))
    curves: Curves = {line.name: [] for line in LINES}
    cosine, reranked, ours = curves.values()
    approx: Approximation | None = None
    for budget in BUDGETS:
        cosine.append((budget, alone))
        found = rerank(truth, cosines, budget * len(data) // 2)
        reranked.append((budget, truth.recall(found)))
        yield curves, approx
        approx = _as_if_called(
            approximate(
                data.texts, matrix, budget=f"{budget}/item", prior=data.vectors
            ),
            float(data.about["seconds_per_pair"]),
        )
        ours.append((budget, truth.recall(approx.neighbors(K).indices)))
        yield curves, approx


def _as_if_called(approx: Approximation, each: float) -> Approximation:
    """Return the same with a bill of the model's time, not that of reading an array."""
    bill = replace(
        approx.bill,
        evaluating=approx.evaluations * each,
        similarity="a cross-encoder, as if called; symmetric, diagonal known",
    )
    return replace(approx, bill=bill)


def rerank(truth: Truth, cosines: NDArray[np.float32], calls: int) -> NDArray[np.int64]:
    """Score every item's top by the cosine, place by place, while there are calls.

    What people do with a cross-encoder: those that were scored come first, by their
    score, then the others by their cosine. A pair that two lists share is paid for
    once.
    """
    n = len(cosines)
    lists = top(cosines, n - 1)
    read = np.zeros((n, n), dtype=bool)
    everyone, paid = np.arange(n), 0
    for place in range(n - 1):
        other = lists[:, place]
        low, high = np.minimum(everyone, other), np.maximum(everyone, other)
        new = np.unique((low * n + high)[~read[low, high]])[: calls - paid]
        read[new // n, new % n] = read[new % n, new // n] = True
        paid += len(new)
        if paid >= calls:
            break
    return top(np.where(read, truth.scores + np.float32(_READ), cosines), K)


def top(values: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    """Return every row's k largest, but for the diagonal."""
    values = values.copy()
    np.fill_diagonal(values, -np.inf)
    return np.argsort(-values, axis=1, kind="stable")[:, :k]


def few_of(data: DocstringScores, limit: int) -> DocstringScores:
    """Return some of the lines, spread evenly."""
    n = len(data)
    chosen = np.unique(np.linspace(0, n - 1, limit).astype(int))
    place = np.zeros((n, n), dtype=np.int16)
    place[np.triu_indices(n, 1)] = data.triangle
    return replace(
        data,
        names=[data.names[t] for t in chosen],
        texts=[data.texts[t] for t in chosen],
        vectors=data.vectors[chosen],
        triangle=place[np.ix_(chosen, chosen)][np.triu_indices(len(chosen), 1)],
    )
