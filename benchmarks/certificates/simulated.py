"""Simulated: a run of a certificate on a population, by the library's statements."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from benchmarks.certificates.populations import FRONT, SAMPLE, Population
from fewpairs.answers.certifying import EARLY
from fewpairs.answers.front import Front
from fewpairs.kernels.statistics.ordered import (
    Reads,
    missing_at_any_time,
    missing_at_most,
)
from fewpairs.kernels.statistics.sequential import Strata, total_at_most

__all__ = ["Outcome", "simulate"]

_PARTS = 4  # reading and sampling stop after so many parts of what was planned


class Outcome(NamedTuple):
    """What a run says, and what is true."""

    truth: float
    guaranteed: float
    recall_at_least: float


# Runs of a cell come to the same numbers again and again.
_most = lru_cache(100_000)(missing_at_most)
_any_time = lru_cache(100_000)(missing_at_any_time)


@lru_cache(100_000)
def _strict(rest: int, drawn: int, hits: int, delta: float) -> int:
    return total_at_most(Strata.of([rest], [drawn], [hits]), delta) - hits


def simulate(
    people: Population, delta: float, rng: np.random.Generator, *, whole: bool
) -> Outcome:
    """Read candidates in order, then draw; unless ``whole``, stop at random times.

    The front is what candidates and reading on come to; held-out pairs lie below it in
    proportion, and are drawn anew, too. A run that stops early makes the statement that
    allows for looking.
    """
    parts = (_PARTS, _PARTS) if whole else rng.integers(1, _PARTS + 1, 2)
    planned = int(FRONT * people.budget)
    length = planned * int(parts[0]) // _PARTS
    front = Front(people.hit[:length], 0.0)
    unread, matches = len(people.hit) - length, int(people.hit[length:].sum())
    held = round(people.held * unread / len(people.hit))
    sample = int(SAMPLE * people.budget)
    drawn = sample * int(parts[1]) // _PARTS
    held_hits = int(rng.hypergeometric(matches, unread - matches, held))
    left = matches - held_hits
    hits = int(rng.hypergeometric(left, unread - held - left, drawn))
    reads: Reads = front.reads(planned, unread, held + drawn, held_hits + hits)
    if drawn == sample:
        missing = _most(reads, (1 - EARLY) * delta)
    else:
        missing = _any_time(reads, EARLY * delta, planned + held + sample)
    strict = _strict(unread - held, drawn, hits, delta)
    found = people.known + int(people.hit[:length].sum()) + held_hits + hits
    least = [found / (found + m) if found else 0.0 for m in (strict, missing)]
    return Outcome(found / people.total, *least)
