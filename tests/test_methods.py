"""Every method: exact where theory says so, at its price, the same by seed."""

import numpy as np
import pytest
from sklearn.kernel_approximation import Nystroem

import fewpairs as fp
from fewpairs.kernels.linalg.spectral import smallest_eigenvalue
from fewpairs.methods import BY_NAME
from fewpairs.testing import check_method, matrix_with_spectrum
from tests.conftest import Counting, oracle_of, random_matrix

N = 120
SPECTRUM = [40.0, -25.0, 12.0, 9.0, -7.0, 3.0, -2.0, 1.0]
RANK = len(SPECTRUM)

# Exact once the crossing of rows and columns has the rank of K.
EXACT = [
    fp.Nystrom(RANK + 3),
    fp.SMSNystrom(RANK + 3, alpha=0.0),
    fp.Skeleton(2 * (RANK + 3)),
    fp.SiCUR(2 * (RANK + 3)),
    fp.SiCUR(2 * (RANK + 3), average=True),
    fp.Regularized(RANK + 3, mu=0.0),
    fp.Optimal(RANK),
]
ALL = [
    *EXACT,
    fp.Regularized(20),
    fp.SMSNystrom(20),
    fp.SMSNystrom(20, shift="core"),
    fp.SMSNystrom(20, unshift=True),
    fp.SMSNystrom(20, rescale=True),
    fp.SMSNystrom(20, variant="code"),
    fp.SMSNystrom(20, variant="code", rescale=True),
    fp.StaCUR(20),
    fp.StaCUR(20, independent=True),
    fp.StaCUR(20, average=True),
    fp.Skeleton(20, average=True),
]
ASYMMETRIC = [fp.Skeleton(40), fp.SiCUR(40), fp.StaCUR(40), fp.Optimal(RANK)]


def fitted(method, K, *, seed=0, **options):
    oracle = oracle_of(K, **options)
    return method.resolve(oracle.cost, None).fit(oracle, np.random.default_rng(seed))


def relative_error(K, factors):
    return np.linalg.norm(K - factors.left @ factors.right.T) / np.linalg.norm(K)


@pytest.mark.parametrize("method", EXACT, ids=repr)
@pytest.mark.parametrize("seed", range(3))
def test_an_indefinite_matrix_of_low_rank_is_recovered(method, seed):
    K = matrix_with_spectrum(SPECTRUM, N, seed=seed)
    assert relative_error(K, fitted(method, K, seed=seed)) < 1e-8


@pytest.mark.parametrize(
    "method",
    [
        fp.SMSNystrom(12),
        fp.SMSNystrom(12, shift="core"),
        fp.SMSNystrom(12, rescale=True),
    ],
    ids=repr,
)
def test_sms_recovers_a_semidefinite_matrix_of_low_rank(method):
    K = matrix_with_spectrum(np.abs(SPECTRUM), N)
    assert relative_error(K, fitted(method, K)) < 1e-8


def test_stacur_is_exact_when_all_items_are_landmarks_and_not_before():
    K = matrix_with_spectrum(SPECTRUM, N)
    assert relative_error(K, fitted(fp.StaCUR(N), K)) < 1e-8
    assert relative_error(K, fitted(fp.StaCUR(RANK + 3), K)) > 1e-2


@pytest.mark.parametrize("method", [fp.Skeleton(24), fp.SiCUR(24)], ids=repr)
def test_an_asymmetric_matrix_of_low_rank_is_recovered_as_it_is(method):
    rng = np.random.default_rng(3)
    K = rng.standard_normal((N, RANK)) @ rng.standard_normal((RANK, N))
    factors = fitted(method, K, symmetrize=False)
    assert relative_error(K, factors) < 1e-8


@pytest.mark.parametrize("method", ALL, ids=repr)
def test_every_method_keeps_the_contract(method):
    check_method(method)


# What the docstrings state, written out: entries with both signs of a pair once.
def lines(s, n=N):
    return n * s - s * (s - 1) // 2


@pytest.mark.parametrize(
    ("method", "entries", "diagonal"),
    [
        (fp.Nystrom(20), lines(20), 20),
        (fp.Regularized(20), lines(20), 20),
        (fp.SMSNystrom(20), lines(20) + 20 * 21 // 2, 40),
        (fp.SMSNystrom(20, multiplier=3), lines(20) + 40 * 41 // 2, 60),
        (fp.SiCUR(20), lines(20), 20),
        (fp.StaCUR(20), lines(20), 20),
        (fp.Optimal(5), N * (N + 1) // 2, N),
        (fp.Skeleton(list(range(20))), lines(20), 20),
        (fp.Skeleton([*range(10), *range(40, 50)]), lines(20), 20),
        (fp.StaCUR(list(range(20)), independent=True), lines(20), 20),
    ],
    ids=repr,
)
@pytest.mark.parametrize("known_diagonal", [False, True])
def test_spends_exactly_what_its_docstring_states(
    method, entries, diagonal, known_diagonal
):
    K = random_matrix(N, symmetric=True)
    if known_diagonal:
        np.fill_diagonal(K, 1.0)
    oracle = oracle_of(K, diagonal=1.0 if known_diagonal else None)
    method.resolve(oracle.cost, None).fit(oracle, np.random.default_rng(0))
    assert oracle.evaluations == entries - (diagonal if known_diagonal else 0)
    assert oracle.evaluations == method.price(oracle.cost)


@pytest.mark.parametrize(
    ("method", "entries"),
    [
        (fp.SiCUR(20), N * 30 - 200),
        (fp.StaCUR(20), N * 40 - 400),
        (fp.Skeleton(20), N * 20 - 100),
        (fp.Optimal(5), N * N),
    ],
    ids=repr,
)
def test_spends_exactly_what_it_states_on_asymmetric_matrices(method, entries):
    oracle = oracle_of(random_matrix(N, symmetric=False), symmetrize=False)
    method.resolve(oracle.cost, None).fit(oracle, np.random.default_rng(0))
    assert oracle.evaluations == entries


@pytest.mark.parametrize("symmetrize", [True, False])
@pytest.mark.parametrize("known_diagonal", [True, False])
@pytest.mark.parametrize(
    "method", [fp.Skeleton(40), fp.StaCUR(40, independent=True), fp.SiCUR(40)], ids=repr
)
def test_coinciding_samples_never_cost_more_than_the_price(
    method, known_diagonal, symmetrize
):
    K = random_matrix(45, symmetric=False)
    np.fill_diagonal(K, 1.0)
    for seed in range(20):
        oracle = oracle_of(
            K, diagonal=1.0 if known_diagonal else None, symmetrize=symmetrize
        )
        method.fit(oracle, np.random.default_rng(seed))
        assert oracle.evaluations <= method.price(oracle.cost)


@pytest.mark.parametrize("name", [name for name in BY_NAME if name != "optimal"])
@pytest.mark.parametrize("symmetric", [True, False])
def test_by_name_the_landmarks_fill_the_budget_and_never_exceed_it(name, symmetric):
    K = random_matrix(N, symmetric=symmetric)
    function = Counting(K)
    similarity = fp.from_function(function, symmetric=symmetric)
    calls = 1 if symmetric else 2
    approx = fp.approximate(range(N), similarity, method=name, budget=0.3)
    limit = int(0.3 * N * (N - 1) / 2) * calls
    assert len(function.calls) == approx.evaluations <= limit
    # Another landmark would not fit; independent samples may coincide and cost less.
    slack = 5 if name == "skeleton" else 2
    assert approx.evaluations > limit - slack * calls * N
    assert approx.certificate.pairs > 50


@pytest.mark.parametrize("method", ALL, ids=repr)
def test_commutes_with_permuting_the_items(method):
    """Permuted items with the same landmarks give the permuted approximation."""
    K = matrix_with_spectrum([*SPECTRUM, *np.linspace(0.2, -0.2, 60)], N)
    order = np.random.default_rng(5).permutation(N)
    if isinstance(method, fp.Optimal):
        here, there = method, method
    else:
        if isinstance(method, fp.SMSNystrom):  # S₁ = S₂: nothing to draw
            method = replace_all(method, multiplier=1.0)
        if isinstance(method, fp.SiCUR):  # S₁ = S₂: nothing to draw
            method = replace_all(method, oversampling=1.0)
        chosen = np.arange(0, 2 * (method.count // 2)) * 2
        # Item order[t] of the original is item t of the permuted set.
        position = np.argsort(order)
        here = replace_all(method, landmarks=[int(t) for t in chosen])
        there = replace_all(method, landmarks=[int(t) for t in position[chosen]])
    if isinstance(method, fp.Regularized) and method.mu is None:
        pytest.skip("the folds of its cross-validation are drawn by position")
    original = fitted(here, K)
    permuted = fitted(there, K[np.ix_(order, order)])
    A = original.left @ original.right.T
    B = permuted.left @ permuted.right.T
    assert np.allclose(A[np.ix_(order, order)], B, atol=1e-7 * np.abs(A).max())


def replace_all(method, **changes):
    from dataclasses import replace

    return replace(method, **changes)


@pytest.mark.parametrize("method", ALL, ids=repr)
def test_the_seed_decides_the_result(method):
    K = random_matrix(N, symmetric=True)
    options = {"method": method, "budget": 1.0}
    first = fp.approximate(None, K, **options, seed=1)
    again = fp.approximate(None, K, **options, seed=1)
    other = fp.approximate(None, K, **options, seed=2)
    assert np.array_equal(first.dense(), again.dense())
    assert first.certificate == again.certificate
    if not isinstance(method, fp.Optimal):
        assert not np.array_equal(first.landmarks, other.landmarks)


def test_nystrom_keeps_the_signs_that_sklearn_drops():
    """sklearn's Nystroem factors |W|, which approximates another matrix."""
    K = matrix_with_spectrum([10.0, 6.0, -8.0, -3.0], 60)
    S = np.arange(12)
    theirs = Nystroem(
        kernel=lambda a, b: K[int(a[0]), int(b[0])], n_components=12, random_state=0
    )
    features = theirs.fit_transform(np.arange(60.0)[:, None])
    assert np.linalg.norm(K - features @ features.T) > 0.5 * np.linalg.norm(K)

    ours = fp.approximate(None, K, method=fp.Nystrom(S), budget=1.0).factored
    assert np.allclose(ours.dense(), K)
    assert sorted(ours.signature) == [-1, -1, 1, 1]
    E = ours.embedding()
    assert np.allclose((E * ours.signature) @ E.T, K)


def test_sms_variants_differ_as_documented():
    K = matrix_with_spectrum([30.0, 9.0, 4.0, -6.0, -2.0, *np.full(40, 0.3)], N, seed=2)
    S = np.arange(20)
    C, W = K[:, S], K[np.ix_(S, S)]

    def sms(**options):
        factors = fitted(fp.SMSNystrom(S, multiplier=100.0, **options), K)
        return factors.left @ factors.right.T

    e = -1.5 * np.linalg.eigvalsh(K)[0]
    core = np.linalg.inv(W + e * np.eye(20))
    both = C.copy()
    both[S, np.arange(20)] += e
    assert np.allclose(sms(), both @ core @ both.T)
    assert np.allclose(sms(shift="core"), C @ core @ C.T)
    unshifted = both @ core @ both.T
    unshifted[S, S] -= e
    assert np.allclose(sms(unshift=True), unshifted)
    beta = np.linalg.norm(W, 2) / np.linalg.norm(W + e * np.eye(20), 2)
    assert np.allclose(sms(rescale=True), both @ core @ both.T / beta)
    # The program caps s₂ at n − 1 and uses Frobenius norms.
    assert fp.SMSNystrom(variant="code", multiplier=100.0).block_size(20, N) == N - 1
    assert fp.SMSNystrom(variant="code").shifts == "core"


def test_stacur_is_the_formula_of_its_docstring():
    K = random_matrix(N, symmetric=True)
    S1, S2 = np.arange(15), np.arange(50, 65)
    method = fp.StaCUR([*S1, *S2], independent=True)
    factors = fitted(method, K)
    C = K[:, S1]
    U = N / 15 * np.linalg.pinv(C.T @ C) @ K[np.ix_(S1, S2)]
    assert np.allclose(factors.left @ factors.right.T, C @ U @ K[S2])
    # The paper's features: C·W·S^½ for U = W·S·Vᵀ; equal up to the signs of the SVD.
    left, weights, _ = np.linalg.svd(U)
    expected = C @ (left * np.sqrt(weights))
    assert np.allclose(np.abs(factors.features), np.abs(expected), atol=1e-8)


def test_averaging_a_cur_is_symmetric_and_never_farther_from_a_symmetric_matrix():
    K = random_matrix(N, symmetric=True)
    plain = fitted(fp.SiCUR(30), K)
    averaged = fitted(fp.SiCUR(30, average=True), K)
    A = plain.left @ plain.right.T
    B = averaged.left @ averaged.right.T
    assert np.allclose(B, (A + A.T) / 2)
    assert np.linalg.norm(K - B) <= np.linalg.norm(K - A)


def test_regularized_does_not_explode_where_nystrom_does():
    rng = np.random.default_rng(0)
    K = matrix_with_spectrum([50.0, -20.0, *rng.standard_normal(198)], 200)
    errors = {"nystrom": [], "regularized": []}
    for seed in range(20):
        for name, found in errors.items():
            approx = fp.approximate(None, K, method=name, budget=0.3, seed=seed)
            found.append(np.linalg.norm(K - approx.dense()) / np.linalg.norm(K))
    assert max(errors["nystrom"]) > 2 * max(errors["regularized"])
    assert max(errors["regularized"]) < 0.6


def test_kmeans_landmarks_are_distinct_and_spread_over_the_clusters():
    rng = np.random.default_rng(0)
    centers = rng.standard_normal((10, 5)) * 20
    X = np.repeat(centers, 20, axis=0) + rng.standard_normal((200, 5))
    drawn = fp.KMeansMedoids(X).draw(200, 10, rng)
    assert sorted(np.unique(drawn // 20)) == list(range(10))
    duplicates = fp.KMeansMedoids(np.ones((50, 3))).draw(50, 12, rng)
    assert len(np.unique(duplicates)) == 12
    assert len(np.unique(fp.KMeansMedoids(X).draw(200, 200, rng))) == 200


@pytest.mark.parametrize(
    "spectrum",
    [
        np.ones(30),  # 1,500 eigenvalues at 0: Lanczos gives up, LAPACK steps in
        [50.0, -3.0, *np.full(20, 1.0)],
        np.random.default_rng(0).standard_normal(1_530),
    ],
    ids=["semidefinite", "one negative", "both signs"],
)
def test_the_smallest_eigenvalue_is_right_on_either_path(spectrum):
    W = matrix_with_spectrum(spectrum, 1_530)
    expected = min(0.0, np.min(spectrum))
    assert smallest_eigenvalue(W) == pytest.approx(expected, abs=1e-9)
    small = matrix_with_spectrum(spectrum[:40], 60)
    assert smallest_eigenvalue(small) == pytest.approx(
        min(0.0, *spectrum[:40]), abs=1e-9
    )
