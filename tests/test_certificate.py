"""The certificate: unbiased, never on pairs the fit saw, right 19 times in 20."""

import math

import numpy as np
import pytest

import fewpairs as fp
from fewpairs.evaluation import quality
from fewpairs.testing import matrix_with_spectrum
from tests.conftest import Counting, random_matrix


def paraphrases(n: int, rng) -> np.ndarray:
    """Smooth background with spikes at near-duplicates, as cross-encoders give."""
    background = rng.random((n, 6)) @ rng.random((6, n)) / 6
    K = (background + background.T) / 2
    partner = rng.permutation(n).reshape(-1, 2)
    K[partner[:, 0], partner[:, 1]] += 1.5
    K[partner[:, 1], partner[:, 0]] += 1.5
    return K


def heavy_tailed(n: int, rng) -> np.ndarray:
    noise = rng.standard_t(4, size=(n, n))
    return 1 + matrix_with_spectrum([60.0, -20.0, 9.0], n) + (noise + noise.T) / 8


def blocks(n: int, rng) -> np.ndarray:
    noise = 0.02 * rng.standard_normal((n, n))
    groups = np.arange(n) // 25
    return (groups[:, None] == groups[None, :]) + (noise + noise.T) / 2


MATRICES = {
    "indefinite": lambda n, rng: matrix_with_spectrum(
        [80.0, -30.0, *(5 * rng.standard_normal(n - 2))], n
    ),
    "semidefinite": lambda n, rng: matrix_with_spectrum(1 / np.arange(1.0, n), n),
    "paraphrases": paraphrases,
    "heavy-tailed": heavy_tailed,
    "blocks": blocks,
}
METHODS = ["auto", "nystrom", "sms", "sicur", "stacur", "skeleton"]


def test_the_interval_covers_the_true_error_in_nine_runs_of_ten():
    n, covered, runs, misses = 400, 0, 0, {}
    for m, make in MATRICES.items():
        K = MATRICES[m](n, np.random.default_rng(len(m)))
        for method in METHODS:
            for seed in range(10):
                approx = fp.approximate(None, K, method=method, budget=0.15, seed=seed)
                truth = quality(approx, K).relative_error
                low, high = approx.certificate.interval
                runs += 1
                covered += low <= truth <= high
                if not low <= truth <= high:
                    misses[m, method] = misses.get((m, method), 0) + 1
    assert runs == 300
    assert covered >= 270, misses
    # An interval that always covers would say nothing.
    assert high < 3 * max(truth, 1e-12)


def test_the_estimate_is_right_on_average():
    K = MATRICES["indefinite"](300, np.random.default_rng(0))
    ratios = []
    for seed in range(40):
        approx = fp.approximate(None, K, method="sicur", budget=0.2, seed=seed)
        truth = quality(approx, K)
        ratios.append(approx.certificate.relative_error / truth.relative_error)
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.02)
    assert approx.certificate.r2 == pytest.approx(truth.r2, abs=0.1)


@pytest.mark.parametrize("symmetric", [True, False])
def test_asymmetric_matrices_are_certified_over_ordered_pairs(symmetric):
    K = 3 + random_matrix(200, symmetric=symmetric)
    approx = fp.approximate(None, K, method="sicur", budget=0.3, symmetrize=False)
    truth = quality(approx, K)
    low, high = approx.certificate.interval
    assert low <= truth.relative_error <= high


def test_held_out_pairs_are_none_that_the_fit_read():
    K = random_matrix(100, symmetric=True)
    function = Counting(K)
    similarity = fp.from_function(function, symmetric=True)
    approx = fp.approximate(
        range(100), similarity, method=fp.SMSNystrom(10), budget=0.4
    )
    held_out = function.calls[-approx.certificate.pairs :]
    fit = function.calls[: -approx.certificate.pairs]
    assert approx.bill.for_certificate == approx.certificate.pairs
    assert not {frozenset(p) for p in held_out} & {frozenset(p) for p in fit}
    assert not {i for pair in held_out for i in pair} & set(approx.landmarks.tolist())


def test_a_recovered_matrix_is_certified_as_such():
    X = np.random.default_rng(0).standard_normal((200, 4))
    certificate = fp.approximate(None, X @ X.T, method="nystrom").certificate
    assert certificate.relative_error < 1e-8
    assert certificate.r2 > 1 - 1e-10


def test_when_everything_is_read_the_error_is_none():
    K = random_matrix(40, symmetric=True)
    approx = fp.approximate(None, K, method=fp.Nystrom(40), budget=1.0)
    assert approx.certificate.relative_error == 0
    assert approx.certificate.interval == (0, 0)
    assert "all was read" in str(approx.certificate)
    assert np.array_equal(approx.dense(), K)


def test_the_yardstick_is_certified_by_its_true_error():
    K = random_matrix(60, symmetric=True)
    approx = fp.approximate(None, K, method=fp.Optimal(7), budget=1.0)
    truth = quality(approx, K)
    assert approx.certificate.relative_error == pytest.approx(truth.relative_error)
    assert approx.certificate.r2 == pytest.approx(truth.r2)


def test_too_few_held_out_pairs_certify_nothing_and_say_so():
    K = random_matrix(50, symmetric=True)
    price = 50 * 6 - 15
    approx = fp.approximate(None, K, method=fp.Nystrom(6), budget=price)
    assert approx.evaluations == price
    assert math.isnan(approx.certificate.relative_error)
    assert approx.certificate.interval == (0, math.inf)
    assert "not certified" in str(approx)


def test_a_constant_matrix_and_zeros_are_certified_without_trouble():
    for value in (0.0, 2.5):
        approx = fp.approximate(None, np.full((80, 80), value), method="nystrom")
        assert approx.certificate.relative_error < 1e-12
        assert np.allclose(approx.dense(), value)
