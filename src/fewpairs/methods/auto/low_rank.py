"""The low rank of the default, and what proposes candidates."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.methods import residual
from fewpairs.methods.auto.spending import Spending
from fewpairs.methods.regularized import in_words
from fewpairs.methods.weighing import (
    agrees,
    pairs_of_columns,
    says_much,
    weighed,
    worth,
)
from fewpairs.model.model import Model
from fewpairs.model.pair_inputs import PairInputs
from fewpairs.model.training_pairs import TrainingPairs
from fewpairs.similarity.priors import Alike, Prior
from fewpairs.types import Indices

__all__ = ["LowRankStage", "alikeness"]

_TESTED = 64  # landmarks whose partners tell which prior proposes better ones
_PARTNERS = 10  # of each of them
_TOLD = 10_000  # random entries that tell what a prior is worth
_ALIKE_IN = 256  # directions in which items are compared
# Twice the landmarks lower the squared error by 2^−a: up to the first a refinement
# gets its full share, from the second on a fifth of it.
_LEARNING = 0.8, 1.6


class LowRankStage:
    """Fits prior, row effects and damped core to the columns in a spending."""

    def __init__(self, spending: Spending, prior: Prior | None) -> None:
        self.spending = spending
        self.prior = prior
        self.described = self.told = ""
        self.says_much = False
        self._fitted: tuple[int, residual.ResidualFit] | None = None

    @classmethod
    def weighing(cls, spending: Spending, prior: Prior | None) -> "LowRankStage":
        """Return a stage whose prior, of several, is weighed by the columns."""
        if prior is None or not (prior.parts or prior.lexical):
            return cls(spending, prior)
        rng = np.random.default_rng(0)
        read = pairs_of_columns(spending.columns, spending.landmarks, rng)
        i, j, values = (part[:_TOLD] for part in read)  # the first are random ones
        if not (prior.asked or agrees(prior, spending.columns, spending.landmarks)):
            return cls(spending, None)
        work = cls(spending, weighed(prior, *read))
        work.told = worth(work.prior, i, j, values)
        work.says_much = says_much(prior, i, j, values)
        return work

    def low_rank(self, *, proposing: bool = True) -> Model:
        """Fit to all columns that were bought; ``proposing``: to find candidates by."""
        spending, before = self.spending, self._fitted
        S = spending.landmarks
        spending.oracle.note("fitting the low rank")
        # A few more landmarks change neither the parts nor the damping.
        like = before[1] if before and len(S) < 1.5 * before[0] else None
        fit = residual.fit(spending.columns, S, self.prior, spending.rng, like=like)
        self._fitted = len(S), fit
        told = f"; {self.told}" if self.told else ""
        self.described = f"{len(S):,} landmarks; {in_words(fit)}{told}"
        prior = self.prior
        if fit.curve is None:
            prior = self._proposer() if proposing else None
        return replace(residual.model_of(fit, S, "", prior), proposer=self.prior)

    def refinement_pays(self) -> float:
        """Return 1, or less where more landmarks would explain much more.

        A matrix of low rank is had as a whole from a few more landmarks; the error of
        one that is not falls slowly, and what people look at is better read.
        """
        spending = self.spending
        rate = residual.learning_rate(
            spending.columns, spending.landmarks, self.prior, spending.rng
        )
        slow, quick = _LEARNING
        return float(np.clip((quick - rate) / (quick - slow), 0.2, 1.0))

    def column_pairs(self, model: Model, most: int | None = None) -> TrainingPairs:
        """Return the landmarks' columns, each pair once, or a sample of them."""
        S, C = self.spending.landmarks, self.spending.columns
        n = len(C)
        rank = np.full(n, len(S))
        rank[S] = np.arange(len(S))
        some = np.arange(n)
        if most is not None:
            some = self.spending.rng.permutation(n)[: max(1, most // len(S))]
        _, _, base, cheap = model.block_inputs(some, S)
        item, place = np.nonzero(rank[some][:, None] > np.arange(len(S))[None, :])
        training = TrainingPairs()
        inputs = PairInputs(
            some[item],
            S[place],
            base[item, place],
            None if cheap is None else cheap[item, place],
        )
        training.add(inputs, C[some[item], place].astype(np.float64))
        return training

    def _proposer(self) -> Prior:
        """Return what proposes candidates where the prior is no part of the fit.

        The prior or the items' alikeness to the landmarks, whichever proposes more
        similar partners of landmarks.
        """
        given, S, C = self.prior, self.spending.landmarks, self.spending.columns
        rows, alike = _profile_rows(C, S)
        if given is None:
            return _cosine(rows, alike)
        some = np.arange(len(S))[:_TESTED]
        by_given = given.block(S[some], np.arange(len(C)))
        unit = rows / _norms(rows)
        # A landmark's own column says what is asked for: it is left out.
        by_own = unit[S[some]] @ unit.T - unit[S[some], some][:, None] * unit[:, some].T
        by_own /= np.sqrt(np.maximum(1 - unit[:, some].T ** 2, 1e-6))

        def worth(score: NDArray[Any]) -> float:
            score[some, S[some]] = -np.inf
            k = min(_PARTNERS, len(C) - 1)
            top = np.argpartition(-score, k - 1, axis=1)[:, :k]
            return float(np.mean(C[top, some[:, None]], dtype=np.float64))

        return given if worth(by_given) >= worth(by_own) else _cosine(rows, alike)


def alikeness(C: NDArray[Any], S: Indices) -> Prior:
    """Return how alike two items are to the landmarks: a prior where none is given.

    The cosine of their rows of C, without row and column means, in the directions that
    tell most. Near-duplicates have nearly the same row, whatever the similarity makes
    of other pairs.
    """
    return _cosine(*_profile_rows(C, S))


def _profile_rows(C: NDArray[Any], S: Indices) -> tuple[NDArray[np.float32], Alike]:
    scale = float(np.abs(C).max()) or 1.0
    rows = (C / scale).astype(np.float32)
    rows[S, np.arange(len(S))] = 0.0  # the diagonal is no pair
    alike = Alike(scale, rows.mean(axis=0))
    rows -= alike.means
    rows -= rows.mean(axis=1, keepdims=True)
    return rows, alike


def _cosine(rows: NDArray[np.float32], alike: Alike) -> Prior:
    if rows.shape[1] > _ALIKE_IN:
        _, vectors = np.linalg.eigh(rows.T @ rows)
        alike = alike._replace(directions=vectors[:, -_ALIKE_IN:])
        rows = rows @ vectors[:, -_ALIKE_IN:]
    return Prior.of_embeddings(rows / _norms(rows), alike)


def _norms(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    norms[norms == 0] = 1
    return np.asarray(norms)
