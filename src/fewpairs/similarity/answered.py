"""Answered: what an approximation answers, as a prior."""

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from fewpairs.errors import InputError
from fewpairs.similarity.base import Scorer
from fewpairs.similarity.priors import Prior
from fewpairs.types import Indices

__all__ = ["AnswersPairs", "prior_of_answers"]


@runtime_checkable
class AnswersPairs(Protocol):
    """What answers every pair, such as an approximation."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""

    def pairs(self, i: Any, j: Any) -> Any:
        """Return values of pairs."""

    def block(self, rows: Any, columns: Any) -> Any:
        """Return values of all rows with all columns."""


def prior_of_answers(
    answers: AnswersPairs, name: str, n: int, split: int | None, call: str
) -> Prior:
    """Return the prior of n items that is what another similarity is taken to be.

    ``split``: of two sets, the number of left items, which come first.
    """
    wanted = (n, n) if split is None else (split, n - split)
    if answers.shape != wanted:
        msg = (
            f"{call}: prior is an approximation of shape {answers.shape}, and the "
            f"matrix is {wanted[0]:,} × {wanted[1]:,}. Pass one of the same items."
        )
        raise InputError(msg)
    return Prior(_Answered(answers, n, split), name, symmetric=True)


class _Answered(Scorer):
    """Answers, bound to items; of two sets, on one axis."""

    dtype = np.dtype(np.float32)
    backend = "approximation"

    def __init__(self, answers: AnswersPairs, n: int, split: int | None) -> None:
        self.n, self.split = n, split
        self.answers = answers

    def pairs(self, i: Indices, j: Indices) -> NDArray[np.float32]:
        if self.split is not None:
            i, j = np.minimum(i, j), np.maximum(i, j) - self.split
        return np.asarray(self.answers.pairs(i, j), dtype=np.float32)

    def block(self, rows: Indices, columns: Indices) -> NDArray[np.float32]:
        if self.split is None:
            return np.asarray(self.answers.block(rows, columns), dtype=np.float32)
        if len(rows) and rows[0] >= self.split:
            return np.asarray(self.block(columns, rows).T)
        right = columns - self.split
        return np.asarray(self.answers.block(rows, right), dtype=np.float32)
