"""Columns beside scattered pairs: no step where they come in, and none too early."""

import numpy as np
import pytest

import fewpairs as fp
from fewpairs.methods.auto.left_columns import LeftColumns, columns_to_buy
from tests.test_few import hubs_and_topics, quality

N = 1_000
UNTRAINED = fp.Auto(student=False)


def with_a_hidden_part(n=N, seed=0):
    """Topics and effects as elsewhere, and eight directions that the prior misses."""
    K, prior = hubs_and_topics(n, seed)
    unseen = np.random.default_rng(seed + 1).standard_normal((n, 8))
    return K + 0.06 * unseen @ unseen.T, prior


@pytest.fixture(scope="module")
def case():
    return with_a_hidden_part()


def run(case, per_item, **given):
    K, prior = case
    options = {"method": UNTRAINED, "prior": prior, "seed": 0, **given}
    return fp.approximate(
        None,
        fp.from_matrix(K, symmetric=True),
        budget=int(per_item * len(K) / 2),
        **options,
    )


def test_columns_come_with_large_budgets_alone_and_more_with_larger_ones():
    budgets = np.arange(1, 600)
    given = [columns_to_buy(budget, of_texts=False) for budget in budgets]
    of_texts = [columns_to_buy(budget, of_texts=True) for budget in budgets]
    assert not any(given[:120])
    assert np.all(np.diff(given) >= 0)
    assert np.all(np.array(of_texts) <= given)
    # A column is two pairs per item, and most of a budget stays with single pairs.
    assert np.all(2 * np.array(given) <= 0.55 * budgets)
    assert min(number for number in given if number) == 8


def test_recall_and_r2_rise_where_columns_come_in(case):
    found = [quality(run(case, budget), case[0]) for budget in (80, 105, 125, 150, 200)]
    recall, r2 = np.transpose(found)
    assert np.all(np.diff(recall) > -0.005)
    assert np.all(np.diff(r2) > -0.005)
    assert recall[-1] > recall[0] + 0.05


def test_columns_tell_what_scattered_pairs_cannot(case):
    approx = run(case, 250)
    most = columns_to_buy(250, of_texts=False)  # some are held out for the certificate
    assert 0.9 * most < len(approx.landmarks) <= most
    entries = quality(approx, case[0])[1]
    without = quality(run(case, 250, method=fp.Auto(False, "neighbors")), case[0])[1]
    assert entries > without + 0.02


def test_what_is_left_of_columns_is_a_low_rank_of_all_pairs():
    rng = np.random.default_rng(0)
    hidden = rng.standard_normal((300, 4))
    left = (
        hidden * [1, 1, 1, -1] @ hidden.T
    )  # what a regression leaves may be indefinite
    landmarks = rng.permutation(300)[:40]
    found = LeftColumns.fitted(left[:, landmarks], landmarks, rng)
    said = (found.left * found.signs) @ found.left.T
    off = ~np.eye(300, dtype=bool)
    assert 1 - np.mean((said - left)[off] ** 2) / np.var(left[off]) > 0.9
    assert np.allclose(np.mean(found.profiles**2), 1, atol=1e-3)


def test_noise_in_columns_is_no_low_rank():
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((300, 30))
    found = LeftColumns.fitted(noise, rng.permutation(300)[:30], rng)
    said = (found.left * found.signs) @ found.left.T
    assert np.mean(said**2) < 0.05


def test_growing_a_run_with_columns_goes_on_as_it_began(case):
    K, _ = case
    first = run(case, 140)
    grown = first.grow(200 * N // 2)
    assert grown.evaluations <= 200 * N // 2
    assert set(first.landmarks) <= set(grown.landmarks)
    assert "read by what looked most similar" in grown.method
    (recall, r2), (before, r2_before) = quality(grown, K), quality(first, K)
    assert recall > before
    assert r2 > r2_before - 0.005


def test_new_items_are_placed_by_the_landmarks():
    K, prior = with_a_hidden_part(N + 50)
    fitted, new = np.arange(N), np.arange(N, N + 50)
    approx = fp.approximate(
        list(fitted),
        fp.from_function(lambda i, j: float(K[i, j]), symmetric=True),
        budget=250 * N // 2,
        method=UNTRAINED,
        prior=prior[fitted],
        seed=0,
    )
    number = len(approx.landmarks)
    assert number > 32  # as many as other references
    projection = approx.project(list(new), prior=prior[new])
    assert projection.evaluations == number * len(new)
    truth = K[np.ix_(new, fitted)]
    error = np.mean((projection.block() - truth) ** 2)
    assert error < 0.3 * np.var(truth)


@pytest.mark.parametrize("spiky", [False, True])
def test_where_few_pairs_carry_the_variance_landmarks_come_first(spiky):
    n = 1_000
    K, prior = hubs_and_topics(n, 0)
    if spiky:  # near-duplicates, and next to nothing elsewhere
        rng = np.random.default_rng(0)
        prior = rng.standard_normal((n, 12))
        prior[1::2] = prior[::2] + 0.2 * rng.standard_normal((n // 2, 12))
        K = np.exp(-3 * np.linalg.norm(prior[:, None] - prior[None], axis=2))
    approx = fp.approximate(
        None, K, method=fp.Auto(student=False), budget=170 * n // 2, prior=prior
    )
    assert ("random pairs" in approx.method.split(";")[0]) != spiky
