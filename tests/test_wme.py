"""Word mover's embedding: features are distances to random documents."""

import numpy as np
import ot
import pytest
from experiments.word_movers_embedding import WordMoversEmbedding
from scipy.spatial.distance import cdist

import fewpairs as fp

WORDS = [f"w{t}" for t in range(50)]
VECTORS = np.random.default_rng(0).standard_normal((50, 6))


def test_features_are_distances_to_random_documents_by_pot():
    wmd = fp.WMD((WORDS, VECTORS), gamma=0.8, normalize=False)
    embedding = WordMoversEmbedding(wmd, dim=9, longest=4, seed=3)
    Z = embedding.features(["w1 w2 w2", "w7"])
    vectors, documents = embedding._random_documents()
    assert {len(d) for d in documents} <= {1, 2, 3, 4}
    words, mass = [1, 2], np.array([1, 2]) / 3
    for r, document in enumerate(documents):
        X = vectors.array[[vectors.index[word] for word in document]]
        assert (VECTORS.min(axis=0) <= X).all()
        assert (VECTORS.max(axis=0) >= X).all()
        share = np.full(len(X), 1 / len(X))
        distance = ot.emd2(mass, share, cdist(VECTORS[words], X))
        assert Z[0, r] == pytest.approx(np.exp(-0.8 * distance) / 3)


def test_more_features_approach_one_kernel_and_the_seed_decides():
    wmd = fp.WMD((WORDS, VECTORS))
    texts = [f"w{t} w{t + 1} w{2 * t}" for t in range(20)]
    grams = []
    for seed in (0, 1):
        Z = WordMoversEmbedding(wmd, dim=3_000, seed=seed).features(texts)
        grams.append(Z @ Z.T)
    assert np.abs(grams[0] - grams[1]).max() < 0.05 * grams[0].max()
    again = WordMoversEmbedding(wmd, dim=50, seed=4).features(texts)
    assert np.array_equal(
        again, WordMoversEmbedding(wmd, dim=50, seed=4).features(texts)
    )


def test_bad_options():
    wmd = fp.WMD((WORDS, VECTORS))
    with pytest.raises(fp.InputError, match="dim is 0; pass 1 or more"):
        WordMoversEmbedding(wmd, dim=0)
    with pytest.raises(fp.InputError, match="longest is 0; pass 1 or more"):
        WordMoversEmbedding(wmd, longest=0)
