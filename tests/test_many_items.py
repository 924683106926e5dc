"""Above a number of items answers come through an index, and are what blocks give."""

import sys

import numpy as np
import pytest
from scipy.sparse import csgraph
from sklearn.metrics import adjusted_rand_score

import fewpairs as fp
from fewpairs.answers import candidates
from fewpairs.answers.above import pairs_above
from fewpairs.answers.candidates import Proposer, View
from fewpairs.answers.matching import find_matches
from fewpairs.answers.pools import padded
from fewpairs.errors import FewpairsWarning, MissingExtraError
from fewpairs.kernels.linalg.top_products import product_search
from fewpairs.similarity.priors import Prior
from tests.conftest import in_groups

N = 700
METHODS = {
    "nystrom": fp.Nystrom(landmarks=10),
    "sicur": fp.SiCUR(landmarks=12),
    "auto": fp.Auto(student=False),
}


def fitted(name, X=None):
    X = in_groups(N) if X is None else X
    prior = X if name == "auto" else None
    return fp.approximate(
        X, fp.Cosine(), method=METHODS[name], budget=0.05, prior=prior
    )


def exactly(approx, level):
    i, j = np.nonzero(np.triu(approx.dense() >= level, 1))
    return set(zip(i.tolist(), j.tolist()))


@pytest.mark.parametrize("name", METHODS)
def test_pairs_above_a_level_are_those_of_all_pairs(large, name):
    approx = fitted(name)
    i, j = pairs_above(approx, 0.9)
    found, truth = set(zip(i.tolist(), j.tolist())), exactly(approx, 0.9)
    assert (i < j).all()
    assert len(found - truth) <= 0.01 * len(truth)  # rounding, at the level itself
    assert len(found & truth) > 0.97 * len(truth)


def test_a_group_larger_than_the_first_candidates_is_found_as_a_whole(large):
    X = in_groups(N)
    X[100:300] = X[100]  # two hundred copies: 19,900 pairs
    approx = fitted("nystrom", X)
    i, j = pairs_above(approx, 0.999)
    copies = (i >= 100) & (j < 300)
    assert copies.sum() == 200 * 199 // 2


def test_known_pairs_above_a_level_need_no_candidate(large):
    approx = fitted("nystrom")
    approx.known.add_pairs(np.array([600]), np.array([3]), np.array([5.0]))
    i, j = pairs_above(approx, 4.0)
    assert list(zip(i, j)) == [(3, 600)]


def test_duplicates_of_many_items_are_all_evaluated(large):
    X = in_groups(N)
    approx = fitted("auto", X)
    found = find_matches(approx, 0.95)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    truth = np.triu(unit @ unit.T >= 0.95, 1).sum()
    assert (found.similarity >= 0.95).all()
    assert len(found.i) > 0.97 * truth


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("options", [{"by": "components"}, {"by": "average"}])
def test_clusters_of_many_items_are_those_of_all_pairs(
    large, monkeypatch, name, options
):
    approx = fitted(name)
    found = approx.cluster(threshold=0.93, **options)
    monkeypatch.undo()
    exact = approx.cluster(threshold=0.93, **options)
    assert adjusted_rand_score(exact, found) > 0.97


def test_a_threshold_beyond_all_similarities_is_still_refused(large):
    with pytest.raises(fp.InputError, match="every item alone"):
        fitted("nystrom").cluster(threshold=7.0, by="components")


def test_a_graph_of_many_items_is_joined_through_candidates(large):
    approx = fitted("nystrom")
    apart = csgraph.connected_components(approx.graph(4))[0]
    graph = approx.graph(4, connected=True)
    assert apart > 1 == csgraph.connected_components(graph)[0]
    assert abs(graph - graph.T).max() == 0


def test_copies_that_know_only_each_other_are_joined_too(large):
    """Candidates of two hundred copies are copies: random partners join them."""
    X = in_groups(N)
    X[100:300] = X[100]
    graph = fitted("nystrom", X).graph(3, connected=True)
    assert csgraph.connected_components(graph)[0] == 1


def test_no_block_of_many_items_is_ever_predicted(large, monkeypatch):
    """From the first pair to the last answer: what is of order n² goes by blocks."""
    monkeypatch.setattr("fewpairs.methods.auto.proposals.EXACT", 500)

    def refused(_model, rows, columns):
        msg = f"a block of {len(rows)} × {len(columns)} predictions"
        raise AssertionError(msg)

    monkeypatch.setattr("fewpairs.model.model.Model.block_inputs", refused)
    monkeypatch.setattr("fewpairs.model.low_rank.LowRank.block", refused)
    X = in_groups(N)
    approx = fp.approximate(X, fp.Cosine(), budget="12/item", prior=X)
    assert "random pairs" in approx.method  # the way of few evaluations per item
    assert approx.neighbors(5).indices.shape == (N, 5)
    assert approx.graph(5, connected=True).shape == (N, N)
    assert len(approx.cluster(threshold=0.9, by="components")) == N
    assert len(find_matches(approx, 0.95).i) > 0
    with pytest.raises(AssertionError, match="a block of"):
        approx.neighbors(5, index="blocks")


# --- searches -----------------------------------------------------------------


@pytest.fixture
def pooled(large, monkeypatch):
    """Make pools small enough for a test."""
    monkeypatch.setattr("fewpairs.answers.pools._FEWEST", 64)
    monkeypatch.setattr("fewpairs.answers.pools._TIMES", 2)


def hits(X, queries, found):
    """Return the share of the ten most similar of some vectors that were found."""
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    asked = queries / np.linalg.norm(queries, axis=1, keepdims=True)
    K = asked @ unit.T
    K[K > 1 - 1e-9] = -np.inf  # the query itself
    best = np.argsort(-K, axis=1)[:, :10]
    return np.mean([np.isin(best[t], found.indices[t]).mean() for t in range(len(K))])


@pytest.mark.parametrize("budget", [0.05, "8/item"])
def test_a_search_among_many_looks_at_pools_and_finds_what_all_items_would(
    pooled, budget, monkeypatch
):
    X, asked = in_groups(N), np.arange(0, N, 35)
    approx = fp.approximate(X, fp.Cosine(), budget=budget, prior=X)
    wide = []
    block = Prior.block

    def watched(prior, rows, columns):
        wide.append(len(columns))
        return block(prior, rows, columns)

    monkeypatch.setattr(Prior, "block", watched)
    found = approx.search(asked, 10, evaluations=40)
    assert found.evaluations <= 40 * len(asked)
    assert max(wide) < N
    assert hits(X, X[asked], found) > 0.95
    assert not (found.indices == asked[:, None]).any()


def test_new_items_are_searched_for_in_pools_of_the_prior(pooled):
    X = in_groups(N)
    approx = fp.approximate(X, fp.Cosine(), budget="8/item", prior=X)
    new = X[::50] + 0.01
    found = approx.search(new, 10, evaluations=40, prior=new)
    assert hits(X, new, found) > 0.9


def test_pools_are_distinct_of_one_width_and_never_hold_the_query():
    found = np.array([[1, 2, -1, 2], [5, 6, 7, 8]])
    known = [np.array([9]), np.array([6])]
    pools = padded(found, known, np.array([3, 5]), 10)
    assert pools.tolist() == [[1, 2, 9], [6, 7, 8]]
    pools = padded(found, [known[0], np.array([0, 9])], np.array([9, 5]), 10)
    assert pools.shape == (2, 5)
    assert set(pools[0]) >= {1, 2}
    assert 9 not in pools[0]
    assert (np.diff(pools, axis=1) > 0).all()


# --- without the library of the index ---------------------------------------------


@pytest.mark.parametrize("parts", [0, 1, 2, 5])
def test_what_a_gpu_looks_for_ahead_comes_with_its_own_items(monkeypatch, parts):
    X = in_groups(60).astype(np.float32)
    on_cores = product_search(X, "blocks")
    monkeypatch.setattr(candidates, "product_search", lambda held, by: on_cores)
    ahead, plain = (Proposer([View(X)], by=by) for by in ("cuda", "blocks"))
    rows = [np.arange(10 * t, 10 * t + 10) for t in range(parts)]
    found = list(ahead.in_turn(iter(rows), 4))
    assert len(found) == parts
    for asked, (given, near) in zip(rows, found, strict=True):
        np.testing.assert_array_equal(given, asked)
        np.testing.assert_array_equal(near, plain.of(asked, 4))


def test_a_missing_index_library_is_named_with_its_install(large, monkeypatch):
    monkeypatch.setattr("fewpairs.methods.auto.proposals.EXACT", 500)
    monkeypatch.setitem(sys.modules, "faiss", None)
    X = in_groups(N)
    with pytest.warns(FewpairsWarning, match=r"pip install 'fewpairs\[index\]'"):
        approx = fp.approximate(X, fp.Cosine(), budget="8/item", prior=X)
    assert len(approx.left) == N  # slower, and as good
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'fewpairs\[index\]'"):
        approx.neighbors(5, index="faiss")
