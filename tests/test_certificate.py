"""The certificate: unbiased, never on pairs the fit saw, right 19 times in 20."""

import math
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from benchmarks import certificate as certificate_benchmark

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
                assert approx.certificate.tells
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
    assert approx.certificate.relative_error < 1e-8
    # 4,000 entries in 40 lines, 363 pairs held out: what they cannot exclude.
    assert approx.certificate.interval[1] < 0.2


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
    assert certificate.interval[0] < 1e-8
    assert certificate.interval[1] < 0.4  # of what 99 pairs do not exclude
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


def test_a_constant_matrix_and_zeros_are_no_proof_of_anything():
    for value in (0.0, 2.5):
        approx = fp.approximate(None, np.full((80, 80), value), method="nystrom")
        assert approx.certificate.relative_error < 1e-12
        assert np.allclose(approx.dense(), value)
        assert not approx.certificate.tells
        assert approx.certificate.interval == (0, math.inf)


# --- what random pairs cannot show ---------------------------------------------------


@pytest.mark.parametrize("method", certificate_benchmark.METHODS)
@pytest.mark.parametrize("kind", certificate_benchmark.KINDS)
def test_no_certificate_lies_about_what_it_did_not_see(kind, method):
    """A slice of `python -m benchmarks certificate`, with the same goals."""
    slow = certificate_benchmark.KINDS[kind].n > 500
    runs = [certificate_benchmark.outcome(kind, method, s) for s in range(2 - slow)]
    assert not any(run.lied for run in runs)
    if certificate_benchmark.KINDS[kind].must_tell:
        assert all(run.told for run in runs)


@pytest.mark.parametrize("method", ["auto", "nystrom"])
def test_errors_that_are_all_zero_are_no_proof_of_zero(method):
    """A few ones among zeros: nothing that was read says that they are there."""
    K = np.eye(300)
    K[[3, 70], [20, 200]] = K[[20, 200], [3, 70]] = 1.0
    certificate = fp.approximate(None, K, method=method, budget=0.1).certificate
    assert certificate.relative_error == 0
    assert "no two of" in certificate.doubt
    assert certificate.interval == (0, math.inf)
    assert "cannot tell" in str(certificate)
    assert certificate.worth == "cannot tell"


def test_the_upper_end_of_a_recovered_matrix_falls_with_the_held_out_pairs():
    X = np.random.default_rng(0).standard_normal((300, 4))
    found = [
        fp.approximate(None, X @ X.T, method="nystrom", budget=budget).certificate
        for budget in (0.05, 0.1, 0.3)
    ]
    ends = [certificate.interval[1] for certificate in found]
    assert ends[0] > ends[1] > ends[2]
    for certificate in found:
        # 3.69 in m may be predicted no better than by another pair's value.
        worthless = math.sqrt(2 * 3.69 / certificate.pairs)
        assert certificate.interval[1] == pytest.approx(worthless, rel=0.25)


def test_declared_bounds_say_how_large_a_hidden_value_can_be():
    X = np.random.default_rng(0).random((300, 4))
    K = np.cos(X @ X.T) / 2
    ends = []
    for bounds in (None, (-1.0, 1.0), (-1.0, 10.0)):
        similarity = fp.from_matrix(K, symmetric=True, bounds=bounds)
        method = fp.Regularized(4)
        approx = fp.approximate(None, similarity, method=method, budget=0.1)
        ends.append(approx.certificate.interval[1])
    assert ends[0] < ends[1] < ends[2]


def test_heavy_tails_have_no_interval_unless_they_are_held():
    rng = np.random.default_rng(0)
    noise = np.triu(rng.standard_cauchy((300, 300)), 1)
    approx = fp.approximate(None, noise + noise.T, method="nystrom")
    assert "few pairs carry the differences" in approx.certificate.doubt
    # The same tails in a matrix of rank one, which is recovered.
    weights = rng.pareto(1.0, 300)
    held = fp.approximate(None, np.outer(weights, weights), method="nystrom")
    assert held.certificate.tells
    assert held.certificate.relative_error < 1e-6


@pytest.mark.parametrize("size", [1e8, 1e12, 1e15])
@pytest.mark.parametrize("method", ["auto", "nystrom", "sicur"])
def test_a_huge_diagonal_leaves_the_certificate_as_it_is(size, method):
    rng = np.random.default_rng(0)
    X = rng.random((200, 3))
    noise = 0.1 * rng.standard_normal((200, 200))
    K = X @ X.T + noise + noise.T
    np.fill_diagonal(K, size)
    approx = fp.approximate(None, K, method=method, budget=0.2)
    low, high = approx.certificate.interval
    truth = quality(approx, K)
    assert approx.certificate.tells
    assert low <= truth.relative_error <= high
    assert high < 1.3 * truth.relative_error
    assert approx.certificate.r2 == pytest.approx(truth.r2, abs=0.3)


def test_a_large_mean_does_not_swallow_the_variance():
    noise = np.random.default_rng(0).standard_normal((200, 200))
    K = 1e9 + noise + noise.T
    certificate = fp.approximate(None, K, method="auto", budget=0.1).certificate
    assert certificate.r2 == pytest.approx(0.1, abs=0.1)


def test_predictions_that_explode_are_counted_not_sampled():
    """Three predictions of 1e6 in a matrix of ones and noise: none is held out."""
    n = 300
    rng = np.random.default_rng(0)
    noise = 0.1 * rng.standard_normal((n, n))
    K = 1 + (noise + noise.T) / 2
    left, other = np.ones((n, 2)), np.ones((n, 2))
    left[:, 1] = other[:, 1] = 0.0
    left[[5, 6, 7], 1] = 1e3
    other[8, 1] = 1e3
    model = Model(LowRank(left, other=other), np.arange(0), "test")
    oracle = oracle_of(K)
    held_out = hold_out(oracle, 400, rng)
    certificate = held_out.judge(model, oracle.read)
    off = np.where(np.eye(n, dtype=bool), 0, K - left @ other.T)
    truth = np.linalg.norm(off) / np.linalg.norm(K * (1 - np.eye(n)))
    assert certificate.interval[0] <= truth <= certificate.interval[1]
    assert certificate.relative_error == pytest.approx(truth, rel=0.05)
    assert certificate.r2 < -1e6


def test_asked_again_it_says_the_same():
    K = random_matrix(150, symmetric=True)
    approx = fp.approximate(None, K, method="sicur")
    first = approx.evidence.judge(approx.model, approx.known)
    assert approx.evidence.judge(approx.model, approx.known) == first
    assert approx.certificate == first


def test_a_target_is_never_reached_where_the_certificate_cannot_tell():
    approx = fp.approximate(None, np.eye(120), budget=0.3, target_error=5.0)
    assert not approx.certificate.tells
    assert "the budget ended before" in approx.method


def test_doubt_is_saved_and_certificates_of_older_versions_load(tmp_path):
    approx = fp.approximate(None, np.eye(120))
    approx.save(tmp_path / "run")
    loaded = fp.load(tmp_path / "run").certificate
    assert loaded == approx.certificate
    assert loaded.doubt
    older = Path(__file__).parent / "fixtures" / "saved-0.1.0" / "nystrom"
    assert fp.load(older).certificate.doubt == ""


# --- in words ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("r2", "unread", "words"),
    [
        (0.002, 0.9, "explains 0.2 % of the differences: do not use it"),
        (0.91, 0.9, "explains 91 % of the differences (at least 89 %)"),
        (0.9995, 0.9, "explains 99.9 % of the differences (at least 99.9 %)"),
        (0.22, 0.8, "explains 22 % of the differences: do not use it"),
        (0.3, 0.9, "explains 30 % of the differences (at least 15 %)"),
        (-3.0, 0.9, "none of the differences, the mean is better: do not use it"),
    ],
)
def test_r2_is_said_in_words_that_a_person_can_judge(r2, unread, words):
    certificate = fp.Certificate(0.1, (0.09, 0.11), r2, 5_000, unread)
    assert words in certificate.worth


def test_a_wide_interval_is_said_too():
    certificate = fp.Certificate(0.1, (0.01, 0.5), 0.8, 50, 0.9)
    assert "and perhaps none: the interval is wide" in certificate.worth


def test_the_receipt_leads_with_what_a_person_can_judge():
    X = np.random.default_rng(0).standard_normal((400, 5))
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(-1) / 10)
    approx = fp.approximate(None, K, budget=0.15)
    _, worth, neighbors, error, *_ = str(approx).splitlines()
    assert worth.split(maxsplit=1) == ["worth", approx.certificate.worth]
    assert error.split(maxsplit=1) == ["error", str(approx.certificate)]
    about, low, high = map(int, re.findall(r"(\d+)%", neighbors))
    assert low <= about <= high
    assert low / 100 - 0.1 < quality(approx, K).recall < high / 100 + 0.1


def test_a_receipt_of_the_bare_mean_says_not_to_use_it():
    """A budget too small for landmarks, of a matrix with a large mean."""
    K = 10 + random_matrix(2_000, symmetric=True)
    approx = fp.approximate(None, K, budget=3_000)
    assert approx.certificate.relative_error < 0.2
    assert "do not use it" in str(approx).splitlines()[1]


def test_random_pairs_that_a_fit_drew_tell_how_rare_far_values_are():
    """They are a sample of the values: what none of many shows can only be rare."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((400, 6))
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / 4)

    def width(seed, forget):
        approx = fp.approximate(None, K, prior=X, budget=0.05, seed=seed)
        if forget:
            approx.known.drawn.clear()
        low, high = approx.certificate.interval
        assert low <= quality(approx, K).relative_error <= high
        return high - low

    seeds = range(6)
    ratios = [width(s, forget=False) / width(s, forget=True) for s in seeds]
    assert np.exp(np.mean(np.log(ratios))) < 0.9


def test_predictions_of_all_pairs_put_a_sample_right():
    """Errors go with the prediction, whose mean square over all pairs is known."""
    n = 300
    rng = np.random.default_rng(0)
    weights = rng.gamma(1.0, size=n)
    noise = 0.2 * rng.standard_normal((n, n))
    K = noise + noise.T
    column = weights[:, None]
    model = Model(LowRank(column, other=column), np.arange(0), "test")
    off = (K - np.outer(weights, weights))[np.triu_indices(n, 1)]
    truth = np.linalg.norm(off) / np.linalg.norm(K[np.triu_indices(n, 1)])
    plain, found, widths, covered = [], [], [], []
    for seed in range(60):
        oracle = oracle_of(K)
        held = hold_out(oracle, 400, np.random.default_rng(seed))
        certificate = held.judge(model, oracle.read)
        exact = truth * np.sqrt(certificate.unread)  # the held-out pairs are exact
        low, high = certificate.interval
        covered.append(low <= exact <= high)
        guess = weights[held.i] * weights[held.j]
        ratio = np.mean((held.truth - guess) ** 2) / np.mean(held.truth**2)
        plain.append(np.sqrt(ratio * certificate.unread) / exact)
        found.append(certificate.relative_error / exact)
        widths.append((high - low) / exact)
    assert np.mean(covered) >= 0.9
    assert np.std(found) < 0.6 * np.std(plain)
    assert np.mean(found) == pytest.approx(1.0, abs=0.05)
    # Narrower than an interval of the sample by itself can be.
    assert np.median(widths) < 2 * np.std(plain)
