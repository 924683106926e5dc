"""Priors: what is none is refused before anything is paid, a useless one is no harm."""

import numpy as np
import pytest

import fewpairs as fp
from fewpairs.evaluation import quality
from tests.conftest import Counting, nearest, shared

N, K_NEAREST = 600, 10


def topics(seed):
    """Items of thirty topics, similar by a hidden metric."""
    rng = np.random.default_rng(seed)
    centers = rng.standard_normal((30, 6))
    X = centers[rng.integers(0, 30, N)] + 0.7 * rng.standard_normal((N, 6))
    return np.tanh(X @ X.T / 6)


def recall(approx, K):
    return shared(nearest(K, K_NEAREST), approx.neighbors(K_NEAREST).indices)


@pytest.mark.parametrize("per_item", [4, 10, 20])
def test_random_vectors_as_prior_are_no_worse_than_none(per_item):
    """Beyond noise, in the mean over three matrices: R², and recall of neighbors."""
    lost = []
    for seed in range(3):
        K = topics(seed)
        useless = np.random.default_rng([seed, 9]).standard_normal((N, 16))
        run = {"method": fp.Auto(student=False), "seed": seed}
        alone = fp.approximate(None, K, budget=f"{per_item}/item", **run)
        told = fp.approximate(None, K, budget=f"{per_item}/item", prior=useless, **run)
        lost.append(
            (
                quality(alone, K).r2 - quality(told, K).r2,
                recall(alone, K) - recall(told, K),
            )
        )
    r2, found = np.mean(lost, axis=0)
    assert r2 < 0.03
    assert found < 0.03


def test_a_useless_prior_gets_a_word():
    K = topics(0)
    useless = np.random.default_rng(9).standard_normal((N, 16))
    approx = fp.approximate(None, K, budget="20/item", prior=useless)
    assert "the prior did not help" in approx.method
    assert fp.plan(None, K, prior=useless).prior_r2 < 0.02


VECTORS = np.random.default_rng(0).standard_normal((60, 4))
HOLES = np.where(np.arange(60)[:, None] % 20 == 7, np.nan, VECTORS)
BAD = {
    "NaN": (HOLES, r"row 7 of prior is not finite \(3 such rows\). Mend"),
    "infinite": (
        np.full((60, 4), np.inf),
        r"row 0 of prior is not finite \(60 such rows\)",
    ),
    "short": (VECTORS[:59], "prior has 59 embeddings for 60 items. Pass one row per"),
    "long": (np.vstack([VECTORS, VECTORS]), "prior has 120 embeddings for 60 items"),
    "one number per item": (VECTORS[:, 0], r"prior is ndarray of shape \(60,\)"),
    "no numbers at all": (np.empty((60, 0)), r"prior is ndarray of shape \(60, 0\)"),
    "texts": (["a"] * 60, r"prior is list of shape \(60,\) and dtype <U1. Pass an"),
    "ragged": ([[1.0], [1.0, 2.0]] * 30, "prior is list of shape"),
    "function": (max, "Pass an .* array of embeddings, .* or a cheap fewpairs.Simil"),
    "other matrix": (fp.from_matrix(np.eye(50)), "50 × 50, and there are 60 items"),
}


@pytest.mark.parametrize("kind", BAD)
def test_what_is_no_prior_is_refused_before_anything_is_paid(kind):
    prior, message = BAD[kind]
    function = Counting(np.eye(60))
    similarity = fp.from_function(function, symmetric=True)
    for call in (fp.approximate, fp.plan):
        with pytest.raises(fp.InputError, match=message):
            call(range(60), similarity, budget="20/item", prior=prior)
    assert not function.calls


def test_a_cheap_similarity_that_returns_nan_is_named_in_a_plan_too():
    prior = fp.from_function(lambda _a, _b: float("nan"), symmetric=True)
    K = topics(0)
    with pytest.raises((fp.InputError, fp.SimilarityError), match="NaN"):
        fp.plan(range(N), fp.from_matrix(K), prior=prior)
