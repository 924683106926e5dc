"""Borderline pairs: doubt is what makes a pair worth reading."""

import numpy as np

from fewpairs.matrix.entries import Entries
from fewpairs.methods.auto.best_values import best_values, with_new
from fewpairs.methods.auto.borderline import NEIGHBORS, borderline
from fewpairs.methods.auto.candidates import Candidates
from fewpairs.methods.auto.errors_by_prior import ErrorsByPrior

N, M = 40, 30
NOTHING = np.full((N, NEIGHBORS), -np.inf, dtype=np.float32)  # was read


def candidates(score):
    n, m = score.shape
    partner = (np.arange(n)[:, None] + 1 + np.arange(m)[None, :]) % n
    zero = np.zeros((n, m), dtype=np.float32)
    return Candidates(partner.astype(np.int32), score.astype(np.float32), zero, None)


def everywhere(error):
    return ErrorsByPrior(np.zeros(1), np.array([error]))


def falling():
    """Candidates whose scores fall by 1 from one to the next."""
    return candidates(np.tile(-np.arange(M, dtype=np.float32), (N, 1)))


def test_a_sure_scorer_is_asked_about_the_tenth_and_the_eleventh():
    worth = borderline(falling(), NOTHING, everywhere(0.3)).worth
    best_two = np.sort(np.argsort(-worth, axis=1)[:, :2], axis=1)
    assert (best_two == [9, 10]).all()
    assert worth[:, 0].max() < 1e-3


def test_a_scorer_that_knows_nothing_is_asked_about_its_best():
    worth = borderline(falling(), NOTHING, everywhere(1_000.0)).worth
    assert (np.diff(worth, axis=1) < 0).all()


def test_large_values_that_were_read_move_the_border_up():
    known = Entries(N, symmetric=True)
    others = np.arange(31, 35)  # four partners of item 0 that are no candidates
    known.add_pairs(np.zeros(4, dtype=np.int64), others, np.full(4, 100.0))
    worth = borderline(
        falling(), best_values(known, N, NEIGHBORS), everywhere(0.3)
    ).worth
    assert set(np.argsort(-worth[0])[:2]) == {5, 6}
    assert set(np.argsort(-worth[1])[:2]) == {9, 10}


def test_what_is_read_is_not_worth_reading():
    found = falling()
    found.score[:, 9] = -np.inf
    worth = borderline(found, NOTHING, everywhere(0.3)).worth
    assert (worth[:, 9] == -np.inf).all()


def test_an_item_without_candidates_has_none_worth_reading():
    found = falling()
    found.score[3] = -np.inf
    worth = borderline(found, NOTHING, everywhere(0.3)).worth
    assert (worth[3] == -np.inf).all()
    assert np.isfinite(worth[4]).any()


def test_best_values_are_the_largest_of_either_side():
    known = Entries(4, symmetric=True)
    known.add_pairs(np.array([0, 0, 1]), np.array([1, 2, 2]), np.array([3.0, 5.0, 4.0]))
    best = best_values(known, 4, 2)
    assert best.tolist() == [[5, 3], [4, 3], [5, 4], [-np.inf, -np.inf]]
    new = np.array([2, 0]), np.array([3, 3]), np.array([9.0, 1.0])
    grown = with_new(best, *new)
    assert grown.tolist() == [[5, 3], [4, 3], [9, 5], [9, 1]]


def test_what_likeliest_lies_above_comes_before_what_is_predicted_higher():
    # Of equal doubt the first ten would be read first; the others may be anything.
    found = falling()
    cheap = np.tile(np.where(np.arange(M) < 15, 0.0, 1.0), (N, 1))
    found.cheap = cheap.astype(np.float32)
    wild = ErrorsByPrior(np.array([0.0, 1.0]), np.array([0.1, 30.0]))
    by = borderline(found, NOTHING, wild)
    assert (np.argsort(-by.worth, axis=1)[:, :3] >= 15).all()
    assert by.chance is None
    sure = borderline(found, NOTHING, wild, sure=True)
    np.testing.assert_array_equal(sure.worth, by.worth)
    assert (np.argmax(sure.chance, axis=1) == 0).all()
    calm = borderline(found, NOTHING, everywhere(0.1))
    assert (np.argmax(calm.worth, axis=1) < 15).all()


def test_errors_are_those_of_pairs_with_such_a_prior():
    rng = np.random.default_rng(0)
    cheap = rng.random(20_000)
    size = np.where(cheap < 0.9, 0.1, 2.0)
    missed = size * rng.standard_normal(len(cheap))
    errors = ErrorsByPrior.told_by(
        [cheap[:5_000], cheap[5_000:]], [missed[:5_000], missed[5_000:]]
    )
    np.testing.assert_allclose(errors(np.array([0.05, 0.3])), 0.1, rtol=0.1)
    np.testing.assert_allclose(errors(np.array([0.97, 1.5])), 2.0, rtol=0.15)


def test_few_pairs_tell_one_error():
    errors = ErrorsByPrior.told_by([np.arange(7.0)], [np.full(7, 3.0)])
    np.testing.assert_allclose(errors(np.array([-1.0, 3.0, 99.0])), 3.0)
