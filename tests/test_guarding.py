"""The guard of the default: what random pairs confirm, and what one of them cannot."""

import numpy as np

from fewpairs.methods.auto.guarding import _verdict


def _pairs(noise: float, number: int = 300) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    guess = rng.standard_normal(number)
    return guess, guess + noise * rng.standard_normal(number)


def test_predictions_that_random_pairs_confirm_stay_as_they_are():
    guard, words = _verdict(*_pairs(0.3), -5.0, 5.0)
    assert guard is not None
    assert (guard.slope, words) == (1.0, "")


def test_predictions_that_say_nothing_are_given_up():
    guess, truth = _pairs(0.3)
    guard, _ = _verdict(guess, truth[::-1].copy(), -5.0, 5.0)
    assert guard is None


def test_one_pair_far_out_confirms_nothing_but_the_order():
    # Without it predictions are noise; with it least squares finds a slope of about 1,
    # eight standard errors above 0.
    guess, truth = _pairs(0.3)
    truth = truth[::-1].copy() / 10
    guess, truth = np.append(guess / 3, 10.0), np.append(truth, 9.0)
    guard, words = _verdict(guess, truth, -9.0, 9.0)
    assert guard is not None
    assert guard.slope > 0
    assert np.std(guard.slope * guess[:-1]) < 0.01 * np.std(truth)
    assert "shrank" in words
