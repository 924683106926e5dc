"""Average linkage on factors equals SciPy's on the dense matrix; ties included."""

import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.cluster import hierarchy
from scipy.spatial.distance import squareform
from sklearn.metrics import adjusted_rand_score

import fewpairs as fp
from fewpairs.answers.clustering import linkage
from fewpairs.kernels.linalg.average_linkage import Corrected, chain, cut, tree
from tests.conftest import Counting, Told, random_matrix

METHODS = ["nystrom", "sms", "skeleton", "sicur", "stacur", "regularized", "auto"]


def indefinite(n: int, seed: int = 0) -> np.ndarray:
    """A similarity with structure and negative eigenvalues."""
    X = np.random.default_rng(seed).standard_normal((n, 6))
    return np.tanh((X * [1, 1, 1, -1, 1, -1]) @ X.T / 3)


def scipy_tree(D: np.ndarray) -> np.ndarray:
    """SciPy's average linkage; distances are negative similarities."""
    D = (D + D.T) / 2
    np.fill_diagonal(D, 0)
    return hierarchy.linkage(-squareform(D, checks=False), "average")


def factored_with_exact_entries(approx: fp.Approximation) -> np.ndarray:
    """The matrix that linkage is of, from its definition."""
    n = len(approx.left)
    i, j = np.divmod(np.arange(n * n), n)
    known, values = approx.known.lookup(i, j)
    low_rank = (approx.left @ approx.right.T).ravel()
    return np.where(known, values, low_rank).reshape(n, n)


def corrected(rng: np.random.Generator, n: int, *, whole: bool):
    """Random factors with corrections, and the dense matrix they stand for."""
    rank, hubs = int(rng.integers(1, 5)), int(rng.integers(0, min(n, 5)))
    draw = (
        (lambda *shape: rng.integers(-2, 3, shape).astype(float))
        if whole
        else (lambda *shape: rng.standard_normal(shape))
    )
    F, signs = draw(n, rank), np.where(rng.random(rank) < 0.4, -1.0, 1.0)
    chosen = rng.choice(n, hubs, replace=False)
    lines = draw(hubs, n)
    lines[:, chosen] = np.triu(lines[:, chosen]) + np.triu(lines[:, chosen], 1).T
    S = np.triu(draw(n, n) * (rng.random((n, n)) < 0.1), 1)
    S[chosen] = S[:, chosen] = 0
    D = (F * signs) @ F.T + S + S.T
    rest = np.setdiff1d(np.arange(n), chosen)
    D[chosen] += lines
    D[np.ix_(rest, chosen)] += lines[:, rest].T
    table = sparse.csr_array(S + S.T)
    return Corrected(F, lambda f: f * signs, chosen, lines, table), D


def chain_by_fractions(D: np.ndarray) -> np.ndarray:
    """Nearest-neighbor chains in exact arithmetic, ties broken as SciPy does."""
    n = len(D)
    total = [[Fraction(float(value)) for value in row] for row in D]
    size, path, heights = [1] * n, [], []
    while sum(s > 0 for s in size) > 1:
        if not path:
            path.append(next(t for t in range(n) if size[t]))
        x, before = path[-1], path[-2] if len(path) > 1 else None
        others = [t for t in range(n) if size[t] and t != x]
        average = {t: total[x][t] / (size[x] * size[t]) for t in others}
        best = max(average.values())
        y = next(t for t in others if average[t] == best)
        if before is None or average[before] < best:
            path.append(y)
            continue
        del path[-2:]
        x, y = min(x, before), max(x, before)
        heights.append(float(best))
        for t in range(n):
            total[y][t] += total[x][t]
        for t in range(n):
            total[t][y] += total[t][x]
        size[x], size[y] = 0, size[x] + size[y]
    return np.sort(heights)[::-1]


@given(st.integers(2, 40), st.integers(0, 2**32 - 1))
def test_the_chain_has_the_heights_and_clusters_of_scipy(n, seed):
    items, D = corrected(np.random.default_rng(seed), n, whole=False)
    expected = scipy_tree(D)
    merges = chain(items)
    assert np.allclose(tree(n, merges)[:, 2], -expected[:, 2], atol=1e-8)
    middle = 1e-9 - expected[n // 2 - 1, 2]
    ours = cut(n, chain(items, floor=middle))
    lowest = expected[0, 2]
    expected[:, 2] -= lowest
    theirs = hierarchy.fcluster(expected, -middle - lowest, "distance")
    assert adjusted_rand_score(ours, theirs) == 1.0


@given(st.integers(2, 30), st.integers(0, 2**32 - 1))
def test_ties_are_broken_as_in_exact_arithmetic(n, seed):
    items, D = corrected(np.random.default_rng(seed), n, whole=True)
    heights = tree(n, chain(items))[:, 2]
    assert np.allclose(heights, chain_by_fractions(D), atol=1e-12)


@pytest.mark.parametrize("dense_below", [0, 10_000], ids=["factors", "dense"])
@pytest.mark.parametrize("method", METHODS)
def test_linkage_equals_scipy_on_the_dense_approximation(
    method, dense_below, monkeypatch
):
    monkeypatch.setattr(linkage, "SMALL", dense_below)
    approx = fp.approximate(None, indefinite(200), method=method, budget=0.2)
    D = factored_with_exact_entries(approx)
    if method != "auto":
        assert np.allclose(D, approx.dense())
    Z, expected = approx.linkage(top=100), scipy_tree(D)
    assert np.abs(Z[:, 2] - (100 + expected[:, 2])).max() < 1e-8
    assert hierarchy.is_valid_linkage(Z)
    assert len(hierarchy.dendrogram(Z, no_plot=True)["leaves"]) == 200
    for threshold in np.quantile(-expected[:, 2], [0.3, 0.6, 0.9]):
        ours = approx.cluster(threshold - 1e-9)
        theirs = hierarchy.fcluster(Z, 100 - threshold + 1e-9, "distance")
        assert adjusted_rand_score(ours, theirs) == 1.0


@pytest.mark.parametrize("symmetrize", [True, False])
def test_asymmetric_approximations_are_averaged(symmetrize, monkeypatch):
    monkeypatch.setattr(linkage, "SMALL", 0)
    K = random_matrix(60, symmetric=False)
    approx = fp.approximate(
        None, K, method=fp.SiCUR(12), symmetrize=symmetrize, budget=0.9
    )
    expected = scipy_tree(approx.dense())
    assert np.abs(approx.linkage(top=9)[:, 2] - 9 - expected[:, 2]).max() < 1e-8


def test_whole_numbers_and_duplicates_end_in_the_tree_of_scipy():
    rng = np.random.default_rng(0)
    items = rng.integers(-2, 3, (60, 4)).astype(float)[rng.integers(60, size=200)]
    K = items @ np.diag([1.0, -1.0, 1.0, 1.0]) @ items.T
    approx = fp.approximate(None, K, method=fp.Nystrom(list(range(8))), budget=None)
    Z, D = approx.linkage(top=100), approx.dense()
    expected = scipy_tree(D)
    assert np.abs(Z[:, 2] - 100 - expected[:, 2]).max() < 1e-8
    assert len(np.unique(Z[:, 2].round(9))) < 150  # ties there are


def test_the_yardstick_is_linked_by_its_factors():
    approx = fp.approximate(None, indefinite(80), method=fp.Optimal(4), budget=1.0)
    expected = scipy_tree(approx.left @ approx.right.T)
    assert np.abs(approx.linkage(top=5)[:, 2] - 5 - expected[:, 2]).max() < 1e-8


def test_a_prior_is_linked_by_its_linear_part_and_answers_by_all_of_it():
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((250, 10))
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosine = unit @ unit.T
    approx = fp.approximate(None, cosine + 0.3 * cosine**2, budget=0.3, prior=vectors)
    curve = approx.model.curve
    assert curve.slope > 0.5
    straight = curve.coefficients[0] + curve.slope * (cosine - curve.center)
    low_rank = approx.left @ approx.right.T
    i, j = np.divmod(np.arange(250 * 250), 250)
    known, values = approx.known.lookup(i, j)
    D = np.where(known, values, (straight + low_rank).ravel()).reshape(250, 250)
    difference = approx.linkage(top=5)[:, 2] - 5 - scipy_tree(D)[:, 2]
    assert np.abs(difference).max() < 1e-5  # the prior is in float32
    answers = scipy_tree(approx.dense())
    difference = approx.linkage(of="answers", top=5)[:, 2] - 5 - answers[:, 2]
    assert np.abs(difference).max() < 1e-8


def test_a_prior_without_embeddings_has_no_factors():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 20))
    K = X @ X.T / 20
    rough = fp.from_matrix(K + 0.01 * random_matrix(200, symmetric=True))
    approx = fp.approximate(None, K, budget=0.15, prior=rough)
    assert approx.model.curve.slope > 0.5
    with pytest.raises(fp.InputError, match="of='answers'"):
        approx.cluster(0.5)
    assert len(approx.cluster(0.5, of="answers")) == 200


def test_components_are_those_of_the_graph_of_similar_pairs():
    approx = fp.approximate(None, indefinite(150), budget=0.3)
    D = approx.dense()
    for threshold in np.quantile(D[~np.eye(150, dtype=bool)], [0.9, 0.99, 0.999]):
        graph = sparse.csr_array(np.maximum(D, D.T) >= threshold)
        expected = sparse.csgraph.connected_components(graph, directed=False)[1]
        labels = approx.cluster(threshold, by="components")
        assert adjusted_rand_score(labels, expected) == 1.0
        assert (labels <= np.arange(150)).all()  # numbered as they come


def test_a_number_of_clusters_cuts_the_tree():
    approx = fp.approximate(None, indefinite(100), budget=0.3)
    Z = approx.linkage()
    for clusters in (1, 2, 17, 100):
        labels = approx.cluster(clusters=clusters)
        assert np.array_equal(np.unique(labels), np.arange(clusters))
        expected = hierarchy.fcluster(Z, clusters, "maxclust")
        assert adjusted_rand_score(labels, expected) == 1.0


def test_a_constant_matrix_is_one_cluster():
    approx = fp.approximate(None, np.full((30, 30), 0.5), method="nystrom", budget=0.5)
    assert approx.cluster(0.5).max() == 0


def test_a_loaded_approximation_has_the_same_clusters(tmp_path):
    approx = fp.approximate(None, indefinite(100), budget=0.3)
    approx.save(tmp_path / "saved")
    again = fp.load(tmp_path / "saved")
    assert np.array_equal(again.cluster(0.4), approx.cluster(0.4))
    assert np.array_equal(again.linkage(), approx.linkage())


def test_settling_counts_keeps_and_never_exceeds():
    K = indefinite(150, seed=3)
    calls = Counting(K)
    similarity = fp.from_function(calls, symmetric=True)
    approx = fp.approximate(range(150), similarity, method="nystrom", budget=0.15)
    before, threshold = len(calls.calls), 0.4
    for allowed in (1, 10, 200):
        start = len(calls.calls)
        labels = approx.cluster(threshold, evaluations=allowed)
        assert len(calls.calls) - start <= allowed
    assert approx.reader("cluster").evaluations == len(calls.calls) - before
    assert len(set(calls.calls)) == len(calls.calls)
    everything = approx.cluster(threshold, evaluations=150 * 149)
    exact = scipy_tree(K)
    exact[:, 2] += 2
    exact = hierarchy.fcluster(exact, 2 - threshold, "distance")
    assert adjusted_rand_score(everything, exact) == 1.0
    again = len(calls.calls)
    assert np.array_equal(approx.cluster(threshold, evaluations=5), everything)
    assert len(calls.calls) == again
    assert adjusted_rand_score(labels, exact) > adjusted_rand_score(
        approx.cluster(threshold), exact
    )


def test_settling_charges_two_calls_a_pair_where_both_orders_are_averaged():
    K = indefinite(80) + 0.05 * random_matrix(80, symmetric=False)
    calls = Counting(K)
    similarity = fp.from_function(calls, symmetric=False)
    approx = fp.approximate(range(80), similarity, method="nystrom", budget=0.3)
    start = len(calls.calls)
    approx.cluster(0.4, evaluations=7)
    assert len(calls.calls) - start == 6


def test_settling_makes_real_clusters_better(stsb):
    K = stsb[:1_000, :1_000]
    approx = fp.approximate(None, K, budget=0.1)
    truth = fp.approximate(None, K, method="nystrom", budget=1.0).cluster(0.6)
    found = [
        adjusted_rand_score(approx.cluster(0.6, evaluations=allowed), truth)
        for allowed in (0, 2_000)
    ]
    assert found[1] > found[0] + 0.01


def test_settling_needs_a_similarity(tmp_path):
    approx = fp.approximate(None, indefinite(60), budget=0.3)
    approx.save(tmp_path / "saved")
    again = fp.load(tmp_path / "saved")
    with pytest.raises(fp.InputError, match=r"cluster: needs evaluations"):
        again.cluster(0.4, evaluations=10)


def test_a_possible_threshold_that_nothing_reaches_leaves_every_item_alone():
    X = np.random.default_rng(0).standard_normal((30, 20))
    approx = fp.approximate(X, fp.Cosine(), budget=1.0)
    assert approx.cluster(0.999).max() == 29
    assert approx.cluster(-1.0).max() == 0
    assert approx.cluster(0.999, by="components").max() == 29
    with pytest.raises(fp.InputError, match="between -1 and 1"):
        approx.cluster(1.5)


@pytest.mark.parametrize("dense_below", [0, 10_000])
def test_progress_ends_at_its_total(dense_below, monkeypatch):
    monkeypatch.setattr(linkage, "SMALL", dense_below)
    approx = fp.approximate(None, indefinite(300), method="nystrom", budget=0.2)
    told = Told()
    approx.cluster(0.9, progress=told)
    assert told.stages == [("comparing items", 300), ("joining clusters", 300)]
    assert told.done == 300
    assert told.finished


def test_linking_holds_nothing_of_size_n_by_n(monkeypatch):
    monkeypatch.setattr(linkage, "SMALL", 0)
    n, rank = 3_000, 10
    X = np.random.default_rng(0).standard_normal((n, rank))
    approx = fp.approximate(X, fp.Cosine(), method=fp.Nystrom(rank), budget=None)
    tracemalloc.start()
    approx.linkage()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * n * n / 8


BAD = {
    "threshold is nan": {"threshold": float("nan")},
    "threshold is '0.5'": {"threshold": "0.5"},
    "threshold is 7 and would leave every item alone": {"threshold": 7},
    "threshold is -7 and would leave all items in one": {"threshold": -7},
    "neither of threshold and clusters": {},
    "both of threshold and clusters": {"threshold": 0.5, "clusters": 3},
    "clusters is 0; pass a number from 1 to 50": {"clusters": 0},
    "clusters is 51": {"clusters": 51},
    "clusters is True": {"clusters": True},
    "by is 'single'": {"threshold": 0.5, "by": "single"},
    "of is 'dense'": {"threshold": 0.5, "of": "dense"},
    "by='components' takes threshold=": {"clusters": 3, "by": "components"},
    "by='spectral' takes clusters=": {"threshold": 0.5, "by": "spectral"},
    "evaluations is -1": {"threshold": 0.5, "evaluations": -1},
    "evaluations is 0.5": {"threshold": 0.5, "evaluations": 0.5},
    "exact merges of average": {"clusters": 3, "evaluations": 5},
    "progress is 7": {"threshold": 0.5, "progress": 7},
}


@pytest.mark.parametrize("message", BAD)
def test_bad_input_is_refused(message):
    approx = fp.approximate(None, indefinite(50), method="nystrom", budget=0.4)
    with pytest.raises(fp.InputError, match=message):
        approx.cluster(**BAD[message])


def test_distances_are_never_negative():
    approx = fp.approximate(None, 5 * indefinite(50), method="nystrom", budget=0.4)
    assert approx.linkage()[:, 2].min() >= 0
    with pytest.raises(fp.InputError, match="distance would be negative"):
        approx.linkage(top=1)


def test_answers_are_linked_only_where_they_fit_in_memory(monkeypatch):
    monkeypatch.setattr(linkage, "_DENSE_LIMIT", 8 * 10 * 10)
    approx = fp.approximate(None, indefinite(50), method="nystrom", budget=0.4)
    with pytest.raises(fp.InputError, match="higher threshold"):
        approx.linkage(of="answers")
