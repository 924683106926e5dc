"""A cross-encoder of two sets: queries first, documents second, each tokenized once."""

import numpy as np
import pytest

import fewpairs as fp

pytest.importorskip("torch", reason="needs the torch extra")
pytest.importorskip("transformers", reason="needs the torch extra")

from tests.tiny_models import save_tiny, texts

M, N = 12, 30
QUERIES = [f"{text} now" for text in texts(M, longest=6, seed=1)]
DOCUMENTS = [f"then {text}" for text in texts(N, longest=6, seed=2)]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    """Return a random model of two layers, which is not symmetric."""
    folder = save_tiny(tmp_path_factory.mktemp("model") / "bert", "bert", length=96)
    return fp.CrossEncoder(folder, device="cpu", symmetric=False)


@pytest.fixture(scope="module")
def truth(encoder):
    """Return K, and Kᵀ of the other order, as one set of M + N texts has them."""
    scorer = encoder.bind([*QUERIES, *DOCUMENTS])
    i, j = np.divmod(np.arange(M * N), N)
    forward, back = scorer.pairs(i, M + j), scorer.pairs(M + j, i)
    return forward.reshape(M, N), back.reshape(M, N)


def test_all_pairs_are_scored_query_first(encoder, truth):
    approx = fp.approximate(QUERIES, encoder, others=DOCUMENTS, budget=1.0)
    assert approx.shape == (M, N)
    assert approx.evaluations == M * N
    np.testing.assert_allclose(approx.dense(), truth[0], atol=1e-5)
    assert np.abs(truth[0] - truth[1]).max() > 1e-3  # the order says something


def test_a_budget_is_kept_and_what_was_read_is_exact(encoder, truth):
    approx = fp.approximate(
        QUERIES, encoder, others=DOCUMENTS, budget="10/item", prior="lexical"
    )
    assert approx.evaluations <= 10 * M
    i, j = np.divmod(np.arange(M * N), N)
    known, values = approx.known.lookup(i, M + j)
    assert known.sum() == approx.evaluations
    np.testing.assert_allclose(values[known], truth[0].ravel()[known], atol=1e-5)


def test_the_best_document_of_every_query_is_matched(encoder, truth):
    found = fp.match(QUERIES, DOCUMENTS, encoder, k=1)
    order = np.argsort(found.left)
    best = truth[0][np.arange(M), found.right[order]]
    np.testing.assert_allclose(best, truth[0].max(axis=1), atol=1e-5)


def test_new_queries_and_documents_join(encoder, truth):
    approx = fp.approximate(QUERIES[:9], encoder, others=DOCUMENTS[:24], budget=1.0)
    larger = approx.add(QUERIES[9:], others=DOCUMENTS[24:])
    assert larger.evaluations == M * N
    np.testing.assert_allclose(larger.dense(), truth[0], atol=1e-5)
