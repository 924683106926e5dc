"""What is unread comes first of a left item where such claims were found to hold."""

import numpy as np

import fewpairs as fp
from fewpairs.matrix.entries import Entries
from fewpairs.methods.auto.first_places import FirstPlaces
from fewpairs.model.pair_inputs import PairInputs


def known():
    read = Entries(30, symmetric=True, split=10)
    read.add_pairs(np.arange(9), 10 + np.arange(9), np.linspace(0.1, 0.9, 9))
    return read


def counted(share, pairs=40):
    """Return the counts of a round in which a share of what was claimed held."""
    places = FirstPlaces()
    i = np.arange(pairs) % 10
    inputs = PairInputs(i, 10 + np.arange(pairs) % 20, np.zeros(pairs), None)
    values = np.where(np.arange(pairs) < share * pairs, 2.0, 0.0)
    places.count(1, np.ones(10, np.float32), inputs, np.full(pairs, 1.5), values)
    return places


def test_claims_that_do_not_hold_keep_unread_pairs_below_what_was_read():
    bound = counted(0.3).ceilings(known())
    assert bound.shape == (30,)
    best = np.linspace(0.1, 0.9, 9).astype(np.float32)
    assert (bound[:9] < best).all()
    assert np.allclose(bound[:9], best)
    assert np.isinf(bound[9:]).all()  # an item without a read pair, and right ones


def test_claims_that_hold_or_are_too_few_bind_nothing():
    assert counted(0.7).ceilings(known()) is None
    assert counted(0.0, pairs=10).ceilings(known()) is None


def test_the_last_round_that_tells_counts():
    places = counted(0.9)
    last = counted(0.1)
    i = np.arange(40) % 10
    inputs = PairInputs(i, 10 + np.arange(40) % 20, np.zeros(40), None)
    values = np.where(np.arange(40) < 4, 2.0, 0.0)
    places.count(2, np.ones(10, np.float32), inputs, np.full(40, 1.5), values)
    assert (places.said, places.true) == (last.said, last.true)


def test_with_noise_that_nothing_predicts_the_first_of_a_query_was_read():
    exact = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        left, right = rng.standard_normal((150, 12)), rng.standard_normal((200, 12))
        left /= np.linalg.norm(left, axis=1, keepdims=True)
        right /= np.linalg.norm(right, axis=1, keepdims=True)
        K = left @ right.T + 0.5 * rng.standard_normal((150, 1))
        K[:, :4] += 0.8
        K += 0.3 * rng.standard_normal((150, 200))
        method = fp.Auto(student=False)
        approx = fp.approximate(
            None, K, prior=(left, right), budget="6/item", method=method, seed=seed
        )
        first = approx.neighbors(1).indices[:, 0]
        exact.append(approx.known.lookup(np.arange(150), 150 + first)[0].mean())
    assert np.mean(exact) > 0.95


def test_where_predictions_are_right_the_first_need_not_be_read():
    rng = np.random.default_rng(1)
    left, right = rng.standard_normal((200, 6)), rng.standard_normal((900, 6))
    left /= np.linalg.norm(left, axis=1, keepdims=True)
    right /= np.linalg.norm(right, axis=1, keepdims=True)
    K = left @ right.T
    approx = fp.approximate(None, K, prior=(left, right), budget="3/item")
    found = approx.neighbors(10).indices
    truth = np.argsort(-K, axis=1)[:, :10]
    assert (found[:, :, None] == truth[:, None]).any(axis=1).mean() > 0.9
