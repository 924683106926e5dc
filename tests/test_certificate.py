"""The certificate: unbiased, never on pairs the fit saw, right 19 times in 20."""

import math
from collections import Counter

import numpy as np
import pytest

import fewpairs as fp
from fewpairs.evaluation import quality
from fewpairs.model.low_rank import LowRank
from fewpairs.model.model import Model
from fewpairs.result.certificate import hold_out
from fewpairs.testing import matrix_with_spectrum
from tests.conftest import Counting, oracle_of, random_matrix


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


@pytest.mark.parametrize("budget", [0.05, 0.15])
def test_the_interval_covers_the_true_error_in_nine_runs_of_ten(budget):
    n, misses, widths = 400, Counter(), []
    for name, make in MATRICES.items():
        K = make(n, np.random.default_rng(len(name)))
        for m, method in enumerate(METHODS):
            for run in range(10):
                approx = fp.approximate(
                    None, K, method=method, budget=budget, seed=100 * m + run
                )
                truth = quality(approx, K).relative_error
                low, high = approx.certificate.interval
                misses[name, method] += not low <= truth <= high
                widths.append((high - low) / truth)
    assert len(widths) == 300
    assert misses.total() <= 30, misses
    # An interval that always covers would say nothing.
    assert np.median(widths) < 0.4


def test_both_triangles_of_an_unsymmetric_cur_are_certified():
    """Predictions grow with the row: the two triangles differ in their errors."""
    K = np.full((200, 200), 2.0)
    left = np.arange(200.0)[:, None]
    lower = left @ np.ones((1, 200)) / 100  # grows with the row, not the column
    factors = Model(LowRank(left / 100, other=np.ones((200, 1))), np.arange(0), "test")
    truth = np.linalg.norm((K - lower)[~np.eye(200, dtype=bool)]) / np.sqrt(
        4 * 200 * 199
    )
    oracle = oracle_of(K)
    held_out = hold_out(oracle, 5_000, np.random.default_rng(0))
    certificate = held_out.judge(factors, oracle.read)
    truth *= np.sqrt(certificate.unread)  # the held-out pairs are exact
    assert certificate.relative_error == pytest.approx(truth, rel=0.05)
    sorted_pairs = factors.pairs(*np.triu_indices(200, 1))
    one_sided = np.sqrt(np.mean((1 - sorted_pairs / 2) ** 2) * certificate.unread)
    assert one_sided != pytest.approx(truth, rel=0.05)


def test_the_estimate_is_right_on_average():
    K = MATRICES["indefinite"](300, np.random.default_rng(0))
    ratios = []
    for seed in range(40):
        approx = fp.approximate(None, K, method="sicur", budget=0.2, seed=seed)
        truth = quality(approx, K)
        ratios.append(approx.certificate.relative_error / truth.relative_error)
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.02)
    assert approx.certificate.r2 == pytest.approx(truth.r2, abs=0.1)


def test_asymmetric_matrices_are_certified_over_ordered_pairs():
    """With strong row effects, (i, j) and (j, i) are nothing alike."""
    covered = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        K = 3 * rng.standard_normal((200, 1)) + rng.standard_normal((200, 200))
        for method in ("sicur", "skeleton"):
            approx = fp.approximate(
                None, K, method=method, budget=0.3, symmetrize=False, seed=seed
            )
            low, high = approx.certificate.interval
            covered.append(low <= quality(approx, K).relative_error <= high)
    assert np.mean(covered) >= 0.9


def test_a_recovered_asymmetric_matrix_is_certified_as_such():
    rng = np.random.default_rng(0)
    K = rng.standard_normal((200, 5)) @ rng.standard_normal((5, 200))
    approx = fp.approximate(None, K, method=fp.SiCUR(20), budget=None, symmetrize=False)
    assert approx.certificate.interval[1] < 1e-8


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
    assert certificate.interval[1] < 1e-7
    assert certificate.r2 > 1 - 1e-10


def test_when_everything_is_read_the_error_is_none():
    K = random_matrix(40, symmetric=True)
    approx = fp.approximate(None, K, method=fp.Nystrom(40), budget=1.0)
    assert approx.certificate.relative_error == 0
    assert approx.certificate.interval == (0, 0)
    assert "all pairs were read" in str(approx.certificate)
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
