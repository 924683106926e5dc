"""What counts at the top: directions of the prior; and how far the bulk is answered."""

from dataclasses import replace

import numpy as np
import pytest

import fewpairs as fp
from fewpairs.kernels.linalg.row_products import weighted_products
from fewpairs.matrix.entries import Entries
from fewpairs.methods.auto import few
from fewpairs.methods.auto.bulk import in_bulk
from fewpairs.methods.auto.cautious import Halfway
from fewpairs.methods.auto.couples import best_of_items, ends_of_some
from fewpairs.model.blend import Blend
from fewpairs.model.correction import Correction, Fade, Form
from fewpairs.model.curve import Curve
from fewpairs.model.low_rank import LowRank
from fewpairs.model.model import Model
from fewpairs.model.pair_inputs import PairInputs
from fewpairs.model.product_vectors import product_vectors

N = 600


def unequal(seed=0, d=90):
    """Return a similarity that a third of the prior's directions make, and the prior.

    The directions of the prior that say nothing are the longer ones.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, d)).astype(np.float32)
    telling = np.arange(d) % 3 == 0
    K = np.exp(X[:, telling] @ X[:, telling].T / 4)
    prior = X * np.where(telling, 0.6, 1.0).astype(np.float32)
    return ((K + K.T) / 2).astype(np.float32), prior


def recall(approx, K):
    """Return the share of every item's true ten that is found."""
    K = K.copy()
    np.fill_diagonal(K, -np.inf)
    tenth = -np.partition(-K, 9, axis=1)[:, 9]
    found = approx.neighbors(10).indices
    return float(np.mean(np.take_along_axis(K, found, axis=1) >= tenth[:, None]))


def found(budget, seed=0, **options):
    """Return the recall of a run without training."""
    K, prior = unequal(seed, **options)
    method = fp.Auto(student=False)
    return recall(fp.approximate(None, K, budget=budget, prior=prior, method=method), K)


def test_directions_of_the_prior_count_as_far_as_they_tell(monkeypatch):
    weighed = [found("30/item", seed) for seed in range(3)]
    monkeypatch.setattr(few, "_DIRECTIONS", 1)
    alike = [found("30/item", seed) for seed in range(3)]
    assert np.mean(weighed) > np.mean(alike) + 0.04


def test_of_few_items_too_recall_rises_with_the_budget_up_to_a_third_of_the_pairs():
    """Above 6 % landmarks had taken over, with half the recall."""
    budgets = (20, 40, 60, 90, 130, 190)
    rising = [found(f"{budget}/item", d=24) for budget in budgets]
    assert np.all(np.diff(rising) > -0.03)
    assert rising[1] > 0.6


def a_correction(base, rng, **options):
    n = len(base)
    features = rng.standard_normal((n, 3)).astype(np.float32)
    knots = np.linspace(base.min(), base.max(), 4)
    return Correction(
        knots,
        knots**2,
        np.empty(0),
        np.empty(0),
        np.full(n, np.quantile(base, 0.9), np.float32),
        0.3,
        features,
        rng.standard_normal((n, 3)).astype(np.float32),
        **options,
    )


def a_model(rng, n=80, *, correction=None):
    left = rng.standard_normal((n, 3))
    base = left @ left.T
    model = Model(LowRank(left, np.ones(3)), np.empty(0, dtype=np.int64), "")
    if correction == "none":
        return model, base
    form = Form(
        rng.standard_normal((n, 5)).astype(np.float32),
        np.array([1.0, -2.0, 0.5], dtype=np.float32),
    )
    return replace(model, correction=a_correction(base, rng, form=form)), base


def test_a_form_is_the_sum_of_its_weighted_products():
    rng = np.random.default_rng(0)
    form = Form(
        rng.standard_normal((50, 6)).astype(np.float32),
        rng.standard_normal(4).astype(np.float32),
    )
    some = form.features[:, :4]
    whole = (some * form.weights) @ some.T
    i, j = rng.integers(50, size=(2, 500))
    assert np.allclose(form.pairs(i, j), whole[i, j], atol=1e-5)
    assert np.allclose(form.times(3).pairs(i, j), 3 * whole[i, j], atol=1e-4)
    assert np.allclose(form.block(i[:9], j[:7]), whole[np.ix_(i[:9], j[:7])], atol=1e-5)
    none = weighted_products(form.features, np.empty(0, np.float32), i, j)
    assert not none.any()


def test_pairs_and_blocks_agree_with_a_form_and_a_share_of_the_bulk():
    rng = np.random.default_rng(0)
    model, base = a_model(rng)
    i, j = np.triu_indices(len(base), 1)
    last = rng.permutation(len(i))[:400]
    truth = base[i[last], j[last]] + rng.standard_normal(400)
    model = in_bulk(model, Entries(80, symmetric=True), i[last], j[last], truth)
    assert model.correction.bulk.share < 1  # else it says nothing
    block = model.block(np.arange(80), np.arange(80))
    assert np.allclose(model.pairs(i, j), block[i, j], atol=1e-4)


def test_of_the_bulk_a_correction_answers_as_far_as_random_pairs_confirm_it():
    rng = np.random.default_rng(1)
    model, base = a_model(rng)
    bent = model.correction
    i, j = np.triu_indices(len(base), 1)
    last = rng.permutation(len(i))[:600]
    i, j = i[last], j[last]
    known = Entries(80, symmetric=True)
    wrong = in_bulk(model, known, i, j, base[i, j])  # prior and low rank are right
    right = in_bulk(model, known, i, j, bent.pairs(model.inputs(i, j)))
    assert wrong.correction.bulk.share < 0.1
    assert right.correction.bulk.share == pytest.approx(1)
    high = base[i, j] > wrong.correction.bulk.high
    low = base[i, j] < wrong.correction.bulk.low
    said = wrong.pairs(i, j)
    assert np.allclose(said[high], model.pairs(i, j)[high], atol=1e-4)
    missed = np.abs(said - base[i, j])[low].mean()
    assert missed < 0.2 * np.abs(model.pairs(i, j) - base[i, j])[low].mean()


def test_what_looks_similar_by_the_prior_alone_is_no_bulk():
    rng = np.random.default_rng(4)
    model, base = a_model(rng)
    i, j = np.triu_indices(len(base), 1)
    cheap = rng.standard_normal(len(i))
    curve = Curve(0.0, 1.0, np.array([0.0, 10.0]))  # above b, or far below it
    bent = replace(model.correction, curve=curve, bulk=Fade(2.0, 4.0, 0.0))
    inputs = PairInputs(i, j, base[i, j], cheap)
    said, whole = (one.pairs(inputs) for one in (bent, replace(bent, bulk=None)))
    top = np.maximum(base[i, j], 10 * cheap)
    assert np.allclose(said[top > 4], whole[top > 4])
    assert np.allclose(said[top < 2], base[i, j][top < 2])
    assert np.abs(whole - base[i, j])[top > 4].mean() > 0.1
    assert ((top > 4) & (base[i, j] < 2)).any()


def test_without_a_correction_or_with_few_pairs_nothing_is_said_of_the_bulk():
    rng = np.random.default_rng(2)
    bare, base = a_model(rng, correction="none")
    i, j = np.arange(40), np.arange(40, 80)
    known = Entries(80, symmetric=True)
    assert in_bulk(bare, known, i, j, base[i, j]) is bare
    model, base = a_model(rng)
    assert in_bulk(model, known, i, j, base[i, j]) is model


def test_vectors_that_are_searched_rank_as_low_rank_and_form_do():
    rng = np.random.default_rng(3)
    model, base = a_model(rng)
    bent = replace(model.correction, slopes=(0.7, 0.0))
    V, s = product_vectors(replace(model, correction=bent))
    form = bent.form.block(np.arange(80), np.arange(80))
    assert np.allclose((V * s) @ V.T, 0.7 * base + form, atol=0.05)


def test_halfway_is_the_mean_of_the_model_and_the_priors_curve():
    curve = Curve(0.0, 1.0, np.array([1.0, 2.0]))
    inputs = PairInputs(
        np.arange(3), np.arange(3), np.array([0.0, 4.0, 2.0]), np.array([0.0, 1.0, 2.0])
    )
    assert np.allclose(Halfway(curve)(inputs), [0.5, 3.5, 3.5])


def test_the_best_of_every_item_is_told_among_all_its_pairs():
    i, j = np.array([0, 0, 1, 2]), np.array([1, 2, 2, 4])
    item, pair = ends_of_some(i, j, 2)
    assert item.tolist() == [0, 0, 2, 2, 2, 4]
    assert pair.tolist() == [0, 1, 3, 1, 2, 3]
    values = np.array([0.1, 0.5, 0.9, 0.2])
    best = best_of_items(item, values[pair])
    assert best.tolist() == [False, True, False, False, True, True]
    assert not best_of_items(item[:0], values[:0]).size


@pytest.mark.parametrize("budget", ["1/item", "2/item", "4/item"])
def test_a_prior_that_texts_have_by_themselves_orders_what_few_pairs_cannot(budget):
    """Landmarks are out of reach: there is nothing else to buy."""
    texts = list(fp.datasets.stdlib_docstrings(800).texts)
    similarity = fp.StringSimilarity("token_sort_ratio")
    rows = np.arange(800)
    K = np.asarray(similarity.bind(texts).block(rows, rows), dtype=np.float32)
    with_prior = fp.approximate(texts, similarity, budget=budget)
    without = fp.approximate(texts, similarity, budget=budget, prior=None)
    assert with_prior.evaluations <= int(budget[0]) * 400
    assert recall(with_prior, K) > recall(without, K) + 0.1


def test_of_the_top_a_student_answers_no_more_than_it_was_allowed_to():
    rng = np.random.default_rng(0)
    truth = rng.standard_normal(500)
    student, base = truth + 0.01, np.zeros(500)
    free, bound = (
        Blend.by(student, base, truth),
        Blend.by(student, base, truth, most=0.25),
    )
    assert free.shares.min() > 0.9
    assert bound.shares[-1] == 0.25
    assert np.array_equal(bound.shares[:-1], free.shares[:-1])
