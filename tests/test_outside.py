"""A similarity and a method of someone else: a class each, and nothing inside."""

from dataclasses import dataclass

import numpy as np

import fewpairs as fp
from fewpairs.methods import BY_NAME, LandmarkMethod
from fewpairs.model.low_rank import LowRank
from fewpairs.model.model import Model
from fewpairs.testing import check_method, check_similarity

N = 60


class SharedDigits(fp.Similarity):
    """How many decimal places two numbers have in common."""

    diagonal = 1.0

    def bind(self, items):
        return DigitScorer([f"{int(item):06d}" for item in items])


class DigitScorer(fp.Scorer):
    backend = "digits"

    def __init__(self, texts):
        self.n = len(texts)
        self.digits = np.array([list(text) for text in texts])

    def pairs(self, i, j):
        return (self.digits[i] == self.digits[j]).mean(axis=1)


@dataclass(frozen=True)
class Mean(LandmarkMethod):
    """Predict every entry by the mean of the landmarks' columns."""

    def price_of(self, landmarks, cost):
        return cost.lines(landmarks)

    def fit(self, oracle, rng):
        S = self.draw(oracle.n, rng)
        mean = float(oracle.columns(S).mean())
        left = np.full((oracle.n, 1), np.sqrt(abs(mean)))
        signs = np.array([1.0 if mean >= 0 else -1.0])
        return Model(LowRank(left, signs), S, f"the mean of {len(S)} columns")


def test_a_similarity_from_outside_keeps_the_contract_and_runs():
    numbers = np.random.default_rng(0).integers(10**6, size=N)
    check_similarity(SharedDigits(), numbers.tolist())
    approx = fp.approximate(numbers.tolist(), SharedDigits(), budget=0.5)
    assert approx.evaluations <= 0.5 * N * (N - 1) / 2
    i, j, values = approx.known.uncovered()
    digits = SharedDigits().bind(numbers.tolist())
    assert (digits.pairs(i, j) == values).all()
    assert digits.backend == "digits"


def test_a_method_from_outside_keeps_the_contract_and_runs_by_name(monkeypatch):
    K = np.random.default_rng(0).random((N, N))
    K = K + K.T
    check_method(Mean(landmarks=5))
    monkeypatch.setitem(BY_NAME, "mean", Mean)
    approx = fp.approximate(None, K, method="mean", budget=0.4)
    assert approx.method == f"the mean of {len(approx.landmarks)} columns"
    predicted = approx.model.block(np.arange(5), np.arange(5, 10))
    assert np.ptp(predicted) < 1e-12
