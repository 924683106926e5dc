"""Two scorers: the one that orders new pairs better chooses, and answers."""

from types import SimpleNamespace

import numpy as np
import pytest

from fewpairs.methods.auto.couples import hits_first
from fewpairs.methods.auto.read import Read
from fewpairs.methods.auto.two_scorers import TwoScorers
from fewpairs.model.pair_inputs import PairInputs
from fewpairs.model.training_pairs import TrainingPairs

N, COUNT = 60, 10


class Scorer:
    """Scores pairs as it is told to."""

    rounds, correction = 4, "a correction"

    def __init__(self, noise):
        self.noise, self.learned = noise, 0

    def score(self, inputs):
        rng = np.random.default_rng(len(inputs))
        return inputs.base + self.noise * rng.standard_normal(len(inputs))

    def learn(self, read, *, last, label):
        self.learned += 1


def read_of(seed, so_far=None):
    """Return what was read, and random pairs more; their base is their value."""
    rng = np.random.default_rng(seed)
    i = rng.integers(N, size=400)
    j = (i + rng.integers(1, N, size=400)) % N
    values = rng.standard_normal(400)
    read = so_far or Read(TrainingPairs(), TrainingPairs())
    read.chosen.add(PairInputs(i, j, values, None), values)
    return read


class Found:
    """Candidates that note by whom they were scored and chosen."""

    def __init__(self):
        self.score, self.by, self.orders = np.zeros((N, 3)), [], None

    def score_anew(self, score):
        self.by.append(score.__self__)

    def choose_by_several(self, known, orders):
        self.orders = [count for count, _ in orders]


def nothing_read():
    """Return the best ten of every item, which are none."""
    return np.full((N, 10), -np.inf, dtype=np.float32)


def after(correction, ranking):
    both = TwoScorers(Scorer(correction), Scorer(ranking), nothing_read())
    read = read_of(0)
    both.learn(read, last=False, label="")
    both.learn(read_of(1, read), last=False, label="")
    return both, read


@pytest.mark.parametrize("noise", [(0.1, 5.0), (5.0, 0.1)])
def test_the_one_that_is_ahead_chooses_all_and_answers(noise):
    both, read = after(*noise)
    found = Found()
    both.choose(found, COUNT, SimpleNamespace())
    first = noise[0] < noise[1]
    assert (both.lead > 2) == first
    assert abs(both.lead) > 2
    assert found.orders == [COUNT]
    assert [one.noise for one in found.by] == [0.1]
    assert both.answer(read) == ("a correction" if first else None)


def test_each_chooses_half_where_none_is_ahead():
    both, read = after(3.0, 3.0)  # the same noise: they agree
    found = Found()
    both.choose(found, COUNT, SimpleNamespace())
    assert found.orders == [COUNT // 2, COUNT // 2]
    assert len(found.by) == 2
    assert both.answer(read) == "a correction"


def test_before_anything_is_learned_candidates_stay_as_they_are():
    both = TwoScorers(Scorer(1.0), Scorer(1.0), nothing_read())
    found = Found()
    both.choose(found, COUNT, SimpleNamespace())
    assert found.by == []
    assert found.orders == [COUNT]


def test_what_was_learned_from_tells_nothing():
    # Only pairs that neither had seen are compared.
    both = TwoScorers(Scorer(0.1), Scorer(5.0), nothing_read())
    read = read_of(0)
    both.learn(read, last=False, label="")
    assert both.lead == 0
    both.learn(read, last=False, label="")
    assert both.lead == 0


class Backwards(Scorer):
    """Puts an item's most similar first, and all others the wrong way round."""

    def score(self, inputs):
        return np.where(inputs.base > 1, 10.0, -inputs.base)


def test_the_order_of_what_is_not_among_the_most_similar_tells_nothing():
    best = np.full((N, 10), 1.0, dtype=np.float32)  # so much was read of every item
    both = TwoScorers(Scorer(0.5), Backwards(0.0), best)
    read = read_of(0)
    both.learn(read, last=False, label="")
    both.learn(read_of(1, read), last=False, label="")
    assert both.lead < -2


def test_hits_first_is_the_share_of_couples_that_a_score_puts_right():
    rng = np.random.default_rng(0)
    item = rng.integers(9, size=120)
    hit = (rng.random(120) < 0.3) & (item != 4)  # no hit of one, and hits alone:
    hit |= item == 7
    score = rng.standard_normal(120)
    right = [
        np.mean(score[hit & (item == t)][:, None] > score[~hit & (item == t)])
        for t in range(9)
        if t not in (4, 7)
    ]
    np.testing.assert_allclose(hits_first(item, hit, score), right)
    assert len(hits_first(item[:0], hit[:0], score[:0])) == 0
