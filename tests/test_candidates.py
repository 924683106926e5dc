"""Candidates: which unread pairs come first, and which may be their item's best."""

import numpy as np

from fewpairs.matrix.entries import Entries
from fewpairs.methods.auto.candidates import Candidates


def of_two_sets(score):
    """Return candidates of left items: every right item, with these scores."""
    m, n = score.shape
    partner = np.broadcast_to(m + np.arange(n, dtype=np.int32), score.shape).copy()
    score = np.asarray(score, dtype=np.float32)
    return Candidates(partner, score.copy(), score.copy(), None, mixed=True)


def test_what_may_be_the_first_of_its_item_comes_before_what_lies_below_it():
    score = np.array([[0.5, 0.2], [0.5, 0.9], [0.5, 0.1]])
    known = Entries(5, symmetric=True, split=3)
    known.add_pairs(np.array([0, 1, 2]), np.array([3, 3, 3]), np.array([0.1, 0.2, 0.8]))
    found = of_two_sets(score)
    found.score[:, 0] = -np.inf  # they were read
    chosen = found.choose_ahead(2, known)
    assert chosen.i.tolist() == [1, 0]
    assert chosen.j.tolist() == [4, 4]


def test_an_item_of_which_nothing_was_read_may_have_its_first_anywhere():
    known = Entries(5, symmetric=True, split=3)
    known.add_pairs(np.array([0, 1]), np.array([3, 3]), np.array([0.4, 0.9]))
    found = of_two_sets(np.full((3, 2), 0.5))
    found.score[:2, 0] = -np.inf
    assert set(found.choose_ahead(2, known).i.tolist()) == {0, 2}


def test_a_round_reads_as_many_as_it_is_asked_for_and_none_twice():
    rng = np.random.default_rng(0)
    known = Entries(30, symmetric=True, split=10)
    found = of_two_sets(rng.random((10, 20)))
    chosen = found.choose_by_several(known, [(15, None)], ahead=25)
    assert len(chosen) == 40
    assert len(set(zip(chosen.i.tolist(), chosen.j.tolist(), strict=True))) == 40


def test_what_one_order_has_chosen_another_does_not_choose_by_its_other_item():
    rng = np.random.default_rng(0)
    known = Entries(20, symmetric=True)
    partner = (np.arange(20)[:, None] + np.arange(1, 20)).astype(np.int32) % 20
    score = rng.random((20, 20), dtype=np.float32)
    score = np.take_along_axis(score + score.T, partner, axis=1)
    found = Candidates(partner, score, score.copy(), rng.random((20, 19)))
    # By one order an item's list has the pair, by the other its partner's list.
    orders = [(30, found.cheap), (30, None), (30, found.cheap)]
    chosen = found.choose_by_several(known, orders)
    assert len(chosen) == 90
    assert len(set(zip(chosen.i.tolist(), chosen.j.tolist(), strict=True))) == 90
