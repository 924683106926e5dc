"""What an index searches ranks as the model does, where pairs are most similar."""

import numpy as np
import pytest
from benchmarks.hidden import Rough

import fewpairs as fp
from fewpairs.model.correction import Correction
from fewpairs.model.curve import Curve
from fewpairs.model.low_rank import LowRank
from fewpairs.model.model import Model
from fewpairs.model.pair_inputs import PairInputs
from fewpairs.model.product_vectors import product_vectors
from fewpairs.similarity.priors import Prior
from tests.test_few import quality, reranked

N = 600


@pytest.fixture(scope="module")
def parts():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 9)).astype(np.float32)
    left = np.hstack([X @ rng.standard_normal((9, 5)), rng.standard_normal((N, 2))])
    signs = np.array([1.0, -1, 1, 1, -1, 1, -1])
    return Prior.of_embeddings(X), LowRank(left.astype(np.float32), signs)


def with_slopes(low_rank, prior, slopes):
    none = np.empty(0)
    f = np.zeros((N, 1), np.float32)
    levels = np.zeros(N, np.float32)
    bent = Correction(none, none, none, none, levels, 1.0, f, f, slopes=slopes)
    curve = Curve(0.0, 1.0, np.array([0.0, 1.0]))
    return Model(low_rank, np.arange(0), "", prior=prior, curve=curve, correction=bent)


@pytest.mark.parametrize("slopes", [(1.0, 0.3), (0.2, 5.0), (1.0, 0.0)])
def test_products_are_those_of_low_rank_and_prior_in_fewer_columns(parts, slopes):
    prior, low_rank = parts
    V, signs = product_vectors(with_slopes(low_rank, prior, slopes))
    everything = np.arange(N)
    aim = slopes[0] * low_rank.block(everything, everything)
    aim = aim + slopes[1] * prior.vectors @ prior.vectors.T
    np.testing.assert_allclose((V * signs) @ V.T, aim, atol=2e-3 * np.abs(aim).max())
    # Five directions of the low rank lie among the prior's nine.
    assert V.shape[1] <= (11 if slopes[1] else 7)


def test_without_a_correction_the_curve_counts_with_its_slope(parts):
    prior, _ = parts
    flat = LowRank(np.zeros((N, 1), np.float32), np.ones(1))
    cubic = Curve(0.0, 0.25, np.array([0.0, 0.0, 0.0, 1.0]))  # t³ of 4c
    V, signs = product_vectors(Model(flat, np.arange(0), "", prior=prior, curve=cubic))
    slope = float((V[0] * signs) @ V[1]) / float(prior.vectors[0] @ prior.vectors[1])
    assert slope == pytest.approx(16, rel=1e-3)  # from 0 to two standard deviations


def test_what_says_nothing_is_searched_all_the_same(parts):
    prior, low_rank = parts
    nothing = LowRank(np.zeros((N, 2), np.float32), np.ones(2))
    V, signs = product_vectors(Model(nothing, np.arange(0), ""))
    assert V.shape == (N, 1)
    assert not V.any()
    assert len(signs) == 1
    flat = with_slopes(low_rank, prior, (0.0, 0.0))
    assert product_vectors(flat)[0].any()  # as without a correction


def test_slopes_are_what_low_rank_and_prior_move():
    rng = np.random.default_rng(2)
    n, m = 50, 400
    i, j = rng.integers(n, size=(2, m))
    cheap = rng.random(m).astype(np.float32)
    curve = Curve(0.0, 1.0, np.array([0.0, 2.0]))
    base = (rng.random(m) + curve(cheap)).astype(np.float32)
    knots = np.array([-50.0, 50.0])
    f = np.ones((n, 1), np.float32)
    bent = Correction(
        knots, 0.5 * knots, knots, 3.0 * knots, np.zeros(n, np.float32), 1.0, f, 0 * f
    ).with_slopes(PairInputs(i, j, base, cheap), curve)
    assert bent.slopes == pytest.approx((0.5, 0.5 * 2 + 3), rel=1e-3)


@pytest.mark.parametrize("per_item", [10, 20, 50])
def test_a_steep_similarity_of_many_items_is_found_as_well_as_by_re_ranking(
    large, monkeypatch, per_item
):
    monkeypatch.setattr("fewpairs.methods.auto.proposals.EXACT", 500)
    similarity = Rough(2_000)
    everything = np.arange(2_000)
    K = similarity.bind(everything).block(everything, everything)
    budget = per_item * len(K) // 2
    approx = fp.approximate(
        range(len(K)),
        similarity,
        method=fp.Auto(student=False),
        budget=budget,
        prior=similarity.prior,
    )
    assert approx.evaluations <= budget
    assert quality(approx, K)[0] > reranked(K, similarity.prior, budget) - 0.02
