"""Ranking: a ridge regression that learns from refined pairs which others matter."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.matrix.entries import Entries
from fewpairs.methods.auto.candidates import Candidates
from fewpairs.methods.auto.read import Read
from fewpairs.model.pair_inputs import PairInputs

__all__ = ["Ranking"]

_RIDGE = 1e-3
_PAIRS = 60_000  # that a fit looks at
_CHUNK = 1 << 13  # pairs whose features stay in the cache


class Ranking:
    """Predict K from the low rank (b), what proposes candidates (c) and the items.

    Features of a pair: 1, b, b², c, c², c³, bc; and, where vectors of the items are
    given, their elementwise product. Refined pairs lie at the top, where the low rank
    is biased; uniform ones hold the rest in place, and weigh as much.

    Parameters
    ----------
    vectors
        (n, d) features of the items, or ``None``.
    """

    rounds = 6

    def __init__(
        self, vectors: NDArray[np.float32] | None, rng: np.random.Generator
    ) -> None:
        self._vectors, self._rng = vectors, rng

        self._learned = False

    def choose(self, found: Candidates, count: int, known: Entries) -> PairInputs:
        """Return unread pairs that look most similar."""
        if self._learned:
            found.score_anew(self.score)
        return found.choose_by_several(known, [(count, None)])

    def answer(self, read: Read) -> None:
        """Leave it to the model: this orders candidates alone."""

    def learn(self, training: Read, *, last: bool, label: str) -> None:  # noqa: ARG002
        """Fit to what was read."""
        self._learned = True
        both = training.chosen + training.uniform
        parts = training.chosen, training.uniform
        each = [np.full(len(part), len(both) / max(1, len(part))) for part in parts]
        some = self._rng.permutation(len(both))[:_PAIRS]
        inputs, weights = both.inputs.some(some), np.concatenate(each)[some]
        values = both.values[some].astype(np.float64)
        self._base = _scale(inputs.base)
        if inputs.cheap is not None:
            self._cheap = _scale(inputs.cheap)
        self._value = _scale(values)
        targets = ((values - self._value[0]) / self._value[1]).astype(np.float32)
        gram: NDArray[Any] = np.zeros(())
        moment: NDArray[Any] = np.zeros(())
        for start in range(0, len(inputs), _CHUNK):
            part = slice(start, start + _CHUNK)
            F = self._features(inputs.some(part))
            weighted = F * weights[part, None].astype(np.float32)
            gram = gram + (weighted.T @ F).astype(np.float64)
            moment = moment + (weighted.T @ targets[part]).astype(np.float64)
        ridge = _RIDGE * np.diagonal(gram).copy()
        ridge[0] = 0.0  # the constant
        tiny = 1e-12 * float(np.trace(gram))
        solved = np.linalg.solve(gram + np.diag(ridge + tiny), moment)
        self._coefficients = solved.astype(np.float32)

    def score(self, inputs: PairInputs) -> NDArray[np.float32]:
        """Return predictions on the scale of the values."""
        out = np.empty(len(inputs), dtype=np.float32)
        for start in range(0, len(inputs), _CHUNK):
            part = slice(start, start + _CHUNK)
            out[part] = self._polynomial(inputs.some(part))
        return out * np.float32(self._value[1]) + np.float32(self._value[0])

    def _polynomial(self, inputs: PairInputs) -> NDArray[np.float32]:
        """Return features · coefficients, without the features of items where none."""
        if self._vectors is not None:
            return np.asarray(self._features(inputs) @ self._coefficients)
        w = self._coefficients
        b, c = self._standardized(inputs)
        out = w[2] * b + w[1]
        if c is not None:
            out += w[6] * c
        out *= b
        if c is not None:
            out += ((w[5] * c + w[4]) * c + w[3]) * c
        out += w[0]
        return np.asarray(out)

    def _standardized(
        self, inputs: PairInputs
    ) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
        b = ((inputs.base - self._base[0]) / self._base[1]).astype(np.float32)
        if inputs.cheap is None:
            return b, None
        return b, ((inputs.cheap - self._cheap[0]) / self._cheap[1]).astype(np.float32)

    def _features(self, inputs: PairInputs) -> NDArray[np.float32]:
        b, c = self._standardized(inputs)
        columns = [np.ones_like(b), b, b * b]
        if c is not None:
            columns += [c, c * c, c * c * c, b * c]
        k = len(columns)
        d = 0 if self._vectors is None else self._vectors.shape[1]
        out = np.empty((len(b), k + d), dtype=np.float32)
        for t, column in enumerate(columns):
            out[:, t] = column
        if self._vectors is not None:
            np.multiply(
                self._vectors[inputs.i], self._vectors[inputs.j], out=out[:, k:]
            )
        return out


def _scale(values: NDArray[Any]) -> tuple[float, float]:
    """Return mean and spread; in float64: squares of float32 may leave its range."""
    wide = values.astype(np.float64)
    return float(wide.mean()), float(wide.std()) or 1.0
