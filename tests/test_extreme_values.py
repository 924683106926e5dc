"""Values of 1e-320 and of 1e200: no warning, no error of another library, no NaN."""

import warnings

import numpy as np
import pytest

import fewpairs as fp

N = 60
X = np.random.default_rng(0).standard_normal((N, 5))
SHAPE = np.tanh(X @ X.T / 3)
MATRICES = {
    "1e-320": SHAPE * 1e-320,
    "1e-300": SHAPE * 1e-300,
    "1e-200": SHAPE * 1e-200,
    "1e160": SHAPE * 1e160,
    "1e200": SHAPE * 1e200,
    "1e300": SHAPE * 1e300,
    "both": np.where(np.abs(SHAPE) > 0.8, SHAPE * 1e200, 1e-320),
    "large diagonal": np.where(np.eye(N) > 0, 1e200, 1e-320),
    "zero": np.zeros((N, N)),
}
METHODS = "auto nystrom sms skeleton sicur stacur regularized optimal".split()

# The verbs of an approximation, each on what the others left alone.
VERBS = {
    "certificate": lambda approx, K: approx.certificate,
    "receipt": lambda approx, K: str(approx),
    "dense": lambda approx, K: approx.dense(),
    "embedding": lambda approx, K: approx.embedding(),
    "neighbors": lambda approx, K: approx.neighbors(3).similarities,
    "index": lambda approx, K: approx.neighbors(3, index="faiss").similarities,
    "cluster": lambda approx, K: approx.cluster(clusters=3),
    "linkage": lambda approx, K: approx.linkage(),
    "graph": lambda approx, K: approx.graph(3).data,
    "search": lambda approx, K: approx.search(3, k=2, evaluations=10).similarities,
    "transform": lambda approx, K: approx.transform(K[:2]),
    "grow": lambda approx, K: approx.grow(0.7).dense(),
}


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("method", METHODS)
def test_extreme_values_leak_neither_warnings_nor_errors(method, name):
    K = MATRICES[name]
    budget = 1.0 if method == "optimal" else 0.5
    prior = X if method in ("auto", "regularized") else None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        approx = fp.approximate(None, K, method=method, budget=budget, prior=prior)
        for verb in VERBS.values():
            try:
                answer = verb(approx, K)
            except (fp.FewpairsError, fp.FewpairsWarning):
                continue  # said in words
            if isinstance(answer, np.ndarray):
                assert not np.isnan(answer).any()


@pytest.mark.parametrize("method", METHODS)
def test_values_whose_sums_are_no_numbers_are_refused_by_their_pair(method):
    budget = 1.0 if method == "optimal" else 0.5
    K = np.where(np.abs(SHAPE) > 0.2, SHAPE, 0.2) * 1.7e308
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        message = r"returned \S+e\+30\d for items .* between ±1e\+300\. Scale the"
        with pytest.raises(fp.SimilarityError, match=message) as caught:
            fp.approximate(None, K, method=method, budget=budget)
    assert abs(K[caught.value.pair]) > 1e300


def test_single_precision_may_use_its_whole_range():
    K = (SHAPE / np.abs(SHAPE).max()).astype(np.float32) * np.finfo(np.float32).max
    approx = fp.approximate(None, K, method="sicur", budget=0.5)
    assert np.isfinite(approx.certificate.relative_error)


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e160, 1e200])
@pytest.mark.parametrize("method", ["nystrom", "regularized", "sicur", "optimal"])
def test_a_matrix_of_any_size_is_approximated_as_well(method, scale):
    budget = 1.0 if method == "optimal" else 0.5
    plain, scaled = (
        fp.approximate(None, K, method=method, budget=budget).dense()
        for K in (SHAPE, SHAPE * scale)
    )
    off = np.abs(scaled / scale - plain).max()
    assert off < 1e-6 * np.abs(plain).max()


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_searches_of_any_size_find_the_same(scale):
    found = [
        fp.approximate(None, K, method="nystrom", budget=0.4)
        .search(5, k=5, evaluations=30)
        .indices.tolist()
        for K in (SHAPE, SHAPE * scale)
    ]
    assert found[0] == found[1]
