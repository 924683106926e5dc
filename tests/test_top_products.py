"""Top products: exactly below a size, by an index or a GPU above it, in any threads."""

import sys
import tracemalloc

import numpy as np
import pytest

import fewpairs as fp
from fewpairs.kernels.linalg import top_products
from fewpairs.kernels.linalg.top_products import (
    ProductIndex,
    searched_by,
    top_inner_products,
)
from tests.conftest import shared


def grouped(n, d=12, seed=0):
    """Return rows in groups of some 20, of different lengths."""
    rng = np.random.default_rng(seed)
    groups = rng.standard_normal((max(1, n // 20), d))
    rows = groups[rng.integers(len(groups), size=n)]
    return (rows + 0.3 * rng.standard_normal((n, d))).astype(np.float32)


def exact(vectors, queries, k):
    products = queries @ vectors.T
    order = np.argsort(-products, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(products, order, axis=1)


def on_the_cores_in_torch(vectors, queries, k):
    torch_module = pytest.importorskip("fewpairs.kernels.linalg.top_products_torch")
    return torch_module.ProductsOnDevice(vectors, "cpu").search(queries, k)


def in_blocks(vectors, queries, k):
    return top_inner_products(vectors, k, queries=queries, by="blocks")


@pytest.mark.parametrize("way", [in_blocks, on_the_cores_in_torch])
@pytest.mark.parametrize(("n", "k"), [(1, 1), (40, 40), (33, 5), (3_001, 9)])
def test_every_product_is_looked_at(way, n, k):
    vectors, queries = grouped(n), grouped(50, seed=1)
    indices, scores = way(vectors, queries, k)
    expected, products = exact(vectors, queries, k)
    np.testing.assert_array_equal(indices, expected)
    np.testing.assert_allclose(scores, products, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("way", [in_blocks, on_the_cores_in_torch])
def test_of_equal_products_those_at_lower_positions_come_first(way):
    vectors = np.repeat(np.eye(2, dtype=np.float32), 20, axis=0)
    indices, scores = way(vectors, np.eye(2, dtype=np.float32), 20)
    np.testing.assert_array_equal(indices, np.arange(40).reshape(2, 20))
    assert (scores == 1).all()


def test_an_index_finds_most_and_says_how_much():
    vectors = grouped(6_000)
    signs = np.where(np.arange(12) % 4 == 3, -1, 1).astype(np.float32)
    queries = vectors[:800] * signs
    index = ProductIndex(vectors, recall=0.97)
    indices, scores = index.search(queries, 10)
    expected, _ = exact(vectors, queries, 10)
    assert index.probes[10] < index.lists
    assert index.recall[10] >= 0.97
    assert abs(shared(expected, indices) - index.recall[10]) < 0.03
    products = np.einsum("mkd,md->mk", vectors[indices], queries)
    np.testing.assert_allclose(scores, products, rtol=1e-4, atol=1e-4)
    assert (np.diff(scores, axis=1) <= 0).all()


def test_a_query_never_looks_at_more_rows_than_it_may(monkeypatch):
    monkeypatch.setattr(top_products, "EXACT", 500)
    monkeypatch.setattr(top_products, "_SCANNED", 500)
    noise = np.random.default_rng(0).standard_normal((5_000, 30))  # no groups at all
    index = ProductIndex(noise, recall=0.99)
    index.search(noise, 5)
    assert index.probes[5] <= index.lists / 10
    assert index.recall[5] < 0.99


def test_an_index_is_the_same_in_any_number_of_threads():
    import faiss

    vectors, threads = grouped(4_000), faiss.omp_get_max_threads()
    found = []
    try:
        for number in (1, 2, 5):
            faiss.omp_set_num_threads(number)
            found.append(top_inner_products(vectors, 8, by="index", seed=3))
    finally:
        faiss.omp_set_num_threads(threads)
    for indices, scores in found[1:]:
        np.testing.assert_array_equal(indices, found[0][0])
        np.testing.assert_array_equal(scores, found[0][1])


def test_equal_rows_and_zeros_make_no_trouble():
    vectors = np.zeros((500, 5), dtype=np.float32)
    vectors[:250] = 1.0
    indices, scores = top_inner_products(vectors, 3, by="index")
    assert (indices < 500).all()
    assert (indices[:250] < 250).all()
    assert (scores[indices < 0] == -np.inf).all()


def test_size_and_device_decide_how():
    assert searched_by(20_000, 20_000) == "blocks"
    assert searched_by(20_001, 20_000) == "index"
    assert searched_by(10, 1_000_000) == "blocks"
    assert searched_by(10, 10, "cuda:1") == "cuda"
    assert searched_by(10, 10, "cpu") == "blocks"


def test_mapped_vectors_are_searched_as_those_in_memory(tmp_path):
    vectors = grouped(3_000)
    np.save(tmp_path / "vectors.npy", vectors)
    mapped = np.load(tmp_path / "vectors.npy", mmap_mode="r")
    for by in ("blocks", "index"):
        for one, other in zip(
            top_inner_products(vectors, 4, by=by), top_inner_products(mapped, 4, by=by)
        ):
            np.testing.assert_array_equal(one, other)


def test_memory_grows_with_the_rows_and_not_with_their_square(monkeypatch):
    monkeypatch.setattr(top_products, "_BLOCK", 1 << 15)
    monkeypatch.setattr(top_products, "_CHUNK", 1 << 8)
    peaks = []
    for n in (2_000, 8_000):
        vectors = grouped(n)
        for by in ("blocks", "index"):
            tracemalloc.start()
            top_inner_products(vectors, 5, by=by)
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    assert max(peaks) < 8_000 * 8_000  # bytes: a quarter of the products
    assert peaks[2] < 6 * peaks[0]
    assert peaks[3] < 6 * peaks[1]


def test_without_faiss_all_products_are_computed_and_a_warning_says_why(monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    monkeypatch.setattr(top_products, "EXACT", 100)
    vectors = grouped(300)
    with pytest.warns(fp.errors.FewpairsWarning, match=r"pip install 'fewpairs\[index"):
        indices, _ = top_inner_products(vectors, 4)
    np.testing.assert_array_equal(indices, exact(vectors, vectors, 4)[0])


def test_bad_arguments_say_what_to_pass():
    with pytest.raises(fp.InputError, match="there are 40 rows"):
        top_inner_products(grouped(40), 41)
    with pytest.raises(fp.InputError, match="'blocks', 'index', 'cuda'"):
        top_inner_products(grouped(40), 4, by="tree")
