"""What chooses leans on the prior as far as what was read says that it should."""

import numpy as np
import pytest

from fewpairs.methods.auto.borderline import borderline
from fewpairs.methods.auto.candidates import Candidates
from fewpairs.methods.auto.errors_by_prior import ErrorsByPrior
from fewpairs.methods.auto.tilting import tilt_told_by

ITEMS, EACH = 300, 8


def pairs_read(exceptions, seed=0):
    """Return what was predicted and read of pairs of items.

    A correction that says what pairs are like on average; of those that the prior puts
    first some are exceptions, far more similar than that.
    """
    rng = np.random.default_rng(seed)
    item = np.repeat(np.arange(ITEMS), EACH)
    cheap = rng.standard_normal(len(item))
    said = rng.standard_normal(len(item))
    values = said + 0.3 * rng.standard_normal(len(item))
    values[(cheap > 0.8) & (rng.random(len(item)) < exceptions)] += 5
    return item, said, cheap, values


def test_a_prior_that_knows_exceptions_counts_for_more():
    assert tilt_told_by(*pairs_read(0.3), first=False) > 0.3


@pytest.mark.parametrize("seed", range(4))
def test_a_prior_that_knows_none_counts_for_hardly_more(seed):
    assert tilt_told_by(*pairs_read(0.0, seed), first=False) < 0.15


def test_what_random_pairs_alone_told_is_a_weaker_witness():
    few, many = (tilt_told_by(*pairs_read(0.3), first=first) for first in (True, False))
    assert 0 < few < many


def test_it_is_on_the_scale_of_what_was_predicted():
    item, said, cheap, values = pairs_read(0.3)
    usual = tilt_told_by(item, said, cheap, values, first=False)
    wider = tilt_told_by(item, 10 * said, 0.1 * cheap, 10 * values, first=False)
    assert wider == pytest.approx(100 * usual)


@pytest.mark.parametrize("number", [0, 1])
def test_nothing_read_says_nothing(number):
    parts = [part[:number] for part in pairs_read(0.3)]
    assert tilt_told_by(*parts, first=False) == 0


def test_a_constant_prior_says_nothing():
    item, said, cheap, values = pairs_read(0.3)
    assert tilt_told_by(item, said, np.ones_like(cheap), values, first=False) == 0


def test_a_tilt_moves_what_is_worth_reading_towards_the_prior():
    rng = np.random.default_rng(0)
    n, m = 50, 30
    partner = np.tile(np.arange(m, dtype=np.int32), (n, 1)) + n
    score, cheap = rng.standard_normal((2, n, m)).astype(np.float32)
    found = Candidates(partner, score, score.copy(), cheap)
    read = np.sort(rng.standard_normal((n, 10)) + 3, axis=1)[:, ::-1].astype(np.float32)
    plain = ErrorsByPrior(np.array([0.0]), np.array([1.0]))
    chances = []
    for errors in (plain, plain._replace(tilt=2.0, middle=float(cheap.mean()))):
        likely = borderline(found, read, errors, sure=True).chance
        first = likely.argmax(axis=1)
        chances.append(cheap[np.arange(n), first].mean())
    assert chances[1] > chances[0] + 0.5
