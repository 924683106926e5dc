"""Hand-over: the neighbor graph and embeddings in UMAP, HDBSCAN and BERTopic."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import csgraph
from sklearn import cluster
from sklearn.metrics import adjusted_rand_score

import fewpairs as fp

GROUPS, EACH = 4, 40
TRUTH = np.repeat(np.arange(GROUPS), EACH)


@pytest.fixture(scope="module")
def approx():
    """Four clear groups, from a fifth of the pairs."""
    rng = np.random.default_rng(0)
    X = np.repeat(np.eye(GROUPS), EACH, axis=0)
    X = X + 0.15 * rng.standard_normal(X.shape)
    return fp.approximate(X, fp.Cosine(), budget=0.2)


def test_the_graph_holds_the_neighbors_and_is_symmetric(approx):
    graph = approx.graph(8)
    assert isinstance(graph, sparse.csr_matrix)
    assert abs(graph - graph.T).max() == 0
    indices, similarities = approx.neighbors(8)
    rows = np.arange(len(indices))[:, None]
    assert np.allclose(graph[rows, indices].toarray(), 1 - similarities)
    for row in range(0, len(indices), 17):
        part = slice(graph.indptr[row], graph.indptr[row + 1])
        assert graph.indices[part][0] == row
        assert (np.diff(graph.data[part]) >= 0).all()


def test_a_connected_graph_has_one_component_and_the_best_bridges(approx):
    graph = approx.graph(5)
    number, labels = csgraph.connected_components(graph, directed=False)
    assert number >= GROUPS
    joined = approx.graph(5, connected=True)
    assert csgraph.connected_components(joined, directed=False)[0] == 1
    added = sparse.csr_matrix(joined - graph).tocoo()
    assert len(added.data) == 2 * (number - 1)
    # The cheapest bridge of all is the most similar pair across components.
    D = np.where(labels[:, None] == labels[None, :], -np.inf, approx.dense())
    assert added.data.min() == pytest.approx(1 - D.max())


def test_duplicates_keep_their_edges():
    X = np.repeat(np.random.default_rng(0).standard_normal((20, 3)), 2, axis=0)
    graph = fp.approximate(X, fp.Cosine(), budget=1.0).graph(3)
    assert (graph.getnnz(axis=1) >= 4).all()
    tree = csgraph.minimum_spanning_tree(graph)
    assert tree.nnz + csgraph.connected_components(graph)[0] == 40


def test_a_graph_of_large_similarities_has_no_negative_distance():
    X = np.random.default_rng(0).standard_normal((30, 3))
    approx = fp.approximate(None, X @ X.T, method="nystrom", budget=0.5)
    assert approx.graph(4).data.min() >= 0
    with pytest.raises(fp.InputError, match="would be negative"):
        approx.graph(4, top=0.5)
    with pytest.raises(fp.InputError, match="k"):
        approx.graph(30)


def test_spectral_clustering_finds_the_groups(approx):
    labels = approx.cluster(clusters=GROUPS, by="spectral")
    assert adjusted_rand_score(labels, TRUTH) == 1.0
    assert approx.cluster(clusters=1, by="spectral").max() == 0
    assert len(set(approx.cluster(clusters=160, by="spectral"))) == 160


def test_sklearn_hdbscan_takes_the_graph(approx):
    graph = approx.graph(20, connected=True)
    model = cluster.HDBSCAN(
        metric="precomputed", min_cluster_size=15, min_samples=5, copy=True
    )
    labels = model.fit_predict(graph)
    found = labels >= 0
    assert found.mean() > 0.8
    assert adjusted_rand_score(labels[found], TRUTH[found]) == 1.0


def test_sklearn_dbscan_takes_the_graph(approx):
    labels = cluster.DBSCAN(eps=0.1, metric="precomputed").fit_predict(approx.graph(12))
    assert adjusted_rand_score(labels[labels >= 0], TRUTH[labels >= 0]) == 1.0


def test_hdbscan_takes_the_graph_and_the_embedding(approx):
    hdbscan = pytest.importorskip("hdbscan", reason="needs the extra 'handover'")
    graph = approx.graph(20, connected=True)
    options = {"min_cluster_size": 15, "min_samples": 5}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of hdbscan's own use of scikit-learn
        labels = hdbscan.HDBSCAN(metric="precomputed", **options).fit_predict(graph)
        other = hdbscan.HDBSCAN(**options).fit_predict(approx.embedding())
    for found in (labels, other):
        inside = found >= 0
        assert inside.mean() > 0.6
        assert adjusted_rand_score(found[inside], TRUTH[inside]) == 1.0


@pytest.fixture(scope="module")
def umap():
    """UMAP as plain Python: compiling it takes half a minute, running it a second."""
    numba = pytest.importorskip("numba", reason="needs the extra 'handover'")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numba.config, "DISABLE_JIT", True)
        return pytest.importorskip("umap", reason="needs the extra 'handover'")


@pytest.mark.parametrize("how", ["graph", "neighbors", "embedding"])
def test_umap_takes_the_graph_the_neighbors_and_the_embedding(approx, umap, how):
    options = {"n_neighbors": 10, "random_state": 0, "n_epochs": 50, "init": "random"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of numba and of seeds that stop threads
        if how == "graph":
            model = umap.UMAP(metric="precomputed", **options)
            plane = model.fit_transform(approx.graph(10))
        elif how == "neighbors":
            indices, similarities = approx.neighbors(9)
            own = np.arange(len(indices))[:, None]
            knn = (np.hstack([own, indices]), np.hstack([0 * own, 1 - similarities]))
            model = umap.UMAP(precomputed_knn=(*knn, None), **options)
            plane = model.fit_transform(approx.embedding())
        else:
            plane = umap.UMAP(**options).fit_transform(approx.embedding())
    assert plane.shape == (GROUPS * EACH, 2)
    # Neighbors in the plane are of the same group.
    gaps = np.linalg.norm(plane[:, None] - plane[None], axis=2)
    nearest = np.argsort(gaps, axis=1)[:, 1:4]
    assert (TRUTH[nearest] == TRUTH[:, None]).mean() > 0.9


def test_bertopic_takes_the_embedding():
    bertopic = pytest.importorskip("bertopic", reason="needs the extra 'handover'")
    from bertopic.dimensionality import BaseDimensionalityReduction

    themes = {
        "engine": "engine wheel brake motor",
        "bread": "bread flour oven dough",
        "planet": "planet orbit moon star",
    }
    rng = np.random.default_rng(0)
    texts, truth = [], []
    for label, words in enumerate(themes.values()):
        for _ in range(30):
            texts.append(" ".join(rng.permutation(words.split())[:3]))
            truth.append(label)
    approx = fp.approximate(texts, fp.TokenOverlap("jaccard"), budget=0.3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of libraries that BERTopic loads
        model = bertopic.BERTopic(
            embedding_model=None,
            umap_model=BaseDimensionalityReduction(),
            hdbscan_model=cluster.KMeans(3, n_init=5, random_state=0),
        )
        topics, _ = model.fit_transform(texts, embeddings=approx.embedding())
    assert adjusted_rand_score(topics, truth) == 1.0
    assert {model.get_topic(t)[0][0] for t in range(3)} <= set(
        " ".join(themes.values()).split()
    )
