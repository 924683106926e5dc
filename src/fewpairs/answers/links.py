"""Links: what a pass over all pairs of two sets has found, as matches."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fewpairs.answers.all_pairs import AllPairs
from fewpairs.answers.evaluated import Pairs
from fewpairs.answers.matches import NOTHING_MISSED, Matches
from fewpairs.answers.recall import of_everything
from fewpairs.answers.sides import Side
from fewpairs.answers.way import Way
from fewpairs.types import Indices

__all__ = ["best_of_each", "exact_links"]


def exact_links(
    sweep: AllPairs,
    way: Way,
    *,
    sides: tuple[Side, Side],
    threshold: float | None,
    k: int | None,
    one_to_one: bool,
    paid: int,
) -> Matches:
    """Return what was asked for, of all pairs of two sets: nothing is missed.

    Parameters
    ----------
    sweep
        A pass on one axis, left rows first; it has gone to its end.
    threshold, k, one_to_one
        As in `fewpairs.match`. For one to one without a threshold, the candidates are
        the best of every row, on both sides.
    """
    made = Matches(
        *Pairs.none(),
        threshold=threshold,
        sides=sides,
        k=k,
        one_to_one=one_to_one,
        checked=sweep.pairs - sweep.excluded,
        excluded=sweep.excluded,
        missed=NOTHING_MISSED,
        evaluations=paid,
        way=way,
    )
    m = sides[0].n
    if threshold is not None:
        high, near = _across(Pairs(*sweep.above()), m), _across(sweep.near(), m)
        whole = of_everything(high.number, sweep.excluded)
        made = replace(made, certificate=whole)
        return made.assigned(high, near) if one_to_one else made.with_pairs(high, near)
    lists = sweep.neighbors()
    if one_to_one:
        both = _across(_listed(*lists), m)
        return made.assigned(_distinct(both, sides[1].n), Pairs.none())
    partner, values = lists
    return made.with_pairs(*best_of_each(partner[:m] - m, values[:m], k or 1))


def best_of_each(
    partner: Indices, values: NDArray[np.floating], k: int
) -> tuple[Pairs, Pairs]:
    """Return the k best of every left row, and what comes after them.

    ``partner`` and ``values`` are (m, k + 1), the most similar first; a partner below 0
    is none.
    """
    left = np.repeat(np.arange(len(partner)), partner.shape[1])
    pairs = Pairs(left, partner.ravel(), values.ravel().astype(np.float64))
    there = pairs.right >= 0
    place = np.tile(np.arange(partner.shape[1]), len(partner))
    return pairs.at(there & (place < k)), pairs.at(there & (place >= k))


def _listed(partner: Indices, values: NDArray[np.floating]) -> Pairs:
    """Return the entries of all rows' lists, a left position first."""
    own = np.repeat(np.arange(len(partner)), partner.shape[1])
    other = partner.ravel()
    pairs = Pairs(
        np.minimum(own, other), np.maximum(own, other), values.ravel().astype(float)
    )
    return pairs.at(other >= 0)


def _across(pairs: Pairs, m: int) -> Pairs:
    """Return positions on two sides, of those on one axis."""
    return Pairs(pairs.left, pairs.right - m, pairs.similarity)


def _distinct(pairs: Pairs, n: int) -> Pairs:
    _, first = np.unique(pairs.left * n + pairs.right, return_index=True)
    return pairs.at(first)
